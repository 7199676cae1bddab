"""``method="theta"``: branch and bound over boxes of log-probabilities (Gormley & Eisner 2013).

Kept for comparison, close to the paper: linear relaxations (``theta_program``), optional RLT products
(``rlt``), best-first search with plunging, branching on the largest regret z_m − θ_m f_m at the midpoint in
probability space, and projections followed by Viterbi EM. Unlike the paper, boxes that are narrow in θ are
split on counts and arcs too (``integral``): the relaxation of trees has fractional vertices, so boxes of θ
alone may never close the gap. A floating-point solver proposes multipliers; bounds are computed from them so
that they hold whatever it returns (``safe_bounds``), and the certificate has them for the verifier.
"""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from arcwise.induction.dmv import Vector, log_ratio
from arcwise.induction.global_search.options import ThetaOptions
from arcwise.induction.global_search.problem import Incumbent, InductionTask, ProgressCallback, TracePoint
from arcwise.induction.global_search.rlt import rlt_rows
from arcwise.induction.global_search.theta_program import (
    LEAST_THETA,
    THETA_SCALE,
    BoxProof,
    ThetaBox,
    ThetaProgram,
)


@dataclass(eq=False)
class ProofNode:
    """A node of the proof: a bound of its box with multipliers that prove it, and how it was split."""

    bound: float = math.inf
    proof: BoxProof | None = None
    split: tuple[int, float] | None = None
    """Column and value."""
    children: tuple[ProofNode, ...] = ()
    """Of the values up to the split's and of those above (for θ: and from it)."""


@dataclass(order=True)
class ThetaNode:
    """An open node, ordered by the bound of its parent."""

    order: tuple[float, int]
    box: ThetaBox = field(compare=False)
    record: ProofNode = field(compare=False, default_factory=ProofNode)


@dataclass(frozen=True, eq=False)
class BoxSplit:
    """Two boxes that cover another; ``preferred``: the number of the one with the relaxed solution."""

    column: int
    at: float
    boxes: tuple[ThetaBox, ThetaBox]
    preferred: int


