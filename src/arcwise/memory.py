"""glibc malloc settings for commands that own their process; the library never changes those of its caller.

By default glibc keeps freed memory for reuse. Each time a large allocation is freed, it raises the size (up
to 32 MB) below which allocations come from the heap; larger ones get pages of their own (mmap), which go back
to the system at once and are zeroed again on the next use.

A service must not grow: a network's workspaces, some MB each and of a different size in every call, fragment
the heap. ``mmap_large_allocations`` keeps large allocations out of it, and ``HeapTrimmer`` returns free
pages.

Training must not wait: each batch frees and allocates the same tensors, many above 32 MB, and zeroing their
pages takes a tenth of the time. ``disable_malloc_trim`` keeps all memory until the process ends.
"""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable

LARGE = 1 << 19
"""Minimum size in bytes of the allocations of a service that get separate pages."""
UNUSED = 1 << 22
"""Bytes that may stay unused at the end of a service's heap."""
PAUSE = 5.0
"""Seconds between two trims of the heap."""
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_MMAP_MAX = -1, -3, -4
_USER_SETTINGS = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_MMAP_MAX_")
"""glibc's environment variables for the same settings: where a user set one, arcwise changes nothing."""


def mmap_large_allocations() -> bool:
    """Give large allocations of this process and its forks separate pages.

    Returns whether the settings took effect: not without glibc, nor against the user's environment variables.
    """
    return _set_malloc_options({_M_MMAP_THRESHOLD: LARGE, _M_TRIM_THRESHOLD: UNUSED})


def disable_malloc_trim() -> bool:
    """Keep all freed memory of this process and its forks. Returns whether the settings took effect."""
    return _set_malloc_options({_M_MMAP_MAX: 0, _M_TRIM_THRESHOLD: -1})


def _set_malloc_options(values: dict[int, int]) -> bool:
    if any(name in os.environ for name in _USER_SETTINGS):
        return False
    if "glibc.malloc" in os.environ.get("GLIBC_TUNABLES", ""):
        return False
    mallopt = _libc_function("mallopt")
    return mallopt is not None and all(mallopt(name, value) for name, value in values.items())


class HeapTrimmer:
    """Returns free heap pages to the system, at most every ``pause`` seconds."""

    def __init__(self, pause: float = PAUSE) -> None:
        self._pause = pause
        self._trim = _libc_function("malloc_trim")
        self._last = time.monotonic()

    def trim_if_due(self) -> bool:
        """Trim if the pause is over. Returns whether it was."""
        now = time.monotonic()
        if self._trim is None or now - self._last < self._pause:
            return False
        self._last = now
        self._trim(0)
        return True


def _libc_function(name: str) -> Callable[..., int] | None:
    """Return a function of the C library, or None if it has none of this name."""
    try:
        function: Callable[..., int] | None = getattr(ctypes.CDLL(None), name, None)
    except (OSError, TypeError):
        return None
    return function
