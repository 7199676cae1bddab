"""The mathematical program of Gormley & Eisner (2013), relaxed to a linear program over a box of parameters.

Columns: those of the parses (``tree_program``), log-probabilities θ, and z for the products θ_m f_m of the
objective. Rows that hold everywhere are added once. The concave (McCormick) envelopes of the products depend
on the box. Tangent cuts of Σ exp θ ≤ 1 are added where a solution violates it, and dropped when they have not
been active recently.

The solver proposes multipliers; bounds and infeasibility are computed from them by ``safe_bounds``. To make
every row exact, θ is split at multiples of 1/THETA_SCALE and tangents have such coefficients.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from arcwise import native
from arcwise.induction.dmv import Vector
from arcwise.induction.global_search.lp import RETRIES, Attempt, ProgramCounts, Solution
from arcwise.induction.global_search.problem import InductionTask
from arcwise.induction.global_search.rlt import (
    COLUMN,
    FACTOR_SCALE,
    ROW,
    TANGENT,
    FactorConstraint,
    Monomial,
    ProductRow,
    Products,
    factor,
    monomial_ranges,
)
from arcwise.induction.global_search.safe_bounds import (
    MULTIPLIER_SCALE,
    RowTable,
    safe_bound,
    usable_multipliers,
)
from arcwise.induction.global_search.tree_program import RangedRow, TreeProgram

LEAST_THETA = -25.0
"""Lower bound of log-probabilities. Σ exp θ ≤ 1 is relaxed by what this adds, so that no solution is lost."""
THETA_SCALE = 2**30
_FIRST_TANGENTS = (0.02, 0.1, 0.3, 0.6, 0.95)
_USED = 1e-9
"""Dual value above which a tangent counts as active."""
_MOST_TANGENTS = 8
"""Tangent cuts per distribution; the most recently active are kept."""
_MANY_COLUMNS = 5000
"""Larger programs are solved from scratch: there the last basis costs more than it saves (13 s instead of 1 s
for 200 sentences). Programs with RLT rows are too: their rows and columns are new at every node."""
_CLOSE = 1e-6
"""A program counts as solved if its safe bound is within this (relative) of the solver's objective."""


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


@dataclass(frozen=True, eq=False)
class Tangent:
    """A tangent cut Σ a_m θ_m ≤ limit of the distribution ``run``.

    coefficients: a in units of 1/THETA_SCALE, one per used feature. limit: in units of 1/FACTOR_SCALE.
    """

    number: int
    run: int
    coefficients: dict[int, int]
    limit: int
    columns: dict[int, int]

    @property
    def ranged(self) -> RangedRow:
        """The cut as a row; exact."""
        row = {self.columns[m]: a / THETA_SCALE for m, a in self.coefficients.items() if a}
        return row, -np.inf, self.limit / FACTOR_SCALE

    @property
    def constraint(self) -> FactorConstraint:
        """The cut as a factor of products."""
        unit = FACTOR_SCALE // THETA_SCALE
        row = {self.columns[m]: -a * unit for m, a in self.coefficients.items() if a}
        return FactorConstraint(factor(TANGENT, self.number, 1), self.limit, row)


@dataclass(frozen=True, eq=False)
class BoxProof:
    """Multipliers that bound a box: products of constraints, and how often each is added to the objective.

    multipliers: in units of 1/MULTIPLIER_SCALE. empty: they prove that the box has no solution.
    """

    factors: list[tuple[int, ...]]
    multipliers: list[int]
    empty: bool


RelaxationStatus = Literal["solved", "infeasible", "limit", "unsolved"]


@dataclass(frozen=True, eq=False)
class Relaxation:
    """The relaxation of a box.

    status: ``infeasible`` only with a verified ray; ``unsolved`` if every attempt failed. bound: safe, -inf
    for an empty box, +inf if there is none. proof: of the bound. point: a value per column, of any quality
    unless solved.
    """

    status: RelaxationStatus
    bound: float
    point: Vector
    proof: BoxProof | None = None


