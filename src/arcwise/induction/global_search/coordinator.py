"""Parallel branch and bound over counts: a coordinator with one queue of open nodes, and many workers.

The coordinator holds the proof, the open nodes and the incumbent. A worker gets the open node with the
highest bound and the incumbent, searches the subtree below for a few seconds, and returns that subtree with
its open nodes. So work goes wherever there is some, a better incumbent prunes the other workers' trees from
their next node on, and if a worker dies, the engine reassigns its node. The search begins with a race: every
worker starts at the root with other splits and other restarts, and the tree with the lowest bound is kept.
"""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from arcwise.engine import Engine, WorkerPool
from arcwise.induction.global_search.checkpoint import save_checkpoint
from arcwise.induction.global_search.count import CountSearch
from arcwise.induction.global_search.count_nodes import CountNode
from arcwise.induction.global_search.fragment import Assignment, Fragment, OpenNode, Worker
from arcwise.induction.global_search.problem import ProgressCallback
from arcwise.treebanks.files import PathLike

CHECKPOINT_SECONDS = 30.0
_WRITING = 10
"""The next checkpoint waits this many times as long as the last one took: at most a tenth of the time is
writing."""
_RACE_SECONDS = 3.0
_LEAST_SECONDS, _MOST_SECONDS, _SHARE = 0.5, 10.0, 0.1
"""A worker keeps a node for this share of the elapsed time, within limits: short at first, so that there soon
are nodes for everyone; long later, so that messages are few."""
_SPLITS = (0.1, 0.5, 0.3, 0.0, 0.7)
"""Split points of the workers in the race (``CountOptions.middle``)."""


class Coordinator:
    """Runs a search, new or resumed from a checkpoint, with the workers of an engine."""

    def __init__(
        self,
        search: CountSearch,
        engine: Engine,
        *,
        workers: int,
        epsilon: float,
        time_limit: float | None = None,
        checkpoint: PathLike | None = None,
        progress: ProgressCallback | None = None,
        should_stop: Callable[[], bool] | None = None,
    ) -> None:
        self.search, self.engine, self.workers = search, engine, workers
        self.checkpoint, self.progress, self.should_stop = checkpoint, progress, should_stop
        search.epsilon = epsilon
        self._began, self._before = time.monotonic(), search.seconds
        self._until = math.inf if time_limit is None else self._began + time_limit
        # The first result is saved at once, then in intervals.
        self._next_save = -math.inf
        self._assigned = search.nodes

    def run(self) -> None:
        """Search until the gap is closed, the time limit is reached, or ``should_stop`` returns True."""
        search = self.search
        work = Worker(search.task.corpus, search.task.constraint, search.options)
        with self.engine.pool(work) as pool:
            if not search.nodes:
                self._race(pool)
            while not self._is_over() and self._has_next():
                for fragment in pool.map(_Queue(self), ordered=False):
                    self.take(fragment)
        self._report(save=True)

    def assignment(self) -> Assignment | None:
        """Assign the unassigned open node with the highest bound; None if there is none at the moment."""
        if self._is_over() or not self._has_next():
            return None
        node = heapq.heappop(self.search.open)
        self.search.held[node.number] = node
        passed = time.monotonic() - self._began
        seconds = min(max(_LEAST_SECONDS, _SHARE * passed), _MOST_SECONDS)
        return self._assign(node, seconds)

    def _has_next(self) -> bool:
        """Whether there is an unassigned node that can exceed the threshold."""
        return bool(self.search.open) and self.search.open[0].bound > self.search.threshold

    def _assign(self, node: CountNode, seconds: float) -> Assignment:
        search = self.search
        self._assigned += 1
        left = max(self._until - time.monotonic(), 0.0)
        return Assignment(
            OpenNode.of(node, search.proof),
            search.best.heads,
            search.epsilon,
            min(seconds, left),
            left,
            search.seed + self._assigned,
        )

    def _race(self, pool: WorkerPool[Assignment, Fragment]) -> None:
        """Start every worker at the root and keep the best tree."""
        search = self.search
        root = heapq.heappop(search.open)
        search.held[root.number] = root
        begin = self._assign(root, _RACE_SECONDS)
        runners = [
            replace(begin, middle=_SPLITS[r % len(_SPLITS)], seed=search.seed + r)
            for r in range(self.workers)
        ]
        fragments = list(pool.map(runners, ordered=False))
        for fragment in fragments:
            search.best.offer(fragment.heads)
        self.take(min(fragments, key=lambda f: (f.upper, -f.bounded)))

    def _is_over(self) -> bool:
        return (
            self.search.is_done
            or time.monotonic() >= self._until
            or (self.should_stop is not None and self.should_stop())
        )

    def take(self, fragment: Fragment) -> None:
        """Replace a node by the subtree that a worker returned."""
        search = self.search
        # Before the node leaves `held`, so that no proof is lost.
        search.ceiling = min(search.ceiling, search.upper)
        search.best.offer(fragment.heads)
        search.held.pop(fragment.number)
        numbers = search.proof.graft(fragment.number, fragment.nodes, fragment.multipliers)
        for node in fragment.open:
            heapq.heappush(search.open, node.node(number=numbers[node.number]))
        search.nodes += fragment.bounded
        search.stuck, search.cut = max(search.stuck, fragment.stuck), max(search.cut, fragment.cut)
        self._report(save=time.monotonic() >= self._next_save)

    def _report(self, *, save: bool) -> None:
        search = self.search
        search.seconds = self._before + time.monotonic() - self._began
        search.trace.append(search.point())
        if self.progress:
            self.progress(search.trace[-1])
        if save and self.checkpoint is not None:
            began = time.monotonic()
            save_checkpoint(search, self.checkpoint)
            ended = time.monotonic()
            self._next_save = ended + max(CHECKPOINT_SECONDS, _WRITING * (ended - began))


class _Queue(Iterator[Assignment]):
    """Iterates over open nodes on demand. It may end and continue later, once a worker has returned nodes."""

    def __init__(self, coordinator: Coordinator) -> None:
        self._coordinator = coordinator

    def __next__(self) -> Assignment:
        assignment = self._coordinator.assignment()
        if assignment is None:
            raise StopIteration
        return assignment
