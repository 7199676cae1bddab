"""``engine_of``: an engine by name, as on the command line."""

from __future__ import annotations

from arcwise.engine.processes import Processes
from arcwise.engine.protocol import Engine, ThisProcess
from arcwise.errors import OptionError

ENGINES = {
    "local": "processes of this machine",
    "ray": "a Ray cluster, or Ray on this machine",
}
"""Name → description."""


def engine_of(
    name: str = "local", *, workers: int = 1, address: str | None = None, threads: int = 1
) -> Engine:
    """Create the engine ``name`` with this many workers.

    ``address``: a running cluster (Ray only). ``threads``: cores that Ray reserves for each worker.
    Starts nothing, but raises ``MissingExtraError`` if Ray is needed and not installed.

    >>> engine_of("local", workers=2)
    Processes(workers=2)
    """
    if name not in ENGINES:
        raise OptionError("engine", f"found {name!r}, expected {' or '.join(ENGINES)}")
    if workers < 1:
        raise OptionError("workers", f"found {workers}, expected at least 1")
    if name == "ray":
        # Imported when chosen: Ray is optional.
        from arcwise.engine.ray_engine import RayEngine

        return RayEngine(workers=workers, address=address, threads=threads)
    if address is not None:
        raise OptionError("address", f"found {address!r}, but only the engine ray takes an address")
    return local_engine(workers)


def local_engine(processes: int) -> Engine:
    """Create an engine with this many processes on this machine; 1 means the current process.

    >>> local_engine(1), local_engine(4)
    (ThisProcess(), Processes(workers=4))
    """
    return ThisProcess() if processes == 1 else Processes(processes)
