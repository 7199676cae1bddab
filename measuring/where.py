"""Where the trainings of a script are done, and how many at a time: the options of its command line."""

from __future__ import annotations

import argparse

from arcwise.engine import ENGINES, Engine, engine_of
from arcwise.errors import ArcwiseError


def add_engine_options(parser: argparse.ArgumentParser) -> None:
    """``--jobs``, ``--engine`` and ``--address``."""
    parser.add_argument("--jobs", type=int, default=1, help="trainings at a time (default 1)")
    parser.add_argument(
        "--engine",
        choices=ENGINES,
        default="local",
        help="where: processes of this machine, or a cluster of Ray whose machines share this folder, treebanks and cache",
    )
    parser.add_argument("--address", help="the cluster of --engine ray, if it is not this machine")


def engine_from(parser: argparse.ArgumentParser, given: argparse.Namespace) -> Engine:
    """The engine that was asked for; what cannot be ends the program.

    >>> parser = argparse.ArgumentParser()
    >>> add_engine_options(parser)
    >>> engine_from(parser, parser.parse_args(["--jobs", "2"]))
    Processes(workers=2)
    """
    try:
        return engine_of(given.engine, workers=given.jobs, address=given.address)
    except ArcwiseError as error:
        parser.error(str(error))
