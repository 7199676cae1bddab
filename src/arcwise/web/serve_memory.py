"""Memory that a service frees goes back to the system, so that what it holds does not grow with time.

The C library keeps what was freed for the next request. By itself it learns from each large piece that is freed to keep pieces of that size, up to 32 MB,
among the small ones. The workspaces of a network, some MB each and of another size in every call, then leave holes that the next ones do not
fit, and a service grows. Here large pieces have pages of their own, whatever was freed before; and the empty pages among small
ones are given back now and then.
"""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable

LARGE = 1 << 19
"""Bytes from which on a piece of memory has pages of its own."""
UNUSED = 1 << 22
"""Bytes at the end of the heap that may stay unused."""
PAUSE = 5.0
"""Seconds between two times that empty pages are given back."""
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3


def keep_large_pieces_apart() -> bool:
    """For this process and its forks from now on. Whether it could be done: not without glibc, nor where the user chose by its variables."""
    if "MALLOC_MMAP_THRESHOLD_" in os.environ or "glibc.malloc" in os.environ.get("GLIBC_TUNABLES", ""):
        return False
    choose = _of_c_library("mallopt")
    return choose is not None and all([choose(_M_MMAP_THRESHOLD, LARGE), choose(_M_TRIM_THRESHOLD, UNUSED)])


class Returner:
    """Gives empty pages back to the system, at most every ``pause`` seconds."""

    def __init__(self, pause: float = PAUSE) -> None:
        self._pause = pause
        self._trim = _of_c_library("malloc_trim")
        self._last = time.monotonic()

    def now_and_then(self) -> bool:
        """Whether it was time for it."""
        now = time.monotonic()
        if self._trim is None or now - self._last < self._pause:
            return False
        self._last = now
        self._trim(0)
        return True


def _of_c_library(name: str) -> Callable[..., int] | None:
    """A function of glibc; None where there is none of this name."""
    try:
        found: Callable[..., int] | None = getattr(ctypes.CDLL(None), name, None)
    except (OSError, TypeError):
        return None
    return found
