"""Peak memory of a process."""

from __future__ import annotations

import resource
from pathlib import Path


def peak_mb() -> float:
    """Return the peak resident memory of this process in MB."""
    # Not ru_maxrss where /proc exists: on Linux it starts from the parent's memory at the time of the fork.
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    lines = status.read_text().splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024
