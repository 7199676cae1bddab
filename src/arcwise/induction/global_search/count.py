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
from typing import Any

import numpy as np

from arcwise import native
from arcwise.errors import ConstraintError
from arcwise.induction.dmv import log_ratio
from arcwise.induction.global_search.certificate import SCALE, Proof
from arcwise.induction.global_search.count_nodes import CountNode, Half, Trial
from arcwise.induction.global_search.messages import DualMessages, MessageBounds
from arcwise.induction.global_search.options import CountOptions
from arcwise.induction.global_search.problem import Incumbent, InductionTask, ProgressCallback, TracePoint

_REPORT_SECONDS = 0.5
_LIST_BYTES = 2**31
"""Lists of points of open nodes take at most about so much memory; beyond it they are made anew when a node's turn comes."""
_LOOK_ALWAYS, _LOOK_EVERY = 200, 10
"""Parses are looked for in the first so many nodes, then in every tenth."""


class CountSearch:
    """The state of one search; ``run`` goes on until a gap or a time limit is reached, and can be called again."""

    def __init__(self, task: InductionTask, *, seed: int = 0, options: CountOptions = CountOptions()) -> None:
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
        self.cut = -(2**62)  # nothing above this was thrown away
        self.ceiling = 2**62  # proved: nothing is above this
        self.open: list[CountNode] = [CountNode((0, self.proof.add_node([])), self.problem.root_box, None)]
        self.held: dict[int, CountNode] = {}  # by number: nodes that workers have

    # ---- where it stands

    @property
    def threshold(self) -> int:
        """What a node must be able to exceed, in units of 1/SCALE: L + ε|L|, or less where less is proved."""
        return min(math.floor((self.best.value + self.epsilon * abs(self.best.value)) * SCALE), self.ceiling)

    @property
    def upper(self) -> int:
        """No parses have a likelihood above this, in units of 1/SCALE."""
        return max(self.cut, self.stuck, self.highest)

    @property
    def highest(self) -> int:
        """The highest bound of a node that is not done with."""
        first = [self.open[0].bound] if self.open else []
        return max([*first, *(node.bound for node in self.held.values())], default=-(2**62))

    @property
    def is_done(self) -> bool:
        """Whether nothing is left that could exceed the threshold."""
        return self.highest <= self.threshold

    def point(self) -> TracePoint:
        """The search as it stands."""
        return TracePoint(self.seconds, self.best.value, self.upper / SCALE, self.nodes, self.left)

    @property
    def left(self) -> int:
        """How many nodes are not done with."""
        return len(self.open) + len(self.held)

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
            self.ceiling = min(self.ceiling, self.upper)
            self._expand(self._pop())
            self.cut = max(self.cut, self.threshold)
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
        start = self.messages.of_prices(found.mu)
        if node.messages is not None and node.bound <= found.bound:
            start = node.messages
        for number in range(max(self.options.passes, 1)):
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
        use = [used] if agreed.bound <= node.bound else [*inherited, used]
        self._split(node, found, min(agreed.bound, node.bound), use, start)

    def _expand_by_prices(self, node: CountNode, inherited: list[int], found: native.CountEvaluation) -> None:
        """The same for a box in which no block can agree by messages."""
        box = node.box
        for number in range(max(self.options.passes, 1)):
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
        messages: DualMessages | None,
    ) -> None:
        """Two children: halves of the range of a count, or of the parses of a sentence once all counts are fixed. Both have the bound of the
        node, from the multipliers in ``use``, or a better one of their own."""
        number, box = node.number, node.box
        tried = self.options.candidates if messages is not None else 1
        splits = self.master.splits(box, found, self.options.middle, tried)
        best: Trial | None = None
        for coordinate, at, _ in splits:
            halves = [box.child(coordinate, at, above) for above in (False, True)]
            trial = self._tried([-1, coordinate, at], halves, bound, messages if len(splits) > 1 else None)
            if best is None or trial.score(bound, self.threshold) > best.score(bound, self.threshold):
                best = trial
        if best is None:
            split = list(self.problem.parse_split(box))
            if split[0] < 0:
                self._settle(number, box)
                return
            halves = [box.child(0, 2**30, False), box.child(0, 2**30, False)]  # copies
            for half, above in zip(halves, (False, True), strict=True):
                self.problem.keep_parses(
                    half, sentence=split[0], coordinate=split[1], at=split[2], above=above
                )
            best = self._tried(split, halves, bound, None)
        basis = self.master.basis
        children: list[int | None] = []
        for child in best.halves:
            if child is None:
                children.append(None)
                continue
            own, own_use = child.bound, list(use)
            if child.messages is not None:
                own_use = [self.proof.add_multipliers(child.messages)]
            elif messages is None and len(use) == 1:  # cheap to know better
                own = min(own, self.problem.bound(child.box, found.mu).value)
            children.append(self.proof.add_node(own_use))
            if own > self.threshold:
                node_of_child = CountNode(
                    (-own, self.proof.last), child.box, basis, child.messages or messages
                )
                self._push(node_of_child)
        self.proof.split(number, best.split, children)

    def _tried(
        self, split: list[int], halves: list[native.CountBox], bound: int, messages: DualMessages | None
    ) -> Trial:
        """The halves of a node, without what does not fit into them; bounded anew, if there are messages to begin with."""
        out: list[Half | None] = []
        for box in halves:
            if not self.problem.propagate(box):
                out.append(None)
                continue
            half = Half(box, bound, None)
            if messages is not None:
                agreed, own = self.messages.improved(
                    box,
                    messages,
                    threshold=self.threshold,
                    sweeps=self.options.trial_sweeps,
                    least_gain=self.options.least_gain,
                    seconds=self._seconds_left(),
                )
                if agreed.bound < bound and agreed.blocks.any():
                    half = Half(box, agreed.bound, own)
            out.append(half)
        return Trial(split, out)

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
