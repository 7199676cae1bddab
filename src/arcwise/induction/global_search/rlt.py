"""The reformulation-linearization technique (RLT; Sherali & Adams 1990).

It adds linearised products of pairs of constraints:

(g_i − G_i x)(g_j − G_j x) ≥ 0 holds wherever both constraints do. Products of two columns become new columns;
those of the objective, θ_m f_m, are the existing z_m.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from arcwise.induction.global_search.theta_program import ThetaBox, ThetaProgram
    from arcwise.induction.global_search.tree_program import Row

Constraint = tuple[float, dict[int, float]]
"""constant + Σ coefficient · column ≥ 0."""


class Products:
    """Columns for products of two columns, created on demand."""

    def __init__(self, first: int, theta: dict[int, int], f: dict[int, int], z: dict[int, int]) -> None:
        self._first = first
        self._columns = {tuple(sorted((theta[m], f[m]))): z[m] for m in z}
        self.made = 0

    def column(self, a: int, b: int) -> int:
        """The column of a·b."""
        key = (a, b) if a <= b else (b, a)
        if key not in self._columns:
            self._columns[key] = self._first + self.made
            self.made += 1
        return self._columns[key]


def rlt_rows(
    subset: str, program: ThetaProgram, box: ThetaBox, products: Products, random: np.random.Generator
) -> list[tuple[Row, float, float]]:
    """Rows for a subset of all products; see ``ThetaOptions.rlt``."""
    if subset == "Max.0k":
        return []
    constraints = _constraints(program, box)
    count = len(constraints)
    if subset in ("Obj.Filter", "All"):
        pairs = [(i, j) for i in range(count) for j in range(i, count)]
        if subset == "Obj.Filter":
            pairs = _touching_objective(program, constraints)
    else:
        pairs = sample_pairs(count, 1000 * int(subset[4:-1]), random)
    return [_product(constraints[i], constraints[j], products) for i, j in pairs]


def sample_pairs(count: int, wanted: int, random: np.random.Generator) -> list[tuple[int, int]]:
    """Sample distinct pairs i <= j of ``count`` constraints; all of them if there are not enough."""
    whole = count * (count + 1) // 2
    drawn = np.sort(random.choice(whole, min(wanted, whole), replace=False, shuffle=False))
    # Pair number j(j+1)/2 + i is (i, j).
    later = np.searchsorted(np.cumsum(np.arange(1, count + 1)), drawn, side="right")
    return list(zip((drawn - later * (later + 1) // 2).tolist(), later.tolist(), strict=True))


def _constraints(program: ThetaProgram, box: ThetaBox) -> list[Constraint]:
    constraints: list[Constraint] = []
    for row, lower, upper in (*program.rows, *program.tangents):
        if np.isfinite(lower):
            constraints.append((-lower, dict(row)))
        if np.isfinite(upper):
            constraints.append((upper, {c: -v for c, v in row.items()}))
    for column in range(program.count):
        if np.isfinite(box.low[column]):
            constraints.append((-float(box.low[column]), {column: 1.0}))
        if np.isfinite(box.high[column]):
            constraints.append((float(box.high[column]), {column: -1.0}))
    return constraints


def _touching_objective(program: ThetaProgram, constraints: list[Constraint]) -> list[tuple[int, int]]:
    """Pairs of a constraint on θ_m and one on f_m."""
    pairs: set[tuple[int, int]] = set()
    for m in program.used:
        with_theta = [i for i, (_, row) in enumerate(constraints) if program.theta[m] in row]
        with_f = [i for i, (_, row) in enumerate(constraints) if program.f[m] in row]
        pairs |= {(min(i, j), max(i, j)) for i in with_theta for j in with_f}
    return sorted(pairs)


def _product(a: Constraint, b: Constraint, products: Products) -> tuple[Row, float, float]:
    row: Row = {}
    for constant, (_, other) in ((a[0], b), (b[0], a)):
        for column, value in other.items():
            row[column] = row.get(column, 0.0) + constant * value
    for i, u in a[1].items():
        for j, v in b[1].items():
            column = products.column(i, j)
            row[column] = row.get(column, 0.0) + u * v
    return row, -a[0] * b[0], np.inf
