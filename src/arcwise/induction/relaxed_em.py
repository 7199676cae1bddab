"""Viterbi EM whose E-step is a linear program, as in Gormley & Eisner (2013), section 7.

The parser is their relaxed program of parses under given parameters, with the posterior constraint as a row that asks for a little more
than is needed. Its arcs may be fractional: they are projected onto the nearest projective trees, and these are discarded if they do not
keep to the constraint.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from arcwise import native
from arcwise.errors import ConstraintError
from arcwise.induction.dmv import DMV, Heads, Vector, log_ratio
from arcwise.induction.global_search.lp import Solution
from arcwise.induction.global_search.problem import InductionTask
from arcwise.induction.global_search.tree_program import TreeProgram

TIGHTER = 0.05
"""The program asks for this share of the arcs more than the constraint does: 80 % where it is 75 %, as in the paper."""
_IMPOSSIBLE = -1e3
"""Stands for a log-probability of minus infinity, which no linear program takes."""


class RelaxedParser(TreeProgram):
    """Parses by the relaxed program; ``parsed`` and ``discarded`` count the calls, and those whose trees broke the constraint; ``solution`` is
    the last of the program."""

    def __init__(self, task: InductionTask, *, tighter: float = TIGHTER) -> None:
        if task.constraint is not None:
            task.constraint.check(task.corpus)
            share = min(task.constraint.share + tighter, 1.0)
            least = max(task.least, math.ceil(share * task.corpus.words - 1e-9))
            super().__init__(task, least=min(least, _most_marked(task)))
        else:
            super().__init__(task)
        self.parsed = self.discarded = 0
        self.solution: Solution
        self._lp.add_columns(np.zeros(self.count), lower=self.low, upper=self.high)
        self._put_fixed_rows()

    def parse(self, theta: Vector) -> Heads | None:
        """The best trees under the parameters, by the program; None if those found do not keep to the constraint."""
        costs = np.zeros(self.count)
        for m in self.used:
            costs[self.f[m]] = max(theta[m], _IMPOSSIBLE)
        self._lp.price_columns(np.arange(self.count), costs)
        self.solution = self._lp.solve(primal=True)  # the solution before is still feasible
        self.parsed += 1
        if self.solution.status == "optimal":
            heads = self.nearest_trees(self.solution.columns)
            if self.task.satisfies(heads):
                return heads
        self.discarded += 1
        return None


def _most_marked(task: InductionTask) -> int:
    """How many arcs of any parses the constraint can count."""
    prices = task.marked.astype(np.float64)
    return round(float(native.dmv_decode_batch(prices, task.batch, 1)[1].sum()))


@dataclass(frozen=True, eq=False)
class RelaxedRestart:
    """The parses where a restart ended, their counts, and the parameters of the last M-step; ``trace``: the value after each iteration."""

    heads: Heads
    counts: Vector
    theta: Vector
    trace: list[float]

    @property
    def value(self) -> float:
        """Log-likelihood of sentences and parses under the parameters."""
        return self.trace[-1]


def relaxed_restart(
    parser: RelaxedParser,
    seed: int,
    *,
    smoothing: float = 1.0,
    iterations: int = 100,
    should_stop: Callable[[], bool] | None = None,
) -> RelaxedRestart | None:
    """One run of Viterbi EM from uniform parameters, ties broken at random; None if no parses kept to the constraint.

    It ends where parses do not change, or are no better (the E-step is not exact), or were discarded.
    """
    task, features, best = parser.task, parser.features, None
    uniform = log_ratio(np.zeros(features.count), features)
    drawn = native.dmv_sample_batch(
        uniform, task.batch, seed
    )  # under uniform parameters all trees are equally good
    theta = log_ratio(native.dmv_counts(task.batch, drawn), features, smoothing=smoothing)
    for _ in range(iterations):
        heads = parser.parse(theta)
        if heads is None:
            break
        counts = native.dmv_counts(task.batch, heads)
        if best is not None and _likelihood(theta, counts) <= best.value + 1e-9 * abs(best.value):
            break
        theta = log_ratio(counts, features, smoothing=smoothing)
        trace = [*(best.trace if best is not None else []), _likelihood(theta, counts)]
        best = RelaxedRestart(heads, counts, theta, trace)
        if should_stop is not None and should_stop():
            break
    return best


def _likelihood(theta: Vector, counts: Vector) -> float:
    used = counts > 0
    return float(counts[used] @ theta[used])


def relaxed_restarts(
    task: InductionTask,
    *,
    smoothing: float = 1.0,
    restarts: int = 1,
    iterations: int = 100,
    seed: int = 0,
    time_limit: float | None = None,
    progress: Callable[[int, float], None] | None = None,
) -> tuple[DMV, float, list[float], list[float]]:
    """Grammar, value and trace of the best restart, and the values of all."""
    began, parser, best = time.monotonic(), RelaxedParser(task), None
    values: list[float] = []

    def late() -> bool:
        return time_limit is not None and time.monotonic() - began > time_limit

    while len(values) < restarts and not (values and late()):
        own = int(np.random.SeedSequence([seed, len(values)]).generate_state(1)[0])
        found = relaxed_restart(parser, own, smoothing=smoothing, iterations=iterations, should_stop=late)
        values.append(-np.inf if found is None else found.value)
        if found is not None and (best is None or found.value > best.value):
            best = found
        if progress:
            progress(len(values), max(values))
    if best is None:
        raise ConstraintError(
            "share: no restart found parses that satisfy the constraint, try more restarts or smoothing"
        )
    return DMV(task.corpus.tags, best.theta), best.value, best.trace, values
