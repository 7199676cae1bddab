"""Parallel training: speed-up, and its cost in LAS.

    python -m benchmarks.scale_training                      # 1 and 2 workers; 16 parts for their LAS only
    python -m benchmarks.scale_training --workers 1 4 16     # a machine with 16 cores
    python -m benchmarks.scale_training --prepare            # only the LAS of --parts, which is cached

Two methods: mini-batches processed by several threads (option ``batch``), and iterative parameter mixing
(option ``parts``), whose workers may be on several machines. A model depends on the batch size or the number
of parts, not on the number of workers, so two workers suffice to measure the LAS of sixteen parts. It is
cached in ~/.cache/arcwise (or ARCWISE_CACHE). Needs ARCWISE_TREEBANKS.
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

from arcwise.engine import local_engine
from arcwise.engine.processes import cores
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
    """Record the duration of each epoch."""

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
    """Number of workers, or of threads with batches."""
    epochs: int
    las: float
    """LAS of the best epoch on the development data."""
    epoch: float
    """Median seconds per epoch, without the first, in which workers initialise."""
    seconds: float
    """Total seconds: preparation, epochs, scoring on the development data, calibration."""


def train(name: str, treebank: str, parts: int, epochs: int | None) -> dict[str, Any]:
    """Train with one worker per part, or per core; workers take turns with this process, which scores
    epochs.
    """
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
    """Train with threads of this process."""
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
    training = Run(max(config.parts, threads), config.epochs, las, median(progress.seconds[1:]), seconds)
    print(
        f"{name}, {threads} workers, {config.parts} parts: {training.epoch:.2f} s per epoch, {seconds:.1f} "
        f"s, LAS {las:.2f}",
        flush=True,
    )
    return asdict(training)


def rows_of(name: str, timed: Sequence[Run], others: Sequence[Run]) -> list[list[object]]:
    """Table rows: timed trainings relative to the first of them, then those with LAS only."""
    first = timed[0]
    rows: list[list[object]] = []
    for training in timed:
        faster, faster_in_all = first.epoch / training.epoch, first.seconds / training.seconds
        share = training.parts / first.parts
        figures = [
            f"{training.epoch:.2f}",
            f"{faster:.2f}",
            f"{faster / share:.2f}",
            f"{training.seconds:.1f}",
        ]
        rows.append(
            [
                name,
                training.parts,
                *figures,
                f"{faster_in_all:.2f}",
                f"{training.las:.2f}",
                _cost(training, first),
            ]
        )
    for training in others:
        rows.append([name, training.parts, "", "", "", "", "", f"{training.las:.2f}", _cost(training, first)])
    return rows


def _cost(training: Run, first: Run) -> str:
    return "" if training is first else f"{training.las - first.las:+.2f}"


def mixed_rows(name: str, options: argparse.Namespace) -> list[list[object]]:
    """Rows of a parser trained in parts; none with --prepare, which only fills the cache."""
    kept = Cells("scale_training")
    others = [
        Run(
            **kept.cell(
                f"{options.treebank} {name} {parts} {options.epochs}",
                partial(train, name, options.treebank, parts, options.epochs),
            )
        )
        for parts in options.parts
        if parts not in options.workers
    ]
    if options.prepare:
        return []
    timed = [Run(**train(name, options.treebank, parts, options.epochs)) for parts in options.workers]
    return rows_of(f"{name}, parts", timed, others)


def batched_rows(options: argparse.Namespace) -> list[list[object]]:
    """Plain training in the first row, the baseline of the others."""
    plain = train_batches(options.treebank, 1, 1, options.epochs)
    rows = rows_of("graph, MIRA, no batches", [plain], [])
    for batch in options.batch:
        timed = [
            train_batches(options.treebank, batch, threads, options.epochs) for threads in options.workers
        ]
        rows += rows_of(f"graph, MIRA, batches of {batch}", [plain, *timed], [])[1:]
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument(
        "--parts",
        type=int,
        nargs="*",
        default=[16],
        help="numbers of parts to measure LAS for, without timing",
    )
    parser.add_argument("--batch", type=int, nargs="+", default=[32], help="batch sizes")
    parser.add_argument("--treebank", default="English-EWT")
    parser.add_argument("--parsers", nargs="+", choices=PARSERS, default=list(PARSERS))
    parser.add_argument("--epochs", type=int, help="epochs, instead of the parsers' defaults")
    parser.add_argument(
        "--prepare", action="store_true", help="measure only the LAS of --parts, without timing"
    )
    options = parser.parse_args()
    if not os.environ.get("ARCWISE_TREEBANKS"):
        print("benchmarks.scale_training: set ARCWISE_TREEBANKS to a folder of treebanks")
        return
    rows: list[list[object]] = []
    for name in options.parsers:
        if name == BATCHED:
            rows += [] if options.prepare else batched_rows(options)
        else:
            rows += mixed_rows(name, options)
    if options.prepare:
        return
    header = [
        "parser", "workers", "s per epoch", "speed-up", "efficiency", "total s",
        "total speed-up", "dev LAS", "difference",
    ]  # fmt: skip
    most = max(options.workers)
    body = (
        f"Training on {options.treebank}. Batches of B: `arcwise train --threads N` with `batch = B`; N "
        f"threads process the sentences of a batch in parallel. Parts: `arcwise train --workers N "
        f"--threads N`; each epoch is split into N parts, which workers (local processes) train on "
        f"in parallel, then their weights are averaged (McDonald, Hall & Mann 2010). s per "
        f"epoch: the median without the first, in which workers initialise. Total: "
        f"preparation, scoring of each epoch on dev and calibration included, reading "
        f"excluded; default number of epochs unless the command sets it. Rows "
        f"without times had more parts than cores: only their LAS was measured. "
        f"On a machine with 16 cores: `--workers 1 4 16`.\n\n" + table(header, rows)
    )
    which = {
        (BATCHED,): "-batches",
        **{(name,): f"-{name.partition(',')[0]}" for name in MIXED},
    }.get(tuple(options.parsers), "")
    cores_told = "" if most <= 2 else f"-{most}"
    write_section(
        f"scale-training{which}{cores_told}",
        f"Parallel training: {'; '.join(options.parsers)}, up to {most}",
        body,
        module="scale_training",
    )
    print(body)


if __name__ == "__main__":
    main()
