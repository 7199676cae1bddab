"""The mathematical program of Gormley & Eisner (2013), relaxed to a linear program over a box of parameters.

Columns: arcs e and flows of every sentence, one "has a child" per word and side, counts f, log-probabilities θ, and z for the products
θ_m f_m of the objective. Rows that hold everywhere (their equations 5–16) are made once; the concave envelopes of the products depend on the
box, and tangent cuts of Σ exp θ ≤ 1 come where a solution violates it; those that bound no recent solution are dropped.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np

from arcwise.induction.dmv import Vector
from arcwise.induction.global_search.lp import LinearProgram, Solution
from arcwise.induction.global_search.problem import Task

LEAST_THETA = -25.0
"""Log-probabilities below this are not told apart. Σ exp θ ≤ 1 is loosened by what that adds, so that no solution is lost."""
_FIRST_TANGENTS = (0.02, 0.1, 0.3, 0.6, 0.95)
_USED = 1e-9
_MOST_TANGENTS = 8
"""Per distribution, of those that solutions asked for; the ones used last are kept."""

Row = dict[int, float]
RangedRow = tuple[Row, float, float]


@dataclass(frozen=True, eq=False)
class ThetaBox:
    """Ranges of all columns: those of θ and f are what the search splits (and arcs, to make them whole)."""

    low: Vector
    high: Vector

    def child(self, column: int, low: float, high: float) -> ThetaBox:
        """The box with the range of one column cut to low..high."""
        lows, highs = self.low.copy(), self.high.copy()
        lows[column], highs[column] = max(low, lows[column]), min(high, highs[column])
        return ThetaBox(lows, highs)


class ThetaProgram:
    """The linear program; ``solve`` gives the relaxation of a box."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.features = task.features
        self.count = 0
        self.rows: list[RangedRow] = []
        self.low: list[float] = []
        self.high: list[float] = []
        self.arcs: list[dict[tuple[int, int], int]] = []
        self._sums: list[Row] = [{} for _ in range(self.features.count)]
        self._constants = np.zeros(self.features.count)
        for tags, weight in task.sentences:
            self._add_sentence(tags, float(weight))
        self.used = [m for m in range(self.features.count) if self._sums[m] or self._constants[m]]
        most = float(task.corpus.words)
        self.f = {m: self._column(0.0, most) for m in self.used}
        self.theta = {m: self._column(LEAST_THETA, 0.0) for m in self.used}
        self.z = {m: self._column(-np.inf, 0.0) for m in self.used}
        for m in self.used:
            self.rows.append(({**self._sums[m], self.f[m]: -1.0}, -self._constants[m], -self._constants[m]))
        if task.constraint is not None:
            marked = {self.f[m]: 1.0 for m in self.used if task.marked[m]}
            self.rows.append((marked, float(task.least), np.inf))
        self.runs = [
            r
            for run in self.features.distributions
            if (r := [m for m in self.used if run.start <= m < run.stop])
        ]
        for run in self.runs:
            points = [float(np.log(p)) for p in _FIRST_TANGENTS] + [-float(np.log(len(run)))]
            self.rows += [self._tangent(run, dict.fromkeys(run, at)) for at in points]
        self.tangents: list[RangedRow] = []
        self._last_used: list[int] = []  # the call of solve in which each tangent last bounded a solution
        self._calls = 0
        self._lp = LinearProgram()
        costs = np.zeros(self.count)
        costs[list(self.z.values())] = 1.0
        self._lp.add_columns(costs, lower=self.low, upper=self.high)

    def root(self) -> ThetaBox:
        """The whole space, with the ranges of the counts made as narrow as the rows make them."""
        box = ThetaBox(np.array(self.low), np.array(self.high))
        self._lp.bound_columns(np.arange(self.count), box.low, box.high)
        for m in self.used:
            for sign in (1.0, -1.0):
                found = self._extreme(self.f[m], sign)
                if sign > 0:
                    box.high[self.f[m]] = np.floor(found + 1e-6)
                else:
                    box.low[self.f[m]] = np.ceil(found - 1e-6)
        return box

    def _extreme(self, column: int, sign: float) -> float:
        self._put_fixed_rows()
        costs = np.zeros(self.count)
        costs[column] = sign
        self._lp.price_columns(np.arange(self.count), costs)
        found = self._lp.solve().columns[column]
        costs[:] = 0.0
        costs[list(self.z.values())] = 1.0
        self._lp.price_columns(np.arange(self.count), costs)
        return float(found)

    # ---- columns and rows

    def _column(self, low: float, high: float) -> int:
        self.low.append(low)
        self.high.append(high)
        self.count += 1
        return self.count - 1

    def _add_sentence(self, tags: tuple[int, ...], weight: float) -> None:
        n = len(tags)
        arcs = {(i, j): self._column(0.0, 1.0) for i in range(n + 1) for j in range(1, n + 1) if i != j}
        flow = {arc: self._column(0.0, float(n)) for arc in arcs}
        self.arcs.append(arcs)
        self.rows.append(({arcs[0, j]: 1.0 for j in range(1, n + 1)}, 1.0, 1.0))  # one root
        self.rows.append(({flow[0, j]: 1.0 for j in range(1, n + 1)}, n, n))  # (5)
        for j in range(1, n + 1):
            self.rows.append(({arcs[i, j]: 1.0 for i in range(n + 1) if i != j}, 1.0, 1.0))
            into = {flow[i, j]: 1.0 for i in range(n + 1) if i != j}
            self.rows.append(
                ({**into, **{flow[j, k]: -1.0 for k in range(1, n + 1) if k != j}}, 1.0, 1.0)
            )  # (6)
        for arc, column in arcs.items():
            self.rows.append(({flow[arc]: 1.0, column: -float(n)}, -np.inf, 0.0))  # (7)
            left, right = min(arc), max(arc)
            crossing = [
                c
                for (k, m), c in arcs.items()
                if (left < min(k, m) < right < max(k, m)) or (min(k, m) < left < max(k, m) < right)
            ]
            if crossing:
                self.rows.append(
                    ({**dict.fromkeys(crossing, 1.0), column: float(n)}, -np.inf, float(n))
                )  # (9)
        self._count_sentence(tags, weight, arcs)

    def _count_sentence(self, tags: tuple[int, ...], weight: float, arcs: dict[tuple[int, int], int]) -> None:
        features, n = self.features, len(tags)
        for (i, j), column in arcs.items():  # (10), (11)
            m = tags[j - 1] if i == 0 else features.child(int(j > i), tags[i - 1], tags[j - 1])
            self._sums[m][column] = weight
        for i in range(1, n + 1):
            for side, others in ((0, range(1, i)), (1, range(i + 1, n + 1))):
                first, later = (features.decision(side, tags[i - 1], k, 0) for k in (0, 1))
                self._constants[first] += weight  # dec.0.stop = 1 - dec.0.cont  (14)
                children = {arcs[i, j]: 1.0 for j in others}
                if not children:
                    continue
                some = self._column(0.0, 1.0)
                self.rows.append(({**children, some: -float(n)}, -np.inf, 0.0))  # (13)
                self.rows.append(({**children, some: -1.0}, 0.0, np.inf))  # (16) is not negative
                self._sums[first][some] = -weight
                self._sums[first + 1][some] = weight
                self._sums[later][some] = weight  # (15)
                self._sums[later + 1].update({**dict.fromkeys(children, weight), some: -weight})  # (16)

    def _tangent(self, run: list[int], at: dict[int, float]) -> RangedRow:
        """Σ exp(t)(θ + 1 − t) ≤ 1 + slack: below Σ exp θ everywhere (18)."""
        row = {self.theta[m]: float(np.exp(at[m])) for m in run}
        limit = 1.0 + len(run) * np.exp(LEAST_THETA) - sum(np.exp(at[m]) * (1.0 - at[m]) for m in run)
        return row, -np.inf, float(limit)

    # ---- solving

    def _put_fixed_rows(self) -> None:
        """The rows that hold everywhere, the first time."""
        self._put(self.rows[self._lp.rows :])

    def _put(self, rows: list[RangedRow]) -> None:
        if not rows:
            return
        starts = np.concatenate([[0], np.cumsum([len(r) for r, _, _ in rows])])
        columns = [c for r, _, _ in rows for c in r]
        values = [v for r, _, _ in rows for v in r.values()]
        self._lp.add_rows(
            [a for _, a, _ in rows], [b for _, _, b in rows], starts=starts, columns=columns, values=values
        )

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
        """The relaxation of a box; ``extra`` rows may use ``products`` more columns. Tangents are added where Σ exp θ is too large.

        After ``time_limit`` seconds the solution may be one without the last tangents, or of status "limit".
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
        kept = len(self.tangents)
        self._put(of_box)
        found = self._lp.solve(time_limit=time_limit)
        for _ in range(cut_rounds):
            left = until - time.monotonic()
            if found.status != "optimal" or left <= 0:
                break
            new = self._violated(found.columns)
            if not new:
                break
            self._put(new)
            self.tangents += new
            better = self._lp.solve(time_limit=None if time_limit is None else left)
            if better.status == "limit":
                break
            found = better
        self._leave_box(kept, len(of_box), found)
        return found

    def _leave_box(self, kept: int, of_box: int, found: Solution) -> None:
        """Delete the rows of the box, and the tangents that have not been used for longest if there are too many."""
        first = len(self.rows)
        box_rows = np.arange(first + kept, first + kept + of_box)
        self._lp.delete_rows(box_rows)
        self._calls += 1
        self._last_used += [self._calls] * (len(self.tangents) - kept)
        if found.status == "optimal":
            duals = np.delete(found.duals, box_rows)[first:]
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