class ThetaProgram(TreeProgram):
    """The linear program; ``solve`` returns the relaxation of a box."""

    def __init__(self, task: InductionTask) -> None:
        super().__init__(task)
        self.theta = {m: self._column(LEAST_THETA, 0.0) for m in self.used}
        self.factor_columns = self.count
        """Columns before z: those that constraints range over."""
        self.z = {m: self._column(-np.inf, 0.0) for m in self.used}
        self.runs = [
            r
            for run in self.features.distributions
            if (r := [m for m in self.used if run.start <= m < run.stop])
        ]
        self.tangents: list[Tangent] = []
        self.all_tangents: list[Tangent] = []
        """Every tangent ever made, by number: certificates refer to them."""
        for run, members in enumerate(self.runs):
            points = [*_FIRST_TANGENTS, 1 / len(members)]
            self.tangents += [self._tangent(run, dict.fromkeys(members, p)) for p in points]
        self._permanent = len(self.tangents)
        self._last_used: list[int] = []  # call of solve in which each other tangent was last active
        self._calls = 0
        self.counts = ProgramCounts()
        self._costs = np.zeros(self.count)
        self._costs[list(self.z.values())] = 1.0
        self._monomials: list[Monomial] = [(self.theta[m], self.f[m]) for m in self.used]
        self._table = RowTable.of(self.rows)
        self._lp.add_columns(self._costs, lower=self.low, upper=self.high)
        self._lp.tighten_tolerances()
        self._put(self.rows)
        self._put([t.ranged for t in self.tangents])

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

    def new_products(self) -> Products:
        """A fresh set of product columns for RLT rows."""
        return Products(self.count, self.theta, self.f, self.z)

    def _tangent(self, run: int, at: dict[int, float]) -> Tangent:
        """Tangent cut Σ a (θ + 1 − log a) ≤ 1 + slack, which underestimates Σ exp θ (18).

        Any a > 0 is the slope of exp somewhere, so rounding it moves the tangent and keeps it valid.
        """
        coefficients = {m: round(p * THETA_SCALE) for m, p in at.items()}
        limit = 1.0 + len(at) * math.exp(LEAST_THETA)
        for a in coefficients.values():
            if a:
                slope = a / THETA_SCALE
                limit += slope * (math.log(slope) - 1.0)
        # The sum is off by less than one unit for any number of tags; one more rounds it up.
        tangent = Tangent(
            len(self.all_tangents), run, coefficients, math.ceil(limit * FACTOR_SCALE) + 1, self.theta
        )
        self.all_tangents.append(tangent)
        return tangent

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
        extra: list[ProductRow] | None = None,
        products: Products | None = None,
        cut_rounds: int,
        enough: float = -math.inf,
        time_limit: float | None = None,
    ) -> Relaxation:
        """Solve the relaxation of a box; ``extra`` rows may use columns of ``products``.

        Adds tangent cuts where Σ exp θ is too large. A program that the solver fails on is tried in other
        ways, unless the bound is at most ``enough`` already. At the time limit the solution may lack the last
        cuts, or have status "limit".
        """
        extra, products = extra or [], products or self.new_products()
        node = _NodeProgram(self, box, extra, products, enough, time_limit)
        kept = len(self.tangents)
        self._put(node.box_rows)
        relaxation = node.relaxation()
        for _ in range(cut_rounds):
            if relaxation.status != "solved" or relaxation.bound <= enough or node.seconds_left() <= 0:
                break
            new = self._violated(relaxation.point)
            if not new:
                break
            self._put([t.ranged for t in new])
            self.tangents += new
            node.add_tangents(new)
            better = node.relaxation()
            if better.status in ("limit", "unsolved"):
                break
            if better.bound > relaxation.bound:  # by rounding: more rows cannot loosen the relaxation
                better = replace(better, bound=relaxation.bound, proof=relaxation.proof)
            relaxation = better
        self._leave_box(kept, len(node.box_rows), node.duals)
        return relaxation

    def _leave_box(self, kept: int, of_box: int, duals: Vector) -> None:
        """Delete the rows of the box and, if there are too many, the least recently active tangents."""
        first = len(self.rows) + self._permanent
        box_rows = np.arange(len(self.rows) + kept, len(self.rows) + kept + of_box)
        self._lp.delete_rows(box_rows)
        self._calls += 1
        self._last_used += [self._calls] * (len(self.tangents) - kept)
        if len(duals) > len(box_rows):
            active = np.delete(duals, box_rows)[first:]
            for i in np.flatnonzero(np.abs(active) > _USED):
                self._last_used[i] = self._calls
        surplus = len(self._last_used) - _MOST_TANGENTS * len(self.runs)
        if surplus > 0:
            unwanted = np.sort(np.argsort(self._last_used, kind="stable")[:surplus])
            self._lp.delete_rows(first + unwanted)
            for i in unwanted[::-1].tolist():
                del self.tangents[self._permanent + i], self._last_used[i]

    def _violated(self, x: Vector) -> list[Tangent]:
        new = []
        for run, members in enumerate(self.runs):
            at = {m: math.exp(min(float(x[self.theta[m]]), 0.0)) for m in members}
            if sum(at.values()) > 1.0 + len(members) * math.exp(LEAST_THETA) + 1e-9:
                new.append(self._tangent(run, at))
        return new


