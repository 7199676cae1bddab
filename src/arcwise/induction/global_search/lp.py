"""Linear and integer programs: the only interface to HiGHS (the optional library highspy)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from arcwise.optional import require

Vector = npt.NDArray[np.float64]

Status = Literal["optimal", "infeasible", "unbounded", "limit", "failed"]
"""``limit``: stopped by a limit. ``failed``: the solver gave up, as on numerical trouble."""

Algorithm = Literal["dual", "primal", "interior"]
RAY_SECONDS = 10.0
"""Seconds that the solver may look for a ray of infeasibility."""


@dataclass(frozen=True)
class Attempt:
    """Solver settings; ``fresh``: start without a basis."""

    fresh: bool = False
    presolve: bool = False
    algorithm: Algorithm = "dual"
    scaling: bool = True


RETRIES = (
    Attempt(fresh=True, presolve=True),
    Attempt(fresh=True),
    Attempt(fresh=True, presolve=True, algorithm="primal"),
    Attempt(fresh=True, scaling=False),
    Attempt(fresh=True, presolve=True, algorithm="interior"),
)
"""Further attempts at a program that was not solved, the most likely to succeed first."""


@dataclass(frozen=True, eq=False)
class Solution:
    """Objective ``value``, a value per column, a dual value per row (empty for integer programs)."""

    status: Status
    value: float
    columns: Vector
    duals: Vector
    bound: float


@dataclass
class ProgramCounts:
    """Statistics of the linear programs of a search.

    retried: those that the first attempt did not solve. unsolved: those that no attempt solved; their boxes
    keep the best bound that any multipliers gave. unproved_infeasible: attempts that ended with the claim
    that a box is empty, without a ray that proves it; the claim is ignored.
    """

    programs: int = 0
    retried: int = 0
    unsolved: int = 0
    unproved_infeasible: int = 0

    def __str__(self) -> str:
        return (
            f"{self.programs} linear programs: {self.retried} retried, {self.unsolved} unsolved, "
            f"{self.unproved_infeasible} claims of infeasibility without proof"
        )


def _highs() -> Any:
    require("highspy")
    import highspy

    make: Any = highspy.Highs
    solver = make()
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("threads", 1)
    return solver


class LinearProgram:
    """Maximises ``costs . x`` subject to ranged rows.

    Columns and rows can be added between solves; the last basis is kept.

    >>> lp = LinearProgram()
    >>> lp.add_rows([1.0], [1.0])
    >>> lp.add_columns([2.0, 3.0], starts=[0, 1, 2], rows=[0, 0], values=[1.0, 1.0])
    >>> lp.solve().value
    3.0
    """

    def __init__(self, *, seed: int = 0) -> None:
        self._solver = _highs()
        self._solver.setOptionValue("random_seed", seed)
        self._solver.changeObjectiveSense(_maximise())
        self.columns = 0
        self.rows = 0

    def add_rows(
        self,
        lower: Any,
        upper: Any,
        *,
        starts: Any = None,
        columns: Any = (),
        values: Any = (),
    ) -> None:
        """Add rows ``lower <= a.x <= upper``.

        Row r has entries ``starts[r] .. starts[r+1]-1``, none without ``starts``.
        """
        count = len(lower)
        first = np.zeros(count, np.int32) if starts is None else np.asarray(starts, np.int32)[:count]
        status = self._solver.addRows(
            count,
            np.asarray(lower, float),
            np.asarray(upper, float),
            len(columns),
            first,
            np.asarray(columns, np.int32),
            np.asarray(values, float),
        )
        _check(status, "rows")
        self.rows += count

    def add_columns(
        self,
        costs: Any,
        *,
        starts: Any = None,
        rows: Any = (),
        values: Any = (),
        lower: Any = 0.0,
        upper: Any = np.inf,
    ) -> None:
        """Add columns ``lower <= x <= upper`` with their entries in existing rows."""
        count = len(costs)
        first = np.zeros(count, np.int32) if starts is None else np.asarray(starts, np.int32)[:count]
        status = self._solver.addCols(
            count,
            np.asarray(costs, float),
            np.full(count, lower, float) if np.isscalar(lower) else np.asarray(lower, float),
            np.full(count, upper, float) if np.isscalar(upper) else np.asarray(upper, float),
            len(rows),
            first,
            np.asarray(rows, np.int32),
            np.asarray(values, float),
        )
        _check(status, "columns")
        self.columns += count

    def bound_columns(self, which: Any, lower: Any, upper: Any) -> None:
        """Change the bounds of some columns."""
        self._solver.changeColsBounds(
            len(which), np.asarray(which, np.int32), np.asarray(lower, float), np.asarray(upper, float)
        )

    def price_columns(self, which: Any, costs: Any) -> None:
        """Change the costs of some columns."""
        self._solver.changeColsCost(len(which), np.asarray(which, np.int32), np.asarray(costs, float))

    def delete_columns(self, which: Any) -> None:
        """Remove columns; later ones are renumbered."""
        self._solver.deleteCols(len(which), np.asarray(which, np.int32))
        self.columns -= len(which)

    def delete_rows(self, which: Any) -> None:
        """Remove rows; later ones are renumbered."""
        self._solver.deleteRows(len(which), np.asarray(which, np.int32))
        self.rows -= len(which)

    def make_integer(self, which: Any) -> None:
        """Declare columns as integer."""
        kinds = np.full(len(which), 1, np.uint8)
        self._solver.changeColsIntegrality(len(which), np.asarray(which, np.int32), kinds)

    def solve(
        self,
        *,
        primal: bool = False,
        fresh: bool = False,
        time_limit: float | None = None,
        relative_gap: float | None = None,
    ) -> Solution:
        """Solve by dual or (``primal``) primal simplex, from the last basis.

        ``fresh``: from no basis, which enables presolve. A program that the solver gives up on is solved once
        more from scratch.
        """
        algorithm: Algorithm = "primal" if primal else "dual"
        solution = self.attempt(
            Attempt(fresh, fresh, algorithm), time_limit=time_limit, relative_gap=relative_gap
        )
        if solution.status == "failed" and time_limit is None:
            solution = self.attempt(Attempt(True, False, algorithm), relative_gap=relative_gap)
        return solution

    def attempt(
        self, attempt: Attempt, *, time_limit: float | None = None, relative_gap: float | None = None
    ) -> Solution:
        """Solve once, in one way."""
        solver = self._solver
        if attempt.fresh:
            solver.clearSolver()
        # Presolve would discard the basis.
        solver.setOptionValue("presolve", "on" if attempt.presolve and attempt.fresh else "off")
        solver.setOptionValue("solver", "ipm" if attempt.algorithm == "interior" else "choose")
        # Codes of HiGHS: 4 primal, 1 dual simplex; scaling 0 off, 1 chosen by the solver.
        solver.setOptionValue("simplex_strategy", 4 if attempt.algorithm == "primal" else 1)
        solver.setOptionValue("simplex_scale_strategy", 1 if attempt.scaling else 0)
        # HiGHS counts time over all runs of a solver.
        until = np.inf if time_limit is None else solver.getRunTime() + max(time_limit, 0.0)
        solver.setOptionValue("time_limit", until)
        if relative_gap is not None:
            solver.setOptionValue("mip_rel_gap", relative_gap)
        solver.run()
        point, info = solver.getSolution(), solver.getInfo()
        return Solution(
            _status(solver),
            float(info.objective_function_value),
            np.array(point.col_value, float),
            np.array(point.row_dual, float),
            float(info.mip_dual_bound),
        )

    def tighten_tolerances(self) -> None:
        """Ask for the most accurate solutions that the solver offers."""
        for name in ("primal_feasibility_tolerance", "dual_feasibility_tolerance"):
            self._solver.setOptionValue(name, 1e-10)

    def dual_ray(self) -> Vector:
        """The ray by which the solver calls the program infeasible, to be checked; empty if it has none."""
        # If HiGHS has no ray, it solves the program again, and that solve does not always end.
        self._solver.setOptionValue("time_limit", self._solver.getRunTime() + RAY_SECONDS)
        *_, exists, ray = self._solver.getDualRay()
        return np.array(ray, float) if exists else np.zeros(0)


def _check(status: Any, kind: str) -> None:
    if str(status).endswith("kError"):
        raise ValueError(f"HiGHS rejects these {kind}: an entry is given twice or out of range")


def _maximise() -> Any:
    import highspy

    return highspy.ObjSense.kMaximize


def _status(solver: Any) -> Status:
    import highspy

    status = solver.getModelStatus()
    statuses: dict[Any, Status] = {
        highspy.HighsModelStatus.kOptimal: "optimal",
        highspy.HighsModelStatus.kInfeasible: "infeasible",
        highspy.HighsModelStatus.kUnbounded: "unbounded",
        highspy.HighsModelStatus.kUnboundedOrInfeasible: "infeasible",
        highspy.HighsModelStatus.kTimeLimit: "limit",
        highspy.HighsModelStatus.kIterationLimit: "limit",
        highspy.HighsModelStatus.kSolutionLimit: "limit",
        highspy.HighsModelStatus.kInterrupt: "limit",
    }
    return statuses.get(status, "failed")
