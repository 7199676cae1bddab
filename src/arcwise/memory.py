"""What the C library does with memory that was freed: chosen by commands whose process is theirs alone, never by the library for its caller.

By itself glibc keeps what was freed for the next piece, and learns from each large piece that is freed to keep pieces of that size, up to 32 MB,
among the small ones; larger ones have pages of their own, which go back to the system at once and come anew, empty, the next time.

A service must not grow. The workspaces of a network, some MB each and of another size in every call, leave holes among the small pieces that the
next ones do not fit. There large pieces have pages of their own, whatever was freed before; and the empty pages among small ones are given
back now and then.

A training must not wait. Every batch frees and takes the same tensors, many of them larger than 32 MB, and emptying their pages takes a tenth of
the time. There everything is kept until the end.
"""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable

LARGE = 1 << 19
"""Bytes from which on a piece of memory of a service has pages of its own."""
UNUSED = 1 << 22
"""Bytes at the end of the heap of a service that may stay unused."""
PAUSE = 5.0
"""Seconds between two times that empty pages are given back."""
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_MMAP_MAX = -1, -3, -4
_OF_THE_USER = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_MMAP_MAX_")
"""Variables of glibc by which a user chooses what is chosen here; others, as MALLOC_ARENA_MAX, have nothing to do with it."""


def mmap_large_allocations() -> bool:
    """For this process and its forks from now on. Whether it could be done: not without glibc, nor where the user chose by its variables."""
    return _chosen({_M_MMAP_THRESHOLD: LARGE, _M_TRIM_THRESHOLD: UNUSED})


def disable_malloc_trim() -> bool:
    """For this process and its forks from now on: no piece has pages of its own, nothing goes back to the system. Whether it could be done."""
    return _chosen({_M_MMAP_MAX: 0, _M_TRIM_THRESHOLD: -1})


def _chosen(values: dict[int, int]) -> bool:
    if any(name in os.environ for name in _OF_THE_USER):
        return False
    if "glibc.malloc" in os.environ.get("GLIBC_TUNABLES", ""):
        return False
    choose = _of_c_library("mallopt")
    return choose is not None and all(choose(name, value) for name, value in values.items())


class HeapTrimmer:
    """Gives empty pages back to the system, at most every ``pause`` seconds."""

    def __init__(self, pause: float = PAUSE) -> None:
        self._pause = pause
        self._trim = _of_c_library("malloc_trim")
        self._last = time.monotonic()

    def trim_if_due(self) -> bool:
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
