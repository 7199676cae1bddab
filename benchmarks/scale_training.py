"""Training by many cores: how much sooner it is over, and what it costs in LAS.

    python -m benchmarks.scale_training                      # 1 and 2 workers; 16 parts for their LAS alone
    python -m benchmarks.scale_training --workers 1 4 16     # a machine with 16 cores
    python -m benchmarks.scale_training --prepare            # the LAS of --parts alone, which is kept

Two ways: batches, whose sentences are learned from at the same time by threads (option ``batch``), and iterative parameter mixing
(option ``parts``), whose workers may be on several machines. A model depends on the batch or on the number of parts and not on who
learns them, so the LAS of sixteen parts is measured by two workers, too. It is kept in ~/.cache/arcwise (or ARCWISE_CACHE). Needs
ARCWISE_TREEBANKS.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from statistics import median
from typing import Any

from measuring.cells import Cells
from measuring.tables import table
from measuring.trainings import read_whole

from arcwise.distributed.cores import cores
from arcwise.engine import local_engine
from arcwise.graph import GraphConfig, GraphParser
from arcwise.learning.progress import Progress
from arcwise.transition import TransitionConfig, TransitionParser
from benchmarks.report import write_section

MIXED: dict[str, tuple[Any, Any]] = {
    "graph, MIRA": (GraphParser, GraphConfig()),
    "transition, beam 8": (TransitionParser, TransitionConfig(beam=8)),
}
BATCHED = "graph, MIRA, batches"
PARSERS = (BATCHED, *MIXED)


class Timed(Progress):
    """Notes how long each epoch took."""

    def __init__(self) -> None:
        super().__init__(shown=False)
        self.seconds: list[float] = []

    @contextmanager
    def epoch(self, number: int, epochs: int, sentences: int) -> Iterator[Any]:
        started = time.perf_counter()
        yield lambda done: None
        self.seconds.append(time.perf_counter() - started)


@dataclass(frozen=True)
class Run:
    """One training."""

    parts: int
    """Or threads, with batches."""
    epochs: int
    las: float
    """On the development data, of the best epoch."""
    epoch: float
    """Seconds of an epoch, the first left out: its workers prepare themselves."""
    seconds: float
    """Of all: preparation, epochs, their scores on the development data, temperatures."""


def train(name: str, treebank: str, parts: int, epochs: int | None) -> dict[str, Any]:
    """Train with as many workers as parts, or as there are cores, which take turns with this process: it scores what they learned."""
    kind, config = MIXED[name]
    workers = min(parts, cores())
    return _timed(
        name,
        treebank,
        kind,
        replace(config, parts=parts),
        epochs,
        threads=workers,
        engine=local_engine(workers),
    )


def train_batches(treebank: str, batch: int, threads: int, epochs: int | None) -> Run:
    """Train by threads of this process."""
    config = GraphConfig(batch=batch)
    return Run(**_timed(f"batches of {batch}", treebank, GraphParser, config, epochs, threads=threads))


def _timed(
    name: str, treebank: str, kind: Any, config: Any, epochs: int | None, *, threads: int, **where: Any
) -> dict[str, Any]:
    config = config if epochs is None else replace(config, epochs=epochs)
    data, dev = read_whole(treebank, "train"), read_whole(treebank, "dev")
    progress = Timed()
    started = time.perf_counter()
    trained = kind.train(data, dev, config=config, threads=threads, progress=progress, **where)
    seconds = time.perf_counter() - started
    las = 100 * trained.model.report["dev_las"]
    found = Run(max(config.parts, threads), config.epochs, las, median(progress.seconds[1:]), seconds)
    print(
        f"{name}, {threads} workers, {config.parts} parts: {found.epoch:.2f} s an epoch, {seconds:.1f} s, LAS {las:.2f}",
        flush=True,
    )
    return asdict(found)


def rows_of(name: str, timed: Sequence[Run], others: Sequence[Run]) -> list[list[object]]:
    """Rows of the table: with times, compared with the first of them, and of LAS alone."""
    first = timed[0]
    rows: list[list[object]] = []
    for one in timed:
        faster, faster_in_all = first.epoch / one.epoch, first.seconds / one.seconds
        share = one.parts / first.parts
        figures = [f"{one.epoch:.2f}", f"{faster:.2f}", f"{faster / share:.2f}", f"{one.seconds:.1f}"]
        rows.append([name, one.parts, *figures, f"{faster_in_all:.2f}", f"{one.las:.2f}", _cost(one, first)])
    for one in others:
        rows.append([name, one.parts, "", "", "", "", "", f"{one.las:.2f}", _cost(one, first)])
    return rows


def _cost(one: Run, first: Run) -> str:
    return "" if one is first else f"{one.las - first.las:+.2f}"


def mixed_rows(name: str, given: argparse.Namespace) -> list[list[object]]:
    """Rows of a parser in parts; of --prepare none, but what they need is kept."""
    kept = Cells("scale_training")
    others = [
        Run(
            **kept.cell(
                f"{given.treebank} {name} {parts} {given.epochs}",
                partial(train, name, given.treebank, parts, given.epochs),
            )
        )
        for parts in given.parts
        if parts not in given.workers
    ]
    if given.prepare:
        return []
    timed = [Run(**train(name, given.treebank, parts, given.epochs)) for parts in given.workers]
    return rows_of(f"{name}, parts", timed, others)


def batched_rows(given: argparse.Namespace) -> list[list[object]]:
    """Plain training in the first row, which the others are compared with."""
    plain = train_batches(given.treebank, 1, 1, given.epochs)
    rows = rows_of("graph, MIRA, no batches", [plain], [])
    for batch in given.batch:
        timed = [train_batches(given.treebank, batch, threads, given.epochs) for threads in given.workers]
        rows += rows_of(f"graph, MIRA, batches of {batch}", [plain, *timed], [])[1:]
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--parts", type=int, nargs="*", default=[16], help="LAS alone")
    parser.add_argument("--batch", type=int, nargs="+", default=[32], help="sentences of a batch")
    parser.add_argument("--treebank", default="English-EWT")
    parser.add_argument("--parsers", nargs="+", choices=PARSERS, default=list(PARSERS))
    parser.add_argument("--epochs", type=int, help="in place of the parsers' defaults")
    parser.add_argument("--prepare", action="store_true", help="the LAS of --parts alone; nothing is timed")
    given = parser.parse_args()
    if not os.environ.get("ARCWISE_TREEBANKS"):
        print("benchmarks.scale_training: needs ARCWISE_TREEBANKS, the folder of treebanks")
        return
    rows: list[list[object]] = []
    for name in given.parsers:
        if name == BATCHED:
            rows += [] if given.prepare else batched_rows(given)
        else:
            rows += mixed_rows(name, given)
    if given.prepare:
        return
    header = [
        "parser", "workers", "s an epoch", "× faster", "efficiency", "s in all", "× faster in all", "dev LAS", "against one",
    ]  # fmt: skip
    most = max(given.workers)
    body = (
        f"Training on {given.treebank}. Batches of B: `arcwise train --threads N` with `batch = B`; N threads learn from the sentences of a batch at the same time. "
        "Parts: `arcwise train --workers N --threads N`; each epoch is dealt out in N parts, which workers (processes of this machine) learn at the same time and "
        "which are then averaged (McDonald, Hall & Mann 2010). An epoch: the median without the first, in which workers prepare themselves. "
        "In all: reading excluded, preparation, scoring of each epoch on dev and the fitting of temperatures included; default epochs unless the command says others. "
        "Where no time stands there were more parts than cores, and only the LAS was measured. On a machine with 16 cores: `--workers 1 4 16`.\n\n"
        + table(header, rows)
    )
    which = {
        (BATCHED,): "-batches",
        **{(name,): f"-{name.partition(',')[0]}" for name in MIXED},
    }.get(tuple(given.parsers), "")
    cores_told = "" if most <= 2 else f"-{most}"
    write_section(
        f"scale-training{which}{cores_told}",
        f"Training by many workers: {'; '.join(given.parsers)}, up to {most}",
        body,
        module="scale_training",
    )
    print(body)


if __name__ == "__main__":
    main()
