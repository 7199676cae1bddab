"""Execution engines for independent work: this process, several processes, or a Ray cluster.

A function with independent pieces (jackknife folds, candidate values of C, shards of a corpus) takes an
``Engine`` argument. Its result does not depend on the engine.
"""

from arcwise.deprecation import renamed
from arcwise.engine.forks import Forks
from arcwise.engine.processes import ENGINES, Processes, engine_of, local_engine
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

__getattr__ = renamed(__name__, {"Crew": "arcwise.engine:WorkerPool"})
