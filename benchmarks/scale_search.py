"""Distributed grammar search with one, two or more workers: nodes per second, traffic and coordinator
overhead.

    python -m benchmarks.scale_search                       # 1 and 2 workers
    python -m benchmarks.scale_search --workers 1 4 16 --seconds 120

All runs resume from the same checkpoint of a single-process search, so that each has enough open nodes and
none depends on a race. The last table extrapolates to a thousand cores.
"""

from __future__ import annotations

import argparse
import pickle
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measuring.tables import table

from arcwise.engine import Engine, Processes, WorkerPool
from arcwise.induction.global_search import CountSearch, InductionTask
from arcwise.induction.global_search.checkpoint import load_checkpoint, save_checkpoint
from arcwise.induction.global_search.coordinator import _MOST_SECONDS, CHECKPOINT_SECONDS, Coordinator
from arcwise.induction.global_search.fragment import Assignment, Fragment, OpenNode, Worker
from benchmarks.induction import synthetic
from benchmarks.report import write_section

EPSILON = 0.01
PAPER_CORES = (2, 16, 128, 1000)
PAPER_SECONDS = 600
PIECES_A_WORKER = 12
"""Minimum number of pieces where the same work is compared."""


@dataclass
class Watched:
    """Engine that counts the bytes sent and received."""

    engine: Engine
    sent: int = 0
    received: int = 0

    def map(self, work: Callable[[Any], Any], items: Iterable[Any], *, ordered: bool = True) -> Iterator[Any]:
        with self.pool(work) as pool:
            yield from pool.map(items, ordered=ordered)

    @contextmanager
    def pool(self, work: Callable[[Any], Any]) -> Iterator[WorkerPool[Any, Any]]:
        with self.engine.pool(work) as pool:
            yield _WatchedPool(self, pool)


@dataclass
class _WatchedPool:
    watched: Watched
    pool: WorkerPool[Any, Any]

    def map(self, items: Iterable[Any], *, ordered: bool = True) -> Iterator[Any]:
        for result in self.pool.map(_Sizes(self.watched, items), ordered=ordered):
            self.watched.received += len(pickle.dumps(result))
            yield result

    def map_with(self, common: Any, items: Iterable[Any], *, ordered: bool = True) -> Iterator[Any]:
        raise NotImplementedError


class _Sizes(Iterator[Any]):
    def __init__(self, watched: Watched, items: Iterable[Any]) -> None:
        self._watched, self._items = watched, iter(items)

    def __next__(self) -> Any:
        item = next(self._items)
        self._watched.sent += len(pickle.dumps(item))
        return item


class TimedCoordinator(Coordinator):
    """Coordinator that measures the time it spends assigning and collecting."""

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self.busy, self.fragments = 0.0, 0

    def assignment(self) -> Assignment | None:
        began = time.perf_counter()
        assigned = super().assignment()
        self.busy += time.perf_counter() - began
        return assigned

    def take(self, fragment: Fragment) -> None:
        began = time.perf_counter()
        super().take(fragment)
        self.busy += time.perf_counter() - began
        self.fragments += 1


@dataclass(frozen=True)
class Run:
    """One run with a number of workers."""

    workers: int
    """0: a single process without a coordinator."""
    nodes: int
    seconds: float
    fragments: int = 0
    sent: int = 0
    received: int = 0
    busy: float = 0.0

    @property
    def speed(self) -> float:
        return self.nodes / self.seconds


def measured(task: InductionTask, state: Path, workers: int, seconds: float) -> Run:
    """Search from the checkpoint."""
    search = load_checkpoint(task, state)
    before = search.nodes
    if not workers:
        began = time.perf_counter()
        search.run(epsilon=EPSILON, time_limit=seconds)
        return Run(0, search.nodes - before, time.perf_counter() - began)
    watched = Watched(Processes(workers))
    coordinator = TimedCoordinator(search, watched, workers=workers, epsilon=EPSILON, time_limit=seconds)
    began = time.perf_counter()
    coordinator.run()
    return Run(
        workers,
        search.nodes - before,
        time.perf_counter() - began,
        coordinator.fragments,
        watched.sent,
        watched.received,
        coordinator.busy,
    )