class _NodeProgram:
    """The program of one box: its rows in the solver's order, and the constraints behind them."""

    def __init__(
        self,
        program: ThetaProgram,
        box: ThetaBox,
        extra: list[ProductRow],
        products: Products,
        enough: float,
        time_limit: float | None,
    ) -> None:
        self.program, self.extra, self.enough = program, extra, enough
        self.until = math.inf if time_limit is None else time.monotonic() + time_limit
        self.limited = time_limit is not None
        self.fresh = program.count > _MANY_COLUMNS or bool(extra)
        self.box_rows = [*program.envelopes(box), *((r.row, r.lower, np.inf) for r in extra)]
        self.tangents = list(program.tangents)
        self.new: list[Tangent] = []
        self.duals = np.zeros(0)
        low, high = box.low.copy(), box.high.copy()
        z = list(program.z.values())
        low[z], high[z] = monomial_ranges(program._monomials, low, high)
        more_low, more_high = products.ranges(low, high)
        self.low, self.high = np.concatenate([low, more_low]), np.concatenate([high, more_high])
        self.costs = np.concatenate([program._costs, np.zeros(products.made)])
        self.tables = [
            program._table,
            RowTable.of([t.ranged for t in self.tangents]),
            RowTable.of(self.box_rows),
        ]
        self.table = RowTable.joined(self.tables)
        lp = program._lp
        lp.bound_columns(np.arange(program.count), low, high)
        if lp.columns > program.count:
            lp.delete_columns(np.arange(program.count, lp.columns))
        if products.made:
            lp.add_columns(np.zeros(products.made), lower=more_low, upper=more_high)

    def seconds_left(self) -> float:
        return self.until - time.monotonic()

    def add_tangents(self, new: list[Tangent]) -> None:
        self.fresh = self.program.count > _MANY_COLUMNS  # the basis of the last round is a good start
        self.new += new
        self.tables.append(RowTable.of([t.ranged for t in new]))
        self.table = RowTable.joined(self.tables)

    def relaxation(self) -> Relaxation:
        """Solve, in other ways if the first fails; return the best bound of all attempts."""
        best = Relaxation("unsolved", math.inf, np.zeros(len(self.costs)))
        counts = self.program.counts
        counts.programs += 1
        for number, attempt in enumerate((Attempt(self.fresh, self.fresh), *RETRIES[int(self.fresh) :])):
            left = self.seconds_left()
            if number and left <= 0:
                best = replace(best, status="limit")
                break
            counts.retried += number == 1
            solution = self.program._lp.attempt(attempt, time_limit=left if self.limited else None)
            best = self._better(best, solution)
            if best.status != "unsolved" or best.bound <= self.enough:
                break
        counts.unsolved += best.status == "unsolved" and best.bound > self.enough
        return best

    def _better(self, best: Relaxation, solution: Solution) -> Relaxation:
        """The best relaxation so far and a new solution, together."""
        point = solution.columns if len(solution.columns) == len(self.costs) else best.point
        if solution.status == "infeasible":
            ray = self._verified_ray()
            if ray is not None:
                return Relaxation("infeasible", -math.inf, point, self._proof(ray, True))
            self.program.counts.unproved_infeasible += 1
        multipliers = usable_multipliers(self.table, solution.duals)
        bound, proof = safe_bound(self.costs, self.table, self.low, self.high, multipliers), best.proof
        status: RelaxationStatus = "limit" if solution.status == "limit" else "unsolved"
        if self._is_solved(solution, bound):
            status = "solved"
        if bound < best.bound:
            proof, self.duals = self._proof(multipliers, False), multipliers
        return Relaxation(status, min(bound, best.bound), point, proof)

    def _is_solved(self, solution: Solution, bound: float) -> bool:
        return solution.status == "optimal" and bound <= solution.value + _CLOSE * max(
            1.0, abs(solution.value)
        )

    def _verified_ray(self) -> Vector | None:
        """The solver's infeasibility ray as multipliers, if it proves the solver's claim."""
        ray = np.nan_to_num(self.program._lp.dual_ray(), posinf=0.0, neginf=0.0)
        size = np.abs(ray).max(initial=0.0)
        if not size > 0.0:
            return None
        nothing = np.zeros(len(self.costs))
        for sign in (-1.0, 1.0):  # HiGHS has changed the sign of rays between releases
            multipliers = usable_multipliers(self.table, sign * ray / size)
            if safe_bound(nothing, self.table, self.low, self.high, multipliers) < 0.0:
                return multipliers
        return None

    def _proof(self, multipliers: Vector, empty: bool) -> BoxProof:
        """The constraints that a certificate needs, with positive multipliers."""
        program = self.program
        first_box = len(program.rows) + len(self.tangents)
        first_extra = first_box + 2 * len(program.used)
        first_new = first_extra + len(self.extra)
        factors: list[tuple[int, ...]] = []
        used = np.flatnonzero(multipliers)
        for r in used.tolist():
            if r < len(program.rows):
                factors.append((factor(ROW, r, int(multipliers[r] > 0)),))
            elif r < first_box:
                factors.append((factor(TANGENT, self.tangents[r - len(program.rows)].number, 1),))
            elif r < first_extra:
                k, second = divmod(r - first_box, 2)
                m = program.used[k]
                theta = factor(COLUMN, program.theta[m], second)
                factors.append(tuple(sorted((theta, factor(COLUMN, program.f[m], 1 - second)))))
            elif r < first_new:
                factors.append(self.extra[r - first_extra].factors)
            else:
                factors.append((factor(TANGENT, self.new[r - first_new].number, 1),))
        sizes = (np.abs(multipliers[used]) * MULTIPLIER_SCALE).astype(np.int64).tolist()
        return BoxProof(factors, sizes, empty)
