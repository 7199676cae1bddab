"""The reformulation-linearization technique (RLT; Sherali & Adams 1990).

It adds linearised products of constraints: (g_i − G_i x)(g_j − G_j x) ≥ 0 holds wherever both constraints do;
the second level multiplies three of them. Products of columns become new columns; those of the objective,
θ_m f_m, are the existing z_m. Coefficients are exact integers until a product is complete.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from arcwise.induction.global_search.safe_bounds import Vector, product_range

if TYPE_CHECKING:
    from arcwise.induction.global_search.theta_program import ThetaBox, ThetaProgram
    from arcwise.induction.global_search.tree_program import Row

FACTOR_SCALE = 2**40
"""Constraints have integer coefficients in units of 1/FACTOR_SCALE."""
ROW, TANGENT, COLUMN = 0, 1, 2
"""Kinds of constraints: of the parses, tangent cuts, ranges of columns."""


def factor(kind: int, number: int, side: int) -> int:
    """The number of a constraint in certificates; ``side`` 0: at least the lower limit, 1: at most the
    upper."""
    return number * 6 + kind * 2 + side


@dataclass(frozen=True, eq=False)
class FactorConstraint:
    """constant + Σ coefficient · column ≥ 0, in units of 1/FACTOR_SCALE."""

    factor: int
    constant: int
    row: dict[int, int]


Monomial = tuple[int, ...]
"""Sorted columns of a product."""


class Products:
    """Columns for products of two or three columns, created on demand."""

    def __init__(self, first: int, theta: dict[int, int], f: dict[int, int], z: dict[int, int]) -> None:
        self._first = first
        self._columns: dict[Monomial, int] = {tuple(sorted((theta[m], f[m]))): z[m] for m in z}
        self.created: list[Monomial] = []

    @property
    def made(self) -> int:
        """Number of new columns."""
        return len(self.created)

    def column(self, monomial: Monomial) -> int:
        """The column of a product."""
        if len(monomial) == 1:
            return monomial[0]
        column = self._columns.get(monomial)
        if column is None:
            column = self._columns[monomial] = self._first + len(self.created)
            self.created.append(monomial)
        return column

    def ranges(self, low: Vector, high: Vector) -> tuple[Vector, Vector]:
        """Ranges of the new columns, from those of their factors."""
        return monomial_ranges(self.created, low, high)


def monomial_ranges(monomials: list[Monomial], low: Vector, high: Vector) -> tuple[Vector, Vector]:
    """Ranges of products of columns, rounded outwards."""
    lows, highs = np.zeros(len(monomials)), np.zeros(len(monomials))
    for size in {len(m) for m in monomials}:
        which = [k for k, m in enumerate(monomials) if len(m) == size]
        columns = np.array([monomials[k] for k in which])
        ranges = low[columns[:, 0]], high[columns[:, 0]]
        for i in range(1, size):
            ranges = product_range(ranges, (low[columns[:, i]], high[columns[:, i]]))
        lows[which], highs[which] = ranges
    return lows, highs


@dataclass(frozen=True, eq=False)
class ProductRow:
    """A linearised product of constraints: ``lower <= row . x``, each number rounded once."""

    factors: tuple[int, ...]
    row: Row
    lower: float


def rlt_rows(
    subset: str,
    program: ThetaProgram,
    box: ThetaBox,
    products: Products,
    random: np.random.Generator,
    *,
    second_level: int = 0,
) -> list[ProductRow]:
    """Rows for a subset of all products of two constraints; see ``ThetaOptions.rlt``.

    second_level: number of products of three constraints, drawn at random, that are added to them.
    """
    if subset == "Max.0k" and not second_level:
        return []
    constraints = box_constraints(program, box)
    count = len(constraints)
    pairs: list[tuple[int, ...]]
    if subset == "Max.0k":
        pairs = []
    elif subset == "All":
        pairs = [(i, j) for i in range(count) for j in range(i, count)]
    elif subset == "Obj.Filter":
        pairs = _touching_objective(program, constraints)
    else:
        pairs = [*sample_pairs(count, 1000 * int(subset[4:-1]), random)]
    if second_level:
        pairs += _sample_triples(program, constraints, second_level, random)
    return [product_row([constraints[i] for i in numbers], products) for numbers in pairs]


def sample_pairs(count: int, wanted: int, random: np.random.Generator) -> list[tuple[int, int]]:
    """Sample distinct pairs i <= j of ``count`` constraints; all of them if there are not enough."""
    whole = count * (count + 1) // 2
    drawn = np.sort(random.choice(whole, min(wanted, whole), replace=False, shuffle=False))
    # Pair number j(j+1)/2 + i is (i, j).
    later = np.searchsorted(np.cumsum(np.arange(1, count + 1)), drawn, side="right")
    return list(zip((drawn - later * (later + 1) // 2).tolist(), later.tolist(), strict=True))


def _sample_triples(
    program: ThetaProgram, constraints: list[FactorConstraint], wanted: int, random: np.random.Generator
) -> list[tuple[int, ...]]:
    """Sample triples: a pair that touches the objective, times any constraint.

    Others would share no column with the objective or with the products of two constraints.
    """
    pairs = _touching_objective(program, constraints)
    drawn: set[tuple[int, ...]] = set()
    # Sampling with replacement: there are millions of triples, and few are drawn twice.
    for pair, third in zip(
        random.integers(len(pairs), size=wanted).tolist(),
        random.integers(len(constraints), size=wanted).tolist(),
        strict=True,
    ):
        drawn.add(tuple(sorted((*pairs[pair], third))))
    return sorted(drawn)


def box_constraints(program: ThetaProgram, box: ThetaBox) -> list[FactorConstraint]:
    """All linear constraints that hold in a box."""
    constraints: list[FactorConstraint] = []
    for number, (row, lower, upper) in enumerate(program.rows):
        scaled = {c: int(v) * FACTOR_SCALE for c, v in row.items()}
        if np.isfinite(lower):
            constraints.append(FactorConstraint(factor(ROW, number, 0), -int(lower) * FACTOR_SCALE, scaled))
        if np.isfinite(upper):
            negative = {c: -v for c, v in scaled.items()}
            constraints.append(FactorConstraint(factor(ROW, number, 1), int(upper) * FACTOR_SCALE, negative))
    constraints += [tangent.constraint for tangent in program.tangents]
    for column in range(program.factor_columns):
        low, high = (int(ends[column] * FACTOR_SCALE) for ends in (box.low, box.high))
        constraints.append(FactorConstraint(factor(COLUMN, column, 0), -low, {column: FACTOR_SCALE}))
        constraints.append(FactorConstraint(factor(COLUMN, column, 1), high, {column: -FACTOR_SCALE}))
    return constraints


def _touching_objective(program: ThetaProgram, constraints: list[FactorConstraint]) -> list[tuple[int, ...]]:
    """Pairs of a constraint on θ_m and one on f_m."""
    pairs: set[tuple[int, ...]] = set()
    for m in program.used:
        with_theta = [i for i, c in enumerate(constraints) if program.theta[m] in c.row]
        with_f = [i for i, c in enumerate(constraints) if program.f[m] in c.row]
        pairs |= {(min(i, j), max(i, j)) for i in with_theta for j in with_f}
    return sorted(pairs)


def product_row(constraints: list[FactorConstraint], products: Products) -> ProductRow:
    """The linearised product of two or three constraints."""
    terms: dict[Monomial, int] = {(): constraints[0].constant}
    terms |= {(column,): value for column, value in constraints[0].row.items()}
    for constraint in constraints[1:]:
        constant, longer = constraint.constant, dict[Monomial, int]()
        for columns, value in terms.items():
            if constant:
                longer[columns] = longer.get(columns, 0) + value * constant
            for column, coefficient in constraint.row.items():
                key = _times(columns, column)
                longer[key] = longer.get(key, 0) + value * coefficient
        terms = longer
    scale = FACTOR_SCALE ** len(constraints)
    constant = terms.pop((), 0)
    # Division of Python integers rounds correctly.
    row = {products.column(columns): value / scale for columns, value in terms.items() if value}
    return ProductRow(tuple(sorted(c.factor for c in constraints)), row, -constant / scale)


def _times(columns: Monomial, column: int) -> Monomial:
    if len(columns) == 1:  # the most frequent case, without a sort
        first = columns[0]
        return (first, column) if first <= column else (column, first)
    return tuple(sorted((*columns, column)))
