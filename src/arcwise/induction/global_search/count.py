"""``method="count"``: branch and bound over boxes of counts.

For fixed counts the optimal parameters are relative frequencies, so the likelihood is a convex function of
the counts alone. A node is a box of counts, bounded by Lagrangian relaxation: blocks of the function over the
box on one side, parses of the sentences on the other. The multipliers start as prices of counts, from a
linear program over parses and points (native/kernels/induction/count_problem.hpp, count_master.hpp), and
become messages about what each sentence adds to each block (``messages``). Bounds are computed in exact
integer arithmetic; every step goes into a certificate.
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
"""Memory for the point lists of open nodes; beyond it they are recomputed when a node is expanded."""
_LOOK_ALWAYS, _LOOK_EVERY = 200, 10
"""Nodes in which the primal heuristic always runs, and its frequency after that."""


class CountSearch:
    """The state of one search.

    ``run`` continues until a gap or a time limit is reached, and can be called again.
    """

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
        self.deadline = math.inf  # of the current run
        self.list_bytes = 0
        self.stuck = -(2**62)  # highest bound of nodes that cannot be split any further
        self.cut = -(2**62)  # no pruned node had a bound above this
        self.ceiling = 2**62  # upper bound proved so far
        self.open: list[CountNode] = [CountNode((0, self.proof.add_node([])), self.problem.root_box, None)]
        self.held: dict[int, CountNode] = {}  # nodes that workers have, by number

    @property
    def threshold(self) -> int:
        """Pruning threshold in units of 1/SCALE: L + ε|L|, or the proved upper bound if that is lower."""
        return min(math.floor((self.best.value + self.epsilon * abs(self.best.value)) * SCALE), self.ceiling)

    @property
    def upper(self) -> int:
        """Upper bound on the likelihood of any parses, in units of 1/SCALE."""
        return max(self.cut, self.stuck, self.highest)

    @property
    def highest(self) -> int:
        """Highest bound of an unfinished node."""
        first = [self.open[0].bound] if self.open else []
        return max([*first, *(node.bound for node in self.held.values())], default=-(2**62))

    @property
    def is_done(self) -> bool:
        """Whether no node is left that could exceed the threshold."""
        return self.highest <= self.threshold

    def point(self) -> TracePoint:
        """The current state, for the trace."""
        return TracePoint(self.seconds, self.best.value, self.upper / SCALE, self.nodes, self.left)

    @property
    def left(self) -> int:
        """Number of unfinished nodes."""
        return len(self.open) + len(self.held)

    def certificate(self) -> dict[str, Any]:
        """The certificate of the current bounds."""
        return self.proof.certificate(
            self.task, self.best, self.upper, self.options.enumerate_up_to, self.messages.written
        )

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
        """Search best-first until (U - L)/|L| <= epsilon.

        Stops earlier after ``time_limit`` more seconds, ``node_limit`` more nodes, or when ``should_stop``
        returns True. After ``pause_after`` seconds no further node is expanded, but at least one is,
        completely.
        """
        self.epsilon = epsilon
        began, before, reported = time.monotonic(), self.seconds, -math.inf
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
            if self.seconds - reported >= _REPORT_SECONDS:
                reported = self.seconds
                self._report(progress)
            # A bound once proved stays proved, even if an evaluation that is cut short gives a weaker one.
            self.ceiling = min(self.ceiling, self.upper)
            self._expand(self._pop())
            self.cut = max(self.cut, self.threshold)
            if self.nodes % 50 == 0:
                self._restart(self.options.restarts)
        self.seconds = before + time.monotonic() - began
        self._report(progress)

    def walk_step(self, node: object | None, *, time_limit: float | None = None) -> list[object]:
        """For ``estimate_tree``: bound and split one node, which takes no time to limit; return its children
        that are still open.
        """
        if node is None:
            node = CountNode((0, self.proof.add_node([])), self.problem.root_box, None)
            if self.best.heads is None:
                self._restart(self.options.first_restarts)
        assert isinstance(node, CountNode)
        kept, bytes_kept, self.open = self.open, self.list_bytes, []
        # A copy, because expanding a node tightens its box.
        copy = node.box.child(0, 2**30, False)
        self._expand(CountNode(node.order, copy, node.basis))
        children, self.open, self.list_bytes = self.open, kept, bytes_kept
        # Walks need no proof, and its multipliers would fill the memory.
        self.proof.multipliers.clear()
        return list(children)

    def _report(self, progress: ProgressCallback | None) -> None:
        self.trace.append(self.point())
        if progress:
            progress(self.trace[-1])

    def _restart(self, restarts: int) -> None:
        """Run Viterbi EM restarts, half from random parameters, half near the incumbent, in several rounds.

        Does nothing if ``restarts`` is 0 and there is an incumbent.
        """
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
        """Bound a node, run the primal heuristic, tighten the box by its bound, and split it."""
        self.nodes += 1
        box = node.box
        inherited = list(
            self.proof.uses(node.number)
        )  # the multipliers of its current bound; none for the root
        priced = self._by_prices(box, node.basis)
        if priced.bound <= self.threshold:
            self.proof.forget_uses(node.number)
            self.proof.use(node.number, self.proof.add_multipliers(priced.mu))
            return
        self._improve_incumbent(priced.counts)
        start = self.messages.of_prices(priced.mu)
        # Messages are the better start only where their bound is at least as good as that of prices.
        if node.messages is not None and node.bound <= priced.bound:
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
                self._expand_by_prices(node, inherited, priced)
                return
            used = self.proof.add_multipliers(start)
            if number == 0 and agreed.bound <= node.bound:
                self.proof.forget_uses(node.number)
            self.proof.use(node.number, used)
            if agreed.bound <= self.threshold:
                return
            self._improve_incumbent(agreed.counts.astype(np.float64))
            alive = self.problem.alive_count(box)
            if not self.messages.tighten(box, agreed, self.threshold):
                return
            if self.problem.alive_count(box) > 0.8 * alive:  # too little was deleted to pay for another pass
                break
        use = [used] if agreed.bound <= node.bound else [*inherited, used]
        self._split(node, priced, min(agreed.bound, node.bound), use, start)

    def _expand_by_prices(
        self, node: CountNode, inherited: list[int], priced: native.CountEvaluation
    ) -> None:
        """Like ``_expand``, for a box in which no block can use messages."""
        box = node.box
        for number in range(max(self.options.passes, 1)):
            priced = priced if number == 0 else self._by_prices(box, None)
            used = self.proof.add_multipliers(priced.mu)
            self.proof.use(node.number, used)
            if priced.bound <= self.threshold:
                return
            alive = self.problem.alive_count(box)
            bound = self.problem.bound(box, priced.mu)
            if not self.problem.tighten(box, priced.mu, bound, self.threshold):
                return
            if self.problem.alive_count(box) > 0.8 * alive:
                break
        # Inherited multipliers bound the children too, and better than those of an evaluation cut short.
        use = [used] if priced.bound <= node.bound else inherited
        self._split(node, priced, min(priced.bound, node.bound), use, None)

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

    def _improve_incumbent(self, coordinates: Any) -> None:
        """Primal heuristic: Viterbi EM from the relative frequencies of these counts."""
        if self.nodes < _LOOK_ALWAYS or self.nodes % _LOOK_EVERY == 0:
            counts = self.task.counts_of(coordinates)
            self.best.improve_from(log_ratio(counts, self.task.features))

    def _split(
        self,
        node: CountNode,
        priced: native.CountEvaluation,
        bound: int,
        use: list[int],
        messages: DualMessages | None,
    ) -> None:
        """Split the range of a count, or the parses of a sentence once all counts are fixed.

        Both children inherit the bound of the node, from the multipliers in ``use``, unless they have a
        better one.
        """
        number, box = node.number, node.box
        count = self.options.candidates if messages is not None else 1
        splits = self.master.splits(box, priced, self.options.middle, count)
        best: Trial | None = None
        for coordinate, at, _ in splits:
            halves = [box.child(coordinate, at, above) for above in (False, True)]
            trial = self._trial([-1, coordinate, at], halves, bound, messages if len(splits) > 1 else None)
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
            best = self._trial(split, halves, bound, None)
        basis = self.master.basis
        children: list[int | None] = []
        for child in best.halves:
            if child is None:
                children.append(None)
                continue
            child_bound, child_use = child.bound, list(use)
            if child.messages is not None:
                child_use = [self.proof.add_multipliers(child.messages)]
            elif messages is None and len(use) == 1:  # a bound by prices is cheap to recompute
                child_bound = min(child_bound, self.problem.bound(child.box, priced.mu).value)
            children.append(self.proof.add_node(child_use))
            if child_bound > self.threshold:
                order = (-child_bound, self.proof.last)
                self._push(CountNode(order, child.box, basis, child.messages or messages))
        self.proof.split(number, best.split, children)

    def _trial(
        self, split: list[int], halves: list[native.CountBox], bound: int, messages: DualMessages | None
    ) -> Trial:
        """Propagate the halves of a split, and bound them if there are messages to start from."""
        out: list[Half | None] = []
        for box in halves:
            if not self.problem.propagate(box):
                out.append(None)
                continue
            half = Half(box, bound, None)
            if messages is not None:
                agreed, improved = self.messages.improved(
                    box,
                    messages,
                    threshold=self.threshold,
                    sweeps=self.options.trial_sweeps,
                    least_gain=self.options.least_gain,
                    seconds=self._seconds_left(),
                )
                if agreed.bound < bound and agreed.blocks.any():
                    half = Half(box, agreed.bound, improved)
            out.append(half)
        return Trial(split, out)

    def _settle(self, number: int, box: native.CountBox) -> None:
        """Close a node that cannot be split.

        Either each sentence has one parse left (and the bound without multipliers is its likelihood), or the
        remaining parses of long sentences have the same counts; then the bound stays.
        """
        heads = self.problem.only_parses(box)
        if len(heads):
            self.best.offer(heads)
        zero = np.zeros(self.problem.coordinates, np.int64)
        self.proof.use(number, self.proof.add_multipliers(zero))
        bound = self.problem.bound(box, zero).value
        if bound > self.threshold:
            self.stuck = max(self.stuck, bound)