class ThetaSearch:
    """The state of one search; ``run`` continues until a gap or a time limit is reached."""

    def __init__(self, task: InductionTask, *, seed: int = 0, options: ThetaOptions = ThetaOptions()) -> None:
        if task.constraint is not None:
            task.constraint.check(task.corpus)
        self.task, self.options, self.seed = task, options, seed
        self.program = ThetaProgram(task)
        self.best = Incumbent(task)
        self.trace: list[TracePoint] = []
        self.nodes = 0
        self.seconds = 0.0
        self.epsilon = 0.0
        self.made = 1
        self.unsplit = -math.inf
        """Highest bound of boxes that are too narrow to split, and not pruned."""
        self.root = ThetaNode((0.0, 0), self.program.root())
        self.open: list[ThetaNode] = [self.root]
        self._random = np.random.default_rng(seed)
        self._plunging: ThetaNode | None = None

    @property
    def threshold(self) -> float:
        """Pruning threshold."""
        return self.best.value + self.epsilon * abs(self.best.value)

    def point(self) -> TracePoint:
        """The current state, for the trace."""
        nodes = [n for n in (self._plunging, self.open[0] if self.open else None) if n is not None]
        upper = max([self.threshold, self.unsplit, *(-n.order[0] for n in nodes)])
        # No log-likelihood is above 0.
        return TracePoint(self.seconds, self.best.value, min(upper, 0.0), self.nodes, len(self.open))

    def run(
        self,
        *,
        epsilon: float = 0.01,
        time_limit: float | None = None,
        progress: ProgressCallback | None = None,
        should_stop: Callable[[], bool] | None = None,
    ) -> None:
        """Search best-first with plunging until (U - L)/|L| <= epsilon or the time limit."""
        self.epsilon = epsilon
        began, before, reported = time.monotonic(), self.seconds, -math.inf
        if self.best.heads is None:
            self._first_incumbent()
        while self._plunging is not None or self.open:
            self.seconds = before + time.monotonic() - began
            if (time_limit is not None and self.seconds - before >= time_limit) or (
                should_stop and should_stop()
            ):
                break
            if self.seconds - reported >= 0.5:
                reported = self.seconds
                self._report(progress)
            node = self._plunging or heapq.heappop(self.open)
            self._plunging = None
            if -node.order[0] <= self.threshold:
                if not self.open or -self.open[0].order[0] <= self.threshold:
                    self.open.clear()
                continue
            left = None if time_limit is None else time_limit - (self.seconds - before)
            children = self._expand(node, time_limit=left)
            for child in children[1:]:
                heapq.heappush(self.open, child)
            self._plunging = (
                children[0] if children else None
            )  # plunge into the child with the relaxed solution
        self.seconds = before + time.monotonic() - began
        self._report(progress)

    def walk_step(self, node: object | None, *, time_limit: float | None = None) -> list[object]:
        """For ``estimate_tree``: bound and split one node; return its children."""
        if node is None:
            if self.best.heads is None:
                self._first_incumbent()
            node = self.root
        assert isinstance(node, ThetaNode)
        # Without a separate record every walk would add to the proof.
        return list(self._expand(ThetaNode(node.order, node.box), time_limit=time_limit))

    def _first_incumbent(self) -> None:
        # At least one restart: every result has parses.
        self.best.restart(first=0, restarts=max(self.options.first_restarts, 1), seed=self.seed)

    def _report(self, progress: ProgressCallback | None) -> None:
        self.trace.append(self.point())
        if progress:
            progress(self.trace[-1])

    def _expand(self, node: ThetaNode, *, time_limit: float | None = None) -> list[ThetaNode]:
        """Bound, project and branch.

        Return the children, the one with the relaxed solution first (none if pruned).
        """
        self.nodes += 1
        products = self.program.new_products()
        extra = rlt_rows(
            self.options.rlt,
            self.program,
            node.box,
            products,
            self._random,
            second_level=self.options.second_level,
        )
        relaxation = self.program.solve(
            node.box,
            extra=extra,
            products=products,
            cut_rounds=self.options.cut_rounds,
            enough=self.threshold,
            time_limit=time_limit,
        )
        node.record.bound, node.record.proof = relaxation.bound, relaxation.proof
        bound = min(-node.order[0], relaxation.bound)
        if bound <= self.threshold:
            return []
        # A point of a solver that gave up may lie far outside the box.
        x = np.nan_to_num(relaxation.point[: self.program.count])
        x = np.clip(x, node.box.low, node.box.high)
        self._project(x)
        split = self._split(node.box, x)
        if split is None:
            self.unsplit = max(self.unsplit, bound)
            return []
        node.record.split, node.record.children = (split.column, split.at), (ProofNode(), ProofNode())
        self.made += 2
        return [
            ThetaNode((-bound, self.made - i), split.boxes[k], node.record.children[k])
            for i, k in enumerate((split.preferred, 1 - split.preferred))
        ]

    def _split(self, box: ThetaBox, x: Vector) -> BoxSplit | None:
        """Split a box near x; None if it is a single solution or too narrow."""
        program, options = self.program, self.options
        theta, f, z = (np.array([c[m] for m in program.used]) for c in (program.theta, program.f, program.z))
        regret = x[z] - x[theta] * x[f]
        wide = np.exp(box.high[theta]) - np.exp(box.low[theta])
        order = np.argsort(-regret)
        for k in order:
            if regret[k] <= 1e-9:
                break
            if wide[k] > (options.narrow if options.integral else 1e-9):
                return _midpoint(box, theta[k], x)
            if options.integral and box.high[f[k]] > box.low[f[k]]:
                return _integer(box, f[k], x)
        if not options.integral:
            widest = int(np.argmax(wide))
            return _midpoint(box, theta[widest], x) if wide[widest] > 1e-9 else None
        fractional = [
            (abs(x[c] - 0.5), c) for arcs in program.arcs for c in arcs.values() if box.high[c] > box.low[c]
        ]
        if fractional:
            return _integer(box, min(fractional)[1], x)
        open_counts = [c for c in f if box.high[c] > box.low[c]]
        return _integer(box, open_counts[0], x) if open_counts else None

    def _project(self, x: Vector) -> None:
        """Project a relaxed solution onto parses, by its parameters or its arcs, then run Viterbi EM."""
        if self.options.projection == "parses":
            flat = self.program.nearest_trees(x)
            if self.task.satisfies(flat):
                self.best.offer(flat)
            counts = np.zeros(self.program.features.count)
            for m in self.program.used:
                counts[m] = max(x[self.program.f[m]], 0.0)
            self.best.improve_from(log_ratio(counts, self.program.features))
            return
        theta = np.full(self.program.features.count, LEAST_THETA)
        for m in self.program.used:
            theta[m] = x[self.program.theta[m]]
        probabilities = np.exp(theta) + self.options.smoothing
        if self.options.projection == "simplex":
            for run in self.program.features.distributions:
                probabilities[run] = nearest_on_simplex(probabilities[run])
        self.best.improve_from(log_ratio(probabilities, self.program.features))


def nearest_on_simplex(point: Vector) -> Vector:
    """Euclidean projection onto the probability simplex (Chen & Ye 2011), O(n log n).

    >>> nearest_on_simplex(np.array([0.5, 0.9])).round(3).tolist()
    [0.3, 0.7]
    """
    down = np.sort(point)[::-1]
    shifts = (np.cumsum(down) - 1.0) / np.arange(1, len(down) + 1)
    shift = shifts[np.flatnonzero(down > shifts)[-1]]
    nearest: Vector = np.maximum(point - shift, 0.0)
    return nearest


def _midpoint(box: ThetaBox, column: int, x: Vector) -> BoxSplit | None:
    """Split a log-probability at the midpoint in probability space."""
    value = float(np.log((np.exp(box.low[column]) + np.exp(box.high[column])) / 2))
    value = round(value * THETA_SCALE) / THETA_SCALE  # certificates hold it exactly
    if not box.low[column] < value < box.high[column]:
        return None
    halves = box.child(column, -np.inf, value), box.child(column, value, np.inf)
    return BoxSplit(int(column), value, halves, int(x[column] > value))


def _integer(box: ThetaBox, column: int, x: Vector) -> BoxSplit:
    """Split an integer column next to its relaxed value."""
    at = float(np.clip(np.floor(x[column]), box.low[column], box.high[column] - 1))
    halves = box.child(column, -np.inf, at), box.child(column, at + 1, np.inf)
    return BoxSplit(int(column), at, halves, int(x[column] - at > 0.5))