@dataclass(frozen=True)
class SamePieces:
    """The same pieces of work, by workers that are already running."""

    workers: int
    pieces: int
    seconds: float
    working: float
    """Busy seconds of all workers together."""
    processor: float
    """CPU seconds of all workers together."""

    @property
    def speed(self) -> float:
        return self.pieces / self.seconds


class TimedWork:
    """Worker that measures the wall-clock and CPU time of each piece."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker

    def __call__(self, assignment: Assignment) -> tuple[float, float]:
        began, processor = time.perf_counter(), time.process_time()
        self._worker(assignment)
        return time.perf_counter() - began, time.process_time() - processor


def same_pieces(task: InductionTask, state: Path, workers: int) -> SamePieces:
    """Expand every open node of the checkpoint once, or more often with many workers to dilute the last
    pieces.
    """
    search = load_checkpoint(task, state)
    pieces = [
        Assignment(OpenNode.of(node, search.proof), search.best.heads, EPSILON, 0.0, 1e6, 0)
        for node in search.open
    ]
    pieces *= -(-PIECES_A_WORKER * workers // len(pieces))
    work = TimedWork(Worker(task.corpus, task.constraint, search.options))
    with Processes(workers).pool(work) as pool:
        list(pool.map([pieces[-1]] * workers))
        began = time.perf_counter()
        times = list(pool.map(pieces, ordered=False))
        seconds = time.perf_counter() - began
    return SamePieces(workers, len(pieces), seconds, sum(t for t, _ in times), sum(t for _, t in times))


@dataclass(frozen=True)
class Costs:
    """Coordinator cost per node, and cost of a checkpoint."""

    kept: float
    """Bytes of a proof node in a checkpoint (the same as in a certificate)."""
    saving: float
    """Seconds to write one."""


def costs(task: InductionTask, state: Path, folder: Path) -> Costs:
    """Measure on the checkpoint."""
    search = load_checkpoint(task, state)
    began = time.perf_counter()
    save_checkpoint(search, folder / "again.json")
    seconds = time.perf_counter() - began
    nodes = len(search.proof.nodes)
    return Costs((folder / "again.json").stat().st_size / nodes, seconds / nodes)


def on_paper(run: Run, spent: Costs) -> list[list[object]]:
    """Extrapolate to more cores of the same speed that return nodes after ``_MOST_SECONDS``, for
    ``PAPER_SECONDS``.
    """
    speed = run.speed / run.workers
    a_node, a_fragment = run.busy / max(run.nodes, 1), run.sent / max(run.fragments, 1)
    rows: list[list[object]] = []
    for cores in PAPER_CORES:
        nodes = speed * cores
        messages = 2 * cores / _MOST_SECONDS
        traffic = messages / 2 * a_fragment + nodes * run.received / max(run.nodes, 1)
        proof = nodes * PAPER_SECONDS
        rows.append(
            [
                f"{cores:,}",
                f"{nodes:,.0f}",
                f"{messages:,.1f}",
                f"{traffic / 1e6:,.2f}",
                f"{100 * nodes * a_node:.1f} %",
                f"{proof:,.0f}",
                f"{proof * spent.kept / 1e9:,.2f}",
                f"{proof * spent.saving:,.1f}",
            ]
        )
    return rows


def report(runs: Sequence[Run], same: Sequence[SamePieces], pieces: int, spent: Costs, about: str) -> str:
    alone = runs[0]
    rows: list[list[object]] = []
    for run in runs:
        body: list[object] = [
            run.workers or "none",
            f"{run.nodes:,}",
            f"{run.seconds:.1f}",
            f"{run.speed:.2f}",
        ]
        body += [f"{run.speed / max(run.workers, 1) / alone.speed:.2f}"]
        if run.workers:
            body += [
                f"{run.fragments / run.seconds:.2f}",
                f"{run.sent / max(run.fragments, 1) / 1e3:,.1f}",
                f"{run.received / max(run.nodes, 1) / 1e3:,.1f}",
                f"{1000 * run.busy / max(run.fragments, 1):.1f}",
                f"{100 * run.busy / run.seconds:.2f} %",
            ]
        else:
            body += [""] * 5
        rows.append(body)
    header = [
        "workers",
        "nodes",
        "seconds",
        "nodes/s",
        "relative",
        "pieces of work/s",
        "sent, kB per piece",
        "returned, kB per node",
        "coordinator, ms per piece",
        "coordinator busy",
    ]
    paper = [
        "cores",
        "nodes/s",
        "messages/s",
        "MB/s",
        "coordinator busy",
        f"proof nodes after {PAPER_SECONDS} s",
        "proof size, GB",
        "writing it, s",
    ]
    return (
        f"{about} Workers start from one checkpoint; start-up is included. Workers none: a single process "
        f"without a coordinator. Relative: nodes per second and worker, compared with it. This is not an "
        f"efficiency: nodes deeper in the tree are cheaper. A piece of work: a node, and the subtree "
        f"that a worker returns for it.\n\n"
        + table(header, rows)
        + f"\nThe same work by workers that are already running: each of the {pieces} open nodes expanded "
        f"once, more often with many workers. Efficiency: nodes per second and worker, relative to the "
        f"first row. Busy: the share of time in which a worker has a piece (otherwise it waits for "
        f"the last ones). Per node: wall-clock and CPU seconds of a worker; wall-clock time is "
        f"longer where other processes use the machine.\n\n"
        + table(
            [
                "workers",
                "nodes",
                "seconds",
                "nodes/s",
                "efficiency",
                "busy",
                "s per node",
                "CPU s per node",
            ],
            same_rows(same),
        )
        + f"\nExtrapolated from the last row and from a checkpoint ({spent.kept / 1e3:,.1f} kB and "
        f"{1000 * spent.saving:.2f} ms per node): more cores of the same speed, pieces of "
        f"{_MOST_SECONDS:g} s. Coordinator busy is an upper bound: its cost is counted per node, as "
        f"if every piece were a single node. Checkpoints are written every "
        f"{CHECKPOINT_SECONDS:g} s, or after ten times the duration of the last write.\n\n"
        + table(paper, on_paper(runs[-1], spent))
    )


def same_rows(same: Sequence[SamePieces]) -> list[list[object]]:
    alone = same[0].speed / same[0].workers
    return [
        [
            run.workers,
            run.pieces,
            f"{run.seconds:.1f}",
            f"{run.speed:.2f}",
            f"{run.speed / run.workers / alone:.2f}",
            f"{100 * run.working / run.seconds / run.workers:.0f} %",
            f"{run.working / run.pieces:.3f}",
            f"{run.processor / run.pieces:.3f}",
        ]
        for run in same
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--sentences", type=int, default=20)
    parser.add_argument("--seed", type=int, default=4)
    parser.add_argument(
        "--begin", type=float, default=30.0, help="seconds of the initial search that all runs resume"
    )
    parser.add_argument("--seconds", type=float, default=40.0)
    options = parser.parse_args()
    corpus = synthetic(options.sentences, options.seed)
    task = InductionTask(corpus)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        search = CountSearch(task, seed=options.seed)
        search.run(epsilon=EPSILON, time_limit=options.begin)
        save_checkpoint(search, folder / "state.json")
        begun = len(search.open)
        print(f"initial search: {search.nodes} nodes, {len(search.open)} open", flush=True)
        runs = []
        for workers in (0, *options.workers):
            runs.append(measured(task, folder / "state.json", workers, options.seconds))
            print(f"{workers} workers: {runs[-1].speed:.2f} nodes/s", flush=True)
        same = [same_pieces(task, folder / "state.json", workers) for workers in options.workers]
        spent = costs(task, folder / "state.json", folder)
    cores = max(options.workers)
    about = (
        f"synthetic-{options.sentences}, seed {options.seed}, ε = {100 * EPSILON:g} %, after "
        f"{search.nodes} nodes."
    )
    body = report(runs, same, begun, spent, about)
    write_section(
        "scale_search" if cores <= 2 else f"scale_search-{cores}",
        f"Grammar search with up to {cores} workers",
        body,
        module="scale_search",
    )
    print(body)


if __name__ == "__main__":
    main()
