"""Viterbi EM with a linear program as E-step, as in Gormley & Eisner (2013), section 7.

The E-step solves the linear relaxation of parsing under fixed parameters, with the posterior constraint,
slightly tightened, as a row. Fractional arcs are projected onto the nearest projective trees; these are
discarded if they violate the constraint.
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
"""The program tightens the constraint by this share of the arcs: 80 % for a constraint of 75 %, as in the
paper."""
_IMPOSSIBLE = -1e3
"""Replaces a log-probability of minus infinity, which linear programs do not accept."""


class RelaxedParser(TreeProgram):
    """Parses with the relaxed program.

    ``parsed`` counts calls, ``discarded`` those whose trees violated the constraint; ``solution`` is the last
    one.
    """

    def __init__(self, task: InductionTask, *, tighter: float = TIGHTER) -> None:
        if task.constraint is not None:
            task.constraint.check(task.corpus)
            share = min(task.constraint.share + tighter, 1.0)
            # 1e-9: a product that is a whole number may come out just above it.
            least = max(task.least, math.ceil(share * task.corpus.words - 1e-9))
            super().__init__(task, least=min(least, _most_marked(task)))
        else:
            super().__init__(task)
        self.parsed = self.discarded = 0
        self.solution: Solution
        self._lp.add_columns(np.zeros(self.count), lower=self.low, upper=self.high)
        self._put_fixed_rows()

    def parse(self, theta: Vector) -> Heads | None:
        """Trees nearest to the optimum under these parameters; None if they violate the constraint."""
        costs = np.zeros(self.count)
        for m in self.used:
            costs[self.f[m]] = max(theta[m], _IMPOSSIBLE)
        self._lp.price_columns(np.arange(self.count), costs)
        self.solution = self._lp.solve(
            primal=True
        )  # only costs changed, so the last solution is primal feasible
        self.parsed += 1
        if self.solution.status == "optimal":
            heads = self.nearest_trees(self.solution.columns)
            if self.task.satisfies(heads):
                return heads
        self.discarded += 1
        return None


def _most_marked(task: InductionTask) -> int:
    """The largest number of arcs that the constraint counts in any parses."""
    prices = task.marked.astype(np.float64)
    return round(float(native.dmv_decode_batch(prices, task.batch, 1)[1].sum()))


@dataclass(frozen=True, eq=False)
class RelaxedRestart:
    """The last parses of a restart, their counts, and the parameters of its last M-step.

    ``trace``: the value after each iteration.
    """

    heads: Heads
    counts: Vector
    theta: Vector
    trace: list[float]

    @property
    def value(self) -> float:
        """Joint log-likelihood of sentences and parses under the parameters."""
        return self.trace[-1]


def relaxed_restart(
    parser: RelaxedParser,
    seed: int,
    *,
    smoothing: float = 1.0,
    iterations: int = 100,
    should_stop: Callable[[], bool] | None = None,
) -> RelaxedRestart | None:
    """Run Viterbi EM once from uniform parameters, breaking ties at random.

    Returns None if all parses were discarded. It stops when parses do not change, do not improve (the E-step
    is not exact), or are discarded.
    """
    task, features, best = parser.task, parser.features, None
    uniform = log_ratio(np.zeros(features.count), features)
    # Under uniform parameters all trees are equally likely, so a random one is as good as any Viterbi tree.
    drawn = native.dmv_sample_batch(uniform, task.batch, seed)
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
    """Grammar, value and trace of the best restart, and the values of all restarts."""
    began, parser, best = time.monotonic(), RelaxedParser(task), None
    values: list[float] = []

    def late() -> bool:
        return time_limit is not None and time.monotonic() - began > time_limit

    while len(values) < restarts and not (values and late()):
        # Of both numbers, so that restarts of neighbouring seeds do not coincide.
        restart_seed = int(np.random.SeedSequence([seed, len(values)]).generate_state(1)[0])
        restart = relaxed_restart(
            parser, restart_seed, smoothing=smoothing, iterations=iterations, should_stop=late
        )
        values.append(-np.inf if restart is None else restart.value)
        if restart is not None and (best is None or restart.value > best.value):
            best = restart
        if progress:
            progress(len(values), max(values))
    if best is None:
        raise ConstraintError(
            "share: no restart found parses that satisfy the constraint; try more restarts or smoothing"
        )
    return DMV(task.corpus.tags, best.theta), best.value, best.trace, values
