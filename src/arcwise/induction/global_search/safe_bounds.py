"""Upper bounds of linear programs that hold whatever a floating-point solver returns.

For any multipliers y, max c·x over lower ≤ A x ≤ upper, low ≤ x ≤ high is at most
Σ_r max(y_r·lower_r, y_r·upper_r) + Σ_j max(d_j·low_j, d_j·high_j) with d = c − Aᵀy. A solver's dual values
make this bound nearly tight; multipliers that are wrong only loosen it (Neumaier & Shcherbina 2004; Jansson
2004). Every sum here is enclosed by an a-priori error bound, which is added to the result.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]

MULTIPLIER_SCALE = 2**40
"""Multipliers are integers in units of 1/MULTIPLIER_SCALE, so that certificates hold them exactly."""
LARGEST_MULTIPLIER = 2.0**20
"""Larger ones are cut off: certificates hold integers below 2**61. Doubles above 2**12 are on the grid
anyway."""
_ULP = 2.0**-52
"""Twice the unit roundoff: covers products of rounding errors and the rounding of the error bounds."""


@dataclass(frozen=True, eq=False)
class RowTable:
    """Rows ``lower <= A x <= upper`` as (row, column, value) triples.

    Values and finite limits may each be off by one rounding (a relative error of 2**-53).
    """

    rows: npt.NDArray[np.int64]
    columns: npt.NDArray[np.int64]
    values: Vector
    lower: Vector
    upper: Vector

    @classmethod
    def of(cls, ranged: Iterable[tuple[dict[int, float], float, float]]) -> RowTable:
        """Build the table from (entries, lower, upper)."""
        ranged = list(ranged)
        sizes = [len(row) for row, _, _ in ranged]
        return cls(
            np.repeat(np.arange(len(ranged)), sizes),
            np.array([c for row, _, _ in ranged for c in row], np.int64),
            np.array([v for row, _, _ in ranged for v in row.values()], np.float64),
            np.array([low for _, low, _ in ranged], np.float64),
            np.array([high for _, _, high in ranged], np.float64),
        )

    @classmethod
    def joined(cls, tables: list[RowTable]) -> RowTable:
        """The rows of several tables, in sequence."""
        firsts = np.cumsum([0, *(len(t.lower) for t in tables)])
        return cls(
            np.concatenate([t.rows + first for t, first in zip(tables, firsts, strict=False)]),
            np.concatenate([t.columns for t in tables]),
            np.concatenate([t.values for t in tables]),
            np.concatenate([t.lower for t in tables]),
            np.concatenate([t.upper for t in tables]),
        )


def usable_multipliers(table: RowTable, duals: Vector) -> Vector:
    """Project dual values of any quality onto valid multipliers, rounded to the grid of certificates.

    A multiplier may be positive where the row has an upper limit and negative where it has a lower one.
    """
    y = np.zeros(len(table.lower))
    size = min(len(y), len(duals))
    y[:size] = np.nan_to_num(duals[:size], nan=0.0, posinf=0.0, neginf=0.0)
    y = np.clip(y, -LARGEST_MULTIPLIER, LARGEST_MULTIPLIER)
    y = np.round(y * MULTIPLIER_SCALE) / MULTIPLIER_SCALE
    y[(y > 0) & ~np.isfinite(table.upper)] = 0.0
    y[(y < 0) & ~np.isfinite(table.lower)] = 0.0
    return y


def safe_bound(costs: Vector, table: RowTable, low: Vector, high: Vector, multipliers: Vector) -> float:
    """Upper bound of ``costs . x`` under the rows, rounded up.

    multipliers: from ``usable_multipliers``. Infinite if a column that is unbounded, or a limit that is, has
    a residual that is not certainly zero. With costs of zero, a negative bound proves that no x satisfies the
    rows (the multipliers are then a Farkas ray).

    >>> table = RowTable.of([({0: 1.0, 1: 1.0}, -np.inf, 1.0)])
    >>> bound = safe_bound(np.ones(2), table, np.zeros(2), np.full(2, 5.0), np.array([1.0]))
    >>> 1.0 <= bound < 1.0 + 1e-12
    True
    """
    n = len(costs)
    terms = table.values * multipliers[table.rows]
    residual = costs - np.bincount(table.columns, terms, n)
    size = np.abs(costs) + np.bincount(table.columns, np.abs(terms), n)
    # Per column: one rounding of each entry, one of its product, one of each addition.
    steps = np.bincount(table.columns, minlength=n) + 4
    error = np.where(size > 0, steps * _ULP * size + 1e-300, 0.0)
    with np.errstate(invalid="ignore"):
        up, down = (residual + error) * high, (residual - error) * low
        up_low, down_high = (residual + error) * low, (residual - error) * high
        # A column without any entry has the residual 0, which 0 · ∞ would spoil.
        parts = np.where(size > 0, np.maximum.reduce([up, down, up_low, down_high]), 0.0)
        sides = np.where(multipliers > 0, table.upper, table.lower)
        owed = np.where(multipliers != 0, multipliers * sides, 0.0)
    if not (np.isfinite(parts).all() and np.isfinite(owed).all()):
        return math.inf
    total = math.fsum([*parts.tolist(), *owed.tolist()])
    # Two roundings of each part (its factor, its product), one of each limit and product, one of the sum.
    slack = 4 * _ULP * (float(np.abs(parts).sum()) + float(np.abs(owed).sum())) + 1e-300
    return math.nextafter(total + slack, math.inf)


def outward(low: Vector, high: Vector) -> tuple[Vector, Vector]:
    """Widen ranges by one rounding on both sides."""
    return np.nextafter(low, -np.inf), np.nextafter(high, np.inf)


def product_range(a: tuple[Vector, Vector], b: tuple[Vector, Vector]) -> tuple[Vector, Vector]:
    """Ranges of products of values in two ranges, rounded outwards."""
    ends = [x * y for x in a for y in b]
    return outward(np.minimum.reduce(ends), np.maximum.reduce(ends))
