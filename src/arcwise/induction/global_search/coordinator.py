"""A search over counts with many workers: one queue of open nodes, from which workers take and to which they give back.

The coordinator keeps the proof, the open nodes and the best parses. A worker gets the open node with the highest bound and the best parses so
far, searches below it for a few seconds, and gives back the tree that grew there, with its own open nodes. So work goes wherever there is
some, what one worker finds helps the others from their next node on, and a worker that dies costs the node that it held, which the engine
hands out again. The first node is raced for: every worker begins at the root, each with other splits and other restarts, and the tree
of the one with the lowest bound is kept.
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
"""A checkpoint that took a second to write is written again after so many seconds at the earliest."""
_RACE_SECONDS = 3.0
_LEAST_SECONDS, _MOST_SECONDS, _SHARE = 0.5, 10.0, 0.1
"""A worker keeps a node for this share of the time that the search has taken so far, within limits."""
_SPLITS = (0.1, 0.5, 0.3, 0.0, 0.7)
"""Where runners of the race split ranges (``CountOptions.middle``)."""


class Coordinator:
    """Runs a search (from its beginning, or from where a checkpoint left it) with the workers of an engine."""

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
        self._next_save = -math.inf
        self._given = search.nodes

    def run(self) -> None:
        """Until the gap is closed, the time is over, or someone says stop."""
        search = self.search
        work = Worker(search.task.corpus, search.task.constraint, search.options)
        with self.engine.pool(work) as pool:
            if not search.nodes:
                self._race(pool)
            while not self._is_over() and self._has_next():
                for fragment in pool.map(_Queue(self), ordered=False):
                    self.take(fragment)
        self._tell(save=True)

    # ---- handing out

    def assignment(self) -> Assignment | None:
        """The best open node that nobody has; None: there is none now."""
        if self._is_over():
            return None
        if not self._has_next():
            return None
        node = heapq.heappop(self.search.open)
        self.search.held[node.number] = node
        passed = time.monotonic() - self._began
        seconds = min(max(_LEAST_SECONDS, _SHARE * passed), _MOST_SECONDS)
        return self._assign(node, seconds)

    def _has_next(self) -> bool:
        """Whether there is a node to be looked into that nobody has."""
        return bool(self.search.open) and self.search.open[0].bound > self.search.threshold

    def _assign(self, node: CountNode, seconds: float) -> Assignment:
        search = self.search
        self._given += 1
        left = max(self._until - time.monotonic(), 0.0)
        return Assignment(
            OpenNode.of(node, search.proof),
            search.best.heads,
            search.epsilon,
            min(seconds, left),
            left,
            search.seed + self._given,
        )

    def _race(self, pool: WorkerPool[Assignment, Fragment]) -> None:
        """Every worker begins at the root; the best tree is kept."""
        search = self.search
        root = heapq.heappop(search.open)
        search.held[root.number] = root
        begin = self._assign(root, _RACE_SECONDS)
        runners = [
            replace(begin, middle=_SPLITS[r % len(_SPLITS)], seed=search.seed + r)
            for r in range(self.workers)
        ]
        found = list(pool.map(runners, ordered=False))
        for fragment in found:
            search.best.offer(fragment.heads)
        self.take(min(found, key=lambda f: (f.upper, -f.bounded)))

    def _is_over(self) -> bool:
        return (
            self.search.is_done
            or time.monotonic() >= self._until
            or (self.should_stop is not None and self.should_stop())
        )

    # ---- taking back

    def take(self, fragment: Fragment) -> None:
        """Put the tree that grew below a node in its place."""
        search = self.search
        search.ceiling = min(search.ceiling, search.upper)
        search.best.offer(fragment.heads)
        search.held.pop(fragment.number)
        numbers = search.proof.graft(fragment.number, fragment.nodes, fragment.multipliers)
        for grown in fragment.open:
            heapq.heappush(search.open, grown.node(number=numbers[grown.number]))
        search.nodes += fragment.bounded
        search.stuck, search.cut = max(search.stuck, fragment.stuck), max(search.cut, fragment.cut)
        self._tell(save=time.monotonic() >= self._next_save)

    def _tell(self, *, save: bool) -> None:
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
    """Open nodes as they are asked for. It may end and go on again, when a worker has given nodes back."""

    def __init__(self, coordinator: Coordinator) -> None:
        self._coordinator = coordinator

    def __next__(self) -> Assignment:
        found = self._coordinator.assignment()
        if found is None:
            raise StopIteration
        return found
