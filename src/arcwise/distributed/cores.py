"""CPU cores of this machine, and their division among workers."""

from __future__ import annotations

import os


def cores() -> int:
    """Number of cores this process may use."""
    # Affinity, not cpu_count: a container or a batch system may allow fewer cores.
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def threads_of_each(workers: int, wanted: int) -> int:
    """Threads per worker on this machine: those wanted, but no more than there are cores for.

    >>> threads_of_each(10_000, 8)
    1
    """
    return max(1, min(wanted, cores() // workers))
