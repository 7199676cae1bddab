"""``engine_of``: an engine by its name, as the command line asks for one."""

from __future__ import annotations

from arcwise.engine.processes import Processes
from arcwise.engine.protocol import Engine, ThisProcess
from arcwise.errors import OptionError

ENGINES = {
    "local": "processes of this machine",
    "ray": "a cluster of Ray, or Ray on this machine",
}
"""Name → what it is."""


def engine_of(
    name: str = "local", *, workers: int = 1, address: str | None = None, threads: int = 1
) -> Engine:
    """The engine of this name with so many workers; ``address``: of a cluster that is running (Ray alone); ``threads``: those of each worker,
    for which Ray finds room.

    Nothing is started, but what the engine needs is asked for: ``MissingExtraError`` where Ray is not installed.

    >>> engine_of("local", workers=2)
    Processes(workers=2)
    """
    if name not in ENGINES:
        raise OptionError("engine", f"found {name!r}, expected {' or '.join(ENGINES)}")
    if workers < 1:
        raise OptionError("workers", f"found {workers}, expected at least 1")
    if name == "ray":
        from arcwise.engine.ray_engine import RayEngine

        return RayEngine(workers=workers, address=address, threads=threads)
    if address is not None:
        raise OptionError("address", f"found {address!r}, expected none: only the engine ray has one")
    return local_engine(workers)


def local_engine(processes: int) -> Engine:
    """The engine for so many processes of this machine; 1 is this process.

    >>> local_engine(1), local_engine(4)
    (ThisProcess(), Processes(workers=4))
    """
    return ThisProcess() if processes == 1 else Processes(processes)
