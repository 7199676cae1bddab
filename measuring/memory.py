"""How much memory a process has taken."""

from __future__ import annotations

import resource
from pathlib import Path


def peak_mb() -> float:
    """The largest memory of this process so far. (Linux's ``ru_maxrss`` would count what its parent had when it was started.)"""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    lines = status.read_text().splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024
