"""``method="count"``: branch and bound over boxes of counts.

For fixed counts the best parameters are ratios of counts, so that the likelihood is a convex function of the counts alone. A node is a
box of counts; its bound is a Lagrangian one: blocks of the function over the box against parses of the sentences. Multipliers are prices of
counts, which a linear program over parses and points finds (native/kernels/induction/count_problem.hpp, count_master.hpp), and from there
messages about what each sentence adds to each block (``messages``). Bounds are computed in exact integer arithmetic; every step goes into a
certificate.
"""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from arcwise import native
from arcwise.errors import ConstraintError
from arcwise.induction.dmv import log_ratio
from arcwise.induction.global_search.certificate import SCALE, Proof
from arcwise.induction.global_search.messages import MessageBounds, Messages
from arcwise.induction.global_search.problem import Incumbent, Task
from arcwise.induction.global_search.result import ProgressCallback, TracePoint
from arcwise.learning.options import check_options, option

MOST = 1_000_000
"""Bound of options that count rounds and restarts."""
_REPORT_SECONDS = 0.5
_LIST_BYTES = 2**31
"""Lists of points of open nodes take at most about so much memory; beyond it they are made anew when a node's turn comes."""
_LOOK_ALWAYS, _LOOK_EVERY = 200, 10
"""Parses are looked for in the first so many nodes, then in every tenth."""


@dataclass(frozen=True)
class CountOptions:
    """How the search over counts works; the defaults did best."""

    middle: float = option(
        0.1,
        "A range is split at (1 - middle) × the value in the linear program + middle × its centre.",
        low=0,
        high=1,
    )
    enumerate_up_to: int = option(
        8,
        "The parses of sentences of at most so many words are enumerated; those of longer ones come from the Viterbi program.",
        low=0,
        high=20,
    )
    precision: float = option(
        0.02,
        "The linear program of a node is solved until it is this share of the distance to the incumbent from its limit.",
        above=0,
    )
    rounds: int = option(60, "At most so many rounds of new columns in a node.", low=1, high=MOST)
    passes: int = option(
        3,
        "A node is bounded again, at most so often, while its bound deletes many of its parses.",
        low=0,
        high=MOST,
    )
    sweeps: int = option(
        30, "Messages of a node are improved at most so often (0: bounds by prices alone).", low=0, high=MOST
    )
    least_gain: float = option(
        0.02,
        "They are improved while a sweep brings at least this share of the distance to the incumbent.",
        low=0,
    )
    first_restarts: int = option(2000, "Viterbi EM restarts before the search begins.", low=0, high=MOST)
    restarts: int = option(100, "Viterbi EM restarts after every 50th node.", low=0, high=MOST)

    def __post_init__(self) -> None:
        check_options(self)


@dataclass(order=True)
class CountNode:
    """A box still to be looked into; the heap has the highest bound first."""

    order: tuple[int, int]
    """(-bound, number in the proof)."""
    box: native.CountBox = field(compare=False)
    basis: native.CountBasis | None = field(compare=False)
    messages: Messages | None = field(compare=False, default=None)
    """Those that its bound follows from; None: prices."""
    list_bytes: int = field(compare=False, default=0)
    """The memory of the lists of its box; 0: they are to be made anew."""

    @property
    def bound(self) -> int:
        """In units of 1/SCALE."""
        return -self.order[0]

    @property
    def number(self) -> int:
        """In the proof."""
        return self.order[1]


