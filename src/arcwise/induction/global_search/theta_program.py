"""The mathematical program of Gormley & Eisner (2013), relaxed to a linear program over a box of parameters.

Columns: those of the parses (``tree_program``), log-probabilities θ, and z for the products θ_m f_m of the
objective. Rows that hold everywhere are added once. The concave (McCormick) envelopes of the products depend
on the box. Tangent cuts of Σ exp θ ≤ 1 are added where a solution violates it, and dropped when they have not
been active recently.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np

from arcwise import native
from arcwise.induction.dmv import Vector
from arcwise.induction.global_search.lp import Solution
from arcwise.induction.global_search.problem import InductionTask
from arcwise.induction.global_search.tree_program import RangedRow, TreeProgram

LEAST_THETA = -25.0
"""Lower bound of log-probabilities. Σ exp θ ≤ 1 is relaxed by what this adds, so that no solution is lost."""
_FIRST_TANGENTS = (0.02, 0.1, 0.3, 0.6, 0.95)
_USED = 1e-9
"""Dual value above which a tangent counts as active."""
_MOST_TANGENTS = 8
"""Tangent cuts per distribution; the most recently active are kept."""
_MANY_COLUMNS = 5000
"""Larger programs are solved from scratch: there the last basis costs more than it saves (13 s instead of 1 s
for 200 sentences)."""


@dataclass(frozen=True, eq=False)
class ThetaBox:
    """Ranges of all columns; the search branches on θ and f, and on arcs to make them integral."""

    low: Vector
    high: Vector

    def child(self, column: int, low: float, high: float) -> ThetaBox:
        """The box with one column restricted to low..high."""
        lows, highs = self.low.copy(), self.high.copy()
        lows[column], highs[column] = max(low, lows[column]), min(high, highs[column])
        return ThetaBox(lows, highs)


class ThetaProgram(TreeProgram):
    """The linear program; ``solve`` returns the relaxation of a box."""

    def __init__(self, task: InductionTask) -> None:
        super().__init__(task)
        self.theta = {m: self._column(LEAST_THETA, 0.0) for m in self.used}
        self.z = {m: self._column(-np.inf, 0.0) for m in self.used}
        self.runs = [
            r
            for run in self.features.distributions
            if (r := [m for m in self.used if run.start <= m < run.stop])
        ]
        for run in self.runs:
            points = [float(np.log(p)) for p in _FIRST_TANGENTS] + [-float(np.log(len(run)))]
            self.rows += [self._tangent(run, dict.fromkeys(run, at)) for at in points]
        self.tangents: list[RangedRow] = []
        self._last_used: list[int] = []  # call of solve in which each tangent was last active
        self._calls = 0
        costs = np.zeros(self.count)
        costs[list(self.z.values())] = 1.0
        self._lp.add_columns(costs, lower=self.low, upper=self.high)

    def root(self) -> ThetaBox:
        """The whole space, with count ranges as narrow as the trees of each sentence allow."""
        box = ThetaBox(np.array(self.low), np.array(self.high))
        for m in self.used:
            one = np.zeros(self.features.count)
            one[m] = 1.0
            for sign, ends in ((1.0, box.high), (-1.0, box.low)):
                most = native.dmv_decode_batch(sign * one, self.task.batch, 1)[1]
                ends[self.f[m]] = round(sign * float(most @ [w for _, w in self.task.sentences]))
        return box

    def _tangent(self, run: list[int], at: dict[int, float]) -> RangedRow:
        """Tangent cut Σ exp(t)(θ + 1 − t) ≤ 1 + slack, which underestimates Σ exp θ (18)."""
        row = {self.theta[m]: float(np.exp(at[m])) for m in run}
        limit = 1.0 + len(run) * np.exp(LEAST_THETA) - sum(np.exp(at[m]) * (1.0 - at[m]) for m in run)
        return row, -np.inf, float(limit)

    def envelopes(self, box: ThetaBox) -> list[RangedRow]:
        """z ≤ f_high θ + θ_low f − θ_low f_high and z ≤ f_low θ + θ_high f − θ_high f_low (20, 21)."""
        rows = []
        for m in self.used:
            f, theta, z = self.f[m], self.theta[m], self.z[m]
            for fb, tb in ((box.high[f], box.low[theta]), (box.low[f], box.high[theta])):
                rows.append(({z: 1.0, theta: -float(fb), f: -float(tb)}, -np.inf, float(-tb * fb)))
        return rows

    def solve(
        self,
        box: ThetaBox,
        *,
        extra: list[RangedRow],
        products: int,
        cut_rounds: int,
        time_limit: float | None = None,
    ) -> Solution:
        """Solve the relaxation of a box; ``extra`` rows may use ``products`` more columns.

        Adds tangent cuts where Σ exp θ is too large. At the time limit the solution may lack the last cuts,
        or have status "limit".
        """
        until = math.inf if time_limit is None else time.monotonic() + time_limit
        self._put_fixed_rows()
        columns = np.arange(self.count)
        self._lp.bound_columns(columns, box.low, box.high)
        if self._lp.columns > self.count:
            self._lp.delete_columns(np.arange(self.count, self._lp.columns))
        if products:
            self._lp.add_columns(np.zeros(products), lower=-np.inf)
        of_box = [*self.envelopes(box), *extra]
        kept, fresh = len(self.tangents), self.count > _MANY_COLUMNS
        self._put(of_box)
        solution = self._lp.solve(fresh=fresh, time_limit=time_limit)
        for _ in range(cut_rounds):
            left = until - time.monotonic()
            if solution.status != "optimal" or left <= 0:
                break
            new = self._violated(solution.columns)
            if not new:
                break
            self._put(new)
            self.tangents += new
            better = self._lp.solve(fresh=fresh, time_limit=None if time_limit is None else left)
            if better.status == "limit":
                break
            solution = better
        self._leave_box(kept, len(of_box), solution)
        return solution

    def _leave_box(self, kept: int, of_box: int, solution: Solution) -> None:
        """Delete the rows of the box and, if there are too many, the least recently active tangents."""
        first = len(self.rows)
        box_rows = np.arange(first + kept, first + kept + of_box)
        self._lp.delete_rows(box_rows)
        self._calls += 1
        self._last_used += [self._calls] * (len(self.tangents) - kept)
        if solution.status == "optimal":
            duals = np.delete(solution.duals, box_rows)[first:]
            for i in np.flatnonzero(np.abs(duals) > _USED):
                self._last_used[i] = self._calls
        surplus = len(self.tangents) - _MOST_TANGENTS * len(self.runs)
        if surplus > 0:
            unwanted = np.sort(np.argsort(self._last_used, kind="stable")[:surplus])
            self._lp.delete_rows(first + unwanted)
            for i in unwanted[::-1].tolist():
                del self.tangents[i], self._last_used[i]

    def _violated(self, x: Vector) -> list[RangedRow]:
        new = []
        for run in self.runs:
            at = {m: float(x[self.theta[m]]) for m in run}
            if sum(np.exp(v) for v in at.values()) > 1.0 + len(run) * np.exp(LEAST_THETA) + 1e-9:
                new.append(self._tangent(run, at))
        return new
