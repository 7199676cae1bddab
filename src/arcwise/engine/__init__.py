"""Engines: where independent pieces of work are done. In this process, in several on this machine, on a cluster of machines.

A function with many such pieces (folds of a jack-knife, values of C to try, shards of a corpus) takes an ``Engine`` as an argument.
What it gives does not depend on the engine.
"""

from arcwise.engine.choice import ENGINES, engine_of, local_engine
from arcwise.engine.forks import Forks
from arcwise.engine.processes import Processes
from arcwise.engine.protocol import Engine, ThisProcess, WorkerPool

__all__ = [
    "ENGINES",
    "Engine",
    "Forks",
    "Processes",
    "ThisProcess",
    "WorkerPool",
    "engine_of",
    "local_engine",
]