class CountSearch:
    """The state of one search; ``run`` goes on until a gap or a time limit is reached, and can be called again."""

    def __init__(self, task: Task, *, seed: int = 0, options: CountOptions = CountOptions()) -> None:
        if task.constraint is not None:
            task.constraint.check(task.corpus)
        self.task, self.options, self.seed = task, options, seed
        self.problem = native.CountProblem(
            task.batch, marked=task.marked, least=task.least, enumerate_up_to=options.enumerate_up_to
        )
        if not self.problem.root_feasible:
            raise ConstraintError("share: no parses of the corpus satisfy the constraint")
        self.master = native.CountMaster(self.problem, task.constraint is not None)
        self.messages = MessageBounds(self.problem, len(task.corpus.tags))
        self.best = Incumbent(task)
        self.proof = Proof()
        self.trace: list[TracePoint] = []
        self.nodes = 0
        self.seconds = 0.0
        self.restarts_done = 0
        self.epsilon = 0.0
        self.deadline = math.inf  # of the run under way
        self.list_bytes = 0
        self.stuck = -(2**62)  # the highest bound of nodes that cannot be split any further
        self.open: list[CountNode] = [CountNode((0, self.proof.add_node([])), self.problem.root_box, None)]

    # ---- where it stands

    @property
    def threshold(self) -> int:
        """What a node must be able to exceed, in units of 1/SCALE: L + ε|L|."""
        return math.floor((self.best.value + self.epsilon * abs(self.best.value)) * SCALE)

    @property
    def upper(self) -> int:
        """No parses have a likelihood above this, in units of 1/SCALE."""
        return max(self.threshold, self.stuck, self.open[0].bound if self.open else self.threshold)

    @property
    def is_done(self) -> bool:
        """Whether nothing is left that could exceed the threshold."""
        return not self.open or self.open[0].bound <= self.threshold

    def point(self) -> TracePoint:
        """The search as it stands."""
        return TracePoint(self.seconds, self.best.value, self.upper / SCALE, self.nodes, len(self.open))

    def certificate(self) -> dict[str, Any]:
        """The proof so far."""
        return self.proof.certificate(
            self.task, self.best, self.upper, self.options.enumerate_up_to, self.messages.written
        )

    # ---- the search

    def run(
        self,
        *,
        epsilon: float = 0.01,
        time_limit: float | None = None,
        node_limit: int | None = None,
        pause_after: float = math.inf,
        progress: ProgressCallback | None = None,
        should_stop: Callable[[], bool] | None = None,
    ) -> None:
        """Best first, until (U - L)/|L| <= epsilon, for ``time_limit`` more seconds or ``node_limit`` more nodes, or ``should_stop``.

        After the seconds ``pause_after`` no further node is begun, but there is at least one, and it is finished.
        """
        self.epsilon = epsilon
        began, before, told = time.monotonic(), self.seconds, -math.inf
        self.deadline = math.inf if time_limit is None else began + time_limit
        first = self.nodes
        last_node = math.inf if node_limit is None else first + node_limit
        if self.best.heads is None:
            self._restart(self.options.first_restarts)
        while not self.is_done and self.nodes < last_node:
            self.seconds = before + time.monotonic() - began
            passed = self.seconds - before
            if (passed >= pause_after and self.nodes > first) or (
                time_limit is not None and passed >= time_limit
            ):
                break
            if should_stop is not None and should_stop():
                break
            if self.seconds - told >= _REPORT_SECONDS:
                told = self.seconds
                self._tell(progress)
            self._expand(self._pop())
            if self.nodes % 50 == 0:
                self._restart(self.options.restarts)
        self.seconds = before + time.monotonic() - began
        self._tell(progress)

    def walk_step(self, node: object | None) -> list[object]:
        """For ``estimate_tree``: bound and split one node; its children that are still open."""
        if node is None:
            node = CountNode((0, self.proof.add_node([])), self.problem.root_box, None)
            if self.best.heads is None:
                self._restart(self.options.first_restarts)
        assert isinstance(node, CountNode)
        kept, bytes_kept, self.open = self.open, self.list_bytes, []
        copy = node.box.child(0, 2**30, False)
        self._expand(CountNode(node.order, copy, node.basis))
        children, self.open, self.list_bytes = self.open, kept, bytes_kept
        self.proof.multipliers.clear()
        return list(children)

    def _tell(self, progress: ProgressCallback | None) -> None:
        self.trace.append(self.point())
        if progress:
            progress(self.trace[-1])

    def _restart(self, restarts: int) -> None:
        """Half of them from random parameters, half near the best parses so far, in several rounds; none if there are parses already and
        none are asked for."""
        if not restarts and self.best.heads is not None:
            return
        for near in (False, True, True, True):
            share = max(1, restarts // (6 if near else 2))
            self.best.restart(first=self.restarts_done, restarts=share, seed=self.seed, near=near)
            self.restarts_done += share

    def _push(self, node: CountNode) -> None:
        node.list_bytes = node.box.list_bytes
        if self.list_bytes + node.list_bytes > _LIST_BYTES:
            node.box.forget_lists()
            node.list_bytes = 0
        self.list_bytes += node.list_bytes
        heapq.heappush(self.open, node)

    def _pop(self) -> CountNode:
        node = heapq.heappop(self.open)
        self.list_bytes -= node.list_bytes
        if not node.list_bytes:
            self.problem.propagate(node.box)
        return node

    def _expand(self, node: CountNode) -> None:
        """Bound a node, look for better parses, delete what its bound excludes, split it."""
        self.nodes += 1
        box = node.box
        inherited = list(self.proof.uses(node.number))  # the multipliers of its bound; none for the root
        found = self._by_prices(box, node.basis)
        if found.bound <= self.threshold:
            self.proof.forget_uses(node.number)
            self.proof.use(node.number, self.proof.add_multipliers(found.mu))
            return
        self._look_for_parses(found.counts)
        start = node.messages or self.messages.of_prices(found.mu)
        for number in range(self.options.passes):
            agreed, start = self.messages.improved(
                box,
                start,
                threshold=self.threshold,
                sweeps=self.options.sweeps,
                least_gain=self.options.least_gain,
                seconds=self._seconds_left(),
            )
            if not number and (not agreed.blocks.any() or not self.options.sweeps):
                self._expand_by_prices(node, inherited, found)
                return
            used = self.proof.add_multipliers(start)
            if number == 0 and agreed.bound <= node.bound:
                self.proof.forget_uses(node.number)
            self.proof.use(node.number, used)
            if agreed.bound <= self.threshold:
                return
            self._look_for_parses(agreed.counts.astype(np.float64))
            alive = self.problem.alive_count(box)
            if not self.messages.tighten(box, agreed, self.threshold):
                return
            if self.problem.alive_count(box) > 0.8 * alive:
                break
        self._split(node, found, min(agreed.bound, node.bound), [used], start)

    def _expand_by_prices(self, node: CountNode, inherited: list[int], found: native.CountEvaluation) -> None:
        """The same for a box in which no block can agree by messages."""
        box = node.box
        for number in range(self.options.passes):
            found = found if number == 0 else self._by_prices(box, None)
            used = self.proof.add_multipliers(found.mu)
            self.proof.use(node.number, used)
            if found.bound <= self.threshold:
                return
            alive = self.problem.alive_count(box)
            if not self.problem.tighten(box, found.mu, self.problem.bound(box, found.mu), self.threshold):
                return
            if self.problem.alive_count(box) > 0.8 * alive:
                break
        # What bounded the node before bounds its children too, and better than multipliers of an evaluation cut short.
        use = [used] if found.bound <= node.bound else inherited
        self._split(node, found, min(found.bound, node.bound), use, None)

    def _by_prices(self, box: native.CountBox, basis: native.CountBasis | None) -> native.CountEvaluation:
        return self.master.evaluate(
            box,
            threshold=self.threshold,
            precision=self.options.precision,
            most_rounds=self.options.rounds,
            seconds=self._seconds_left(),
            start=basis,
        )

    def _seconds_left(self) -> float:
        return max(self.deadline - time.monotonic(), 0.0)

    def _look_for_parses(self, coordinates: Any) -> None:
        """Viterbi EM from the ratios of these counts; in the first nodes, later now and then."""
        if self.nodes < _LOOK_ALWAYS or self.nodes % _LOOK_EVERY == 0:
            counts = self.task.counts_of(coordinates)
            self.best.improve_from(log_ratio(counts, self.task.features))

    def _split(
        self,
        node: CountNode,
        found: native.CountEvaluation,
        bound: int,
        use: list[int],
        messages: Messages | None,
    ) -> None:
        """Two children: halves of the range of a count, or of the parses of a sentence once all counts are fixed. Both have the bound of the
        node, from the multipliers in ``use``."""
        number, box = node.number, node.box
        splits = self.master.splits(box, found, self.options.middle, 1)
        if splits:
            split = [-1, splits[0][0], splits[0][1]]
            halves = [box.child(split[1], split[2], above) for above in (False, True)]
        else:
            split = list(self.problem.parse_split(box))
            if split[0] < 0:
                self._settle(number, box)
                return
            halves = [box.child(0, 2**30, False), box.child(0, 2**30, False)]  # copies
            for half, above in zip(halves, (False, True), strict=True):
                self.problem.keep_parses(
                    half, sentence=split[0], coordinate=split[1], at=split[2], above=above
                )
        basis = self.master.basis
        children: list[int | None] = []
        for half in halves:
            if not self.problem.propagate(half):
                children.append(None)
                continue
            own = bound
            if messages is None and len(use) == 1:  # cheap to know better
                own = min(own, self.problem.bound(half, found.mu).value)
            children.append(self.proof.add_node(list(use)))
            if own > self.threshold:
                self._push(CountNode((-own, self.proof.last), half, basis, messages))
        self.proof.split(number, split, children)

    def _settle(self, number: int, box: native.CountBox) -> None:
        """Nothing is left to split: one parse of each sentence (its likelihood is the bound without multipliers), or long
        sentences whose parses cannot be told apart; then the bound stays as it is."""
        heads = self.problem.only_parses(box)
        if len(heads):
            self.best.offer(heads)
        zero = np.zeros(self.problem.coordinates, np.int64)
        self.proof.use(number, self.proof.add_multipliers(zero))
        bound = self.problem.bound(box, zero).value
        if bound > self.threshold:
            self.stuck = max(self.stuck, bound)
