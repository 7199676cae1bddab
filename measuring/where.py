"""Command-line options of scripts that train: which engine, and how many trainings at a time."""

from __future__ import annotations

import argparse

from arcwise.engine import ENGINES, Engine, engine_of
from arcwise.errors import ArcwiseError


def add_engine_options(parser: argparse.ArgumentParser) -> None:
    """Add ``--jobs``, ``--engine`` and ``--address``."""
    parser.add_argument("--jobs", type=int, default=1, help="parallel trainings (default 1)")
    parser.add_argument(
        "--engine",
        choices=ENGINES,
        default="local",
        help="local processes, or a Ray cluster whose machines share this folder, treebanks and cache",
    )
    parser.add_argument("--address", help="address of the Ray cluster (default: this machine)")


def engine_from(parser: argparse.ArgumentParser, options: argparse.Namespace) -> Engine:
    """Return the requested engine; end the program if it is not available.

    >>> parser = argparse.ArgumentParser()
    >>> add_engine_options(parser)
    >>> engine_from(parser, parser.parse_args(["--jobs", "2"]))
    Processes(workers=2)
    """
    try:
        return engine_of(options.engine, workers=options.jobs, address=options.address)
    except ArcwiseError as error:
        parser.error(str(error))
