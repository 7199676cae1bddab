"""Bounds from multipliers hold whatever the solver returns, and are tight where it solved the program."""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arcwise.induction.global_search.lp import RETRIES, Attempt, LinearProgram
from arcwise.induction.global_search.safe_bounds import (
    RowTable,
    product_range,
    safe_bound,
    usable_multipliers,
)

Program = tuple[list[tuple[dict[int, float], float, float]], np.ndarray, np.ndarray, np.ndarray]


def random_program(seed: int, *, columns: int = 3, rows: int = 3) -> Program:
    """A small program with entries that no binary fraction of few bits represents."""
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(rows, columns)) * 10.0 ** rng.integers(-3, 4, (rows, 1))
    inside = rng.uniform(-2, 2, columns)
    slack = np.abs(rng.normal(size=rows)) * np.abs(matrix).sum(axis=1)
    ranged = []
    for a, s in zip(matrix, slack, strict=True):
        kind = rng.integers(3)
        middle = float(a @ inside)
        lower = middle - s if kind != 0 else -np.inf
        upper = middle + s if kind != 1 else np.inf
        ranged.append((dict(enumerate(a.tolist())), lower, upper))
    low = inside - rng.uniform(0, 2, columns)
    high = inside + rng.uniform(0, 2, columns)
    return ranged, rng.normal(size=columns), low, high


def exact_optimum(program: Program) -> Fraction | None:
    """The largest objective of any vertex, in fractions; None if there is none."""
    ranged, costs, low, high = program
    n = len(costs)
    planes: list[tuple[list[Fraction], Fraction]] = []
    limits: list[tuple[list[Fraction], Fraction | None, Fraction | None]] = []
    for j in range(n):
        unit = [Fraction(int(k == j)) for k in range(n)]
        limits.append((unit, Fraction(low[j]), Fraction(high[j])))
    for row, lower, upper in ranged:
        a = [Fraction(row.get(k, 0.0)) for k in range(n)]
        limits.append(
            (
                a,
                Fraction(lower) if math.isfinite(lower) else None,
                Fraction(upper) if math.isfinite(upper) else None,
            )
        )
    for a, lower, upper in limits:
        planes += [(a, side) for side in (lower, upper) if side is not None]
    best = None
    for chosen in combinations(planes, n):
        x = solved([a for a, _ in chosen], [b for _, b in chosen])
        if x is None:
            continue
        values = [sum((p * q for p, q in zip(a, x, strict=True)), Fraction()) for a, _, _ in limits]
        if all(
            (lower is None or lower <= v) and (upper is None or v <= upper)
            for v, (_, lower, upper) in zip(values, limits, strict=True)
        ):
            value = sum((Fraction(c) * v for c, v in zip(costs, x, strict=True)), Fraction())
            best = value if best is None else max(best, value)
    return best


def solved(matrix: list[list[Fraction]], right: list[Fraction]) -> list[Fraction] | None:
    """The solution of a square system in fractions; None if it is singular."""
    n = len(matrix)
    table = [[*row, b] for row, b in zip(matrix, right, strict=True)]
    for k in range(n):
        pivot = next((r for r in range(k, n) if table[r][k]), None)
        if pivot is None:
            return None
        table[k], table[pivot] = table[pivot], table[k]
        table[k] = [v / table[k][k] for v in table[k]]
        for r in range(n):
            if r != k and table[r][k]:
                table[r] = [v - table[r][k] * w for v, w in zip(table[r], table[k], strict=True)]
    return [row[n] for row in table]


def linear_program(program: Program) -> LinearProgram:
    ranged, costs, low, high = program
    lp = LinearProgram()
    lp.tighten_tolerances()
    lp.add_columns(costs, lower=low, upper=high)
    starts = np.concatenate([[0], np.cumsum([len(r) for r, _, _ in ranged])])
    lp.add_rows(
        [a for _, a, _ in ranged],
        [b for _, _, b in ranged],
        starts=starts,
        columns=[c for r, _, _ in ranged for c in r],
        values=[v for r, _, _ in ranged for v in r.values()],
    )
    return lp


def bound_of(program: Program, duals: np.ndarray) -> float:
    ranged, costs, low, high = program
    table = RowTable.of(ranged)
    return safe_bound(costs, table, low, high, usable_multipliers(table, duals))


@pytest.mark.parametrize("seed", range(60))
def test_bounds_of_solved_programs_are_safe_and_tight(seed: int) -> None:
    program = random_program(seed)
    best = exact_optimum(program)
    assert best is not None
    lp, bounds = linear_program(program), []
    for attempt in (Attempt(), *RETRIES):
        solution = lp.attempt(attempt)
        bound = bound_of(program, solution.duals)
        assert Fraction(bound) >= best
        if solution.status == "optimal":
            bounds.append(bound)
            assert bound <= float(best) + 1e-6
    assert bounds  # one of the attempts solves it


@pytest.mark.parametrize("seed", range(60))
def test_wrong_multipliers_give_valid_bounds(seed: int) -> None:
    program, rng = random_program(seed), np.random.default_rng(seed)
    best = exact_optimum(program)
    assert best is not None
    duals = linear_program(program).attempt(Attempt()).duals
    rows = len(duals)
    for wrong in (
        -duals,
        np.zeros(0),
        np.full(rows, np.nan),
        np.full(rows, np.inf),
        duals + rng.normal(size=rows) * 1e-9,
        duals + rng.normal(size=rows),
        rng.normal(size=rows) * 1e8,
        np.where(rng.random(rows) < 0.5, duals, -np.inf),
    ):
        assert Fraction(bound_of(program, wrong)) >= best


@pytest.mark.parametrize("seed", range(40))
def test_a_bound_is_the_exact_one_or_just_above(seed: int) -> None:
    """The formula in fractions, for random multipliers: rounding only raises it, by very little."""
    ranged, costs, low, high = random_program(seed, columns=6, rows=5)
    table = RowTable.of(ranged)
    y = usable_multipliers(table, np.random.default_rng(seed).normal(size=5))
    exact = Fraction()
    residual = [Fraction(c) for c in costs]
    for (row, lower, upper), m in zip(ranged, y.tolist(), strict=True):
        if m:
            exact += Fraction(m) * Fraction(upper if m > 0 else lower)
        for column, value in row.items():
            residual[column] -= Fraction(m) * Fraction(value)
    for d, a, b in zip(residual, low, high, strict=True):
        exact += max(d * Fraction(a), d * Fraction(b))
    bound = Fraction(safe_bound(costs, table, low, high, y))
    size = sum(abs(v) * 4 for row, _, _ in ranged for v in row.values())
    assert 0 <= bound - exact <= 1e-12 * (1 + size)


def test_empty_boxes_need_a_ray_that_proves_it() -> None:
    rows = [({0: 1.0, 1: 1.0}, -np.inf, 1.0), ({0: 1.0, 1: 1.0}, 1.5, np.inf)]
    program = rows, np.ones(2), np.zeros(2), np.full(2, 5.0)
    lp = linear_program(program)
    assert lp.attempt(Attempt()).status == "infeasible"
    table, nothing = RowTable.of(rows), np.zeros(2)
    ray = -lp.dual_ray()
    assert safe_bound(nothing, table, *program[2:], usable_multipliers(table, ray)) < 0
    for wrong in (-ray, np.array([1.0, 0.0]), np.array([0.9, -0.1]), np.zeros(2)):
        assert safe_bound(nothing, table, *program[2:], usable_multipliers(table, wrong)) >= 0


def test_unbounded_columns_have_a_bound_only_without_residual() -> None:
    table = RowTable.of([({0: 1.0}, -np.inf, 1.0)])
    low, high = np.array([-np.inf, 0.0]), np.array([np.inf, 2.0])
    costs = np.array([1.0, 1.0])
    assert safe_bound(costs, table, low, high, np.array([0.5])) == math.inf
    # Even 1 - 1 is not certainly 0 for entries that may be off by a rounding.
    assert safe_bound(costs, table, low, high, np.array([1.0])) == math.inf
    assert safe_bound(np.array([0.0, 1.0]), RowTable.of([]), low, high, np.zeros(0)) >= 2.0


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.lists(st.floats(-1e3, 1e3), min_size=6, max_size=6))
def test_ranges_of_products_contain_all_products(ends: list[float]) -> None:
    a, b, shares = sorted(ends[:2]), sorted(ends[2:4]), np.abs(np.sin(ends[4:]))
    low, high = product_range((np.array(a[:1]), np.array(a[1:])), (np.array(b[:1]), np.array(b[1:])))
    for x in (*a, a[0] + (a[1] - a[0]) * float(shares[0])):
        for y in (*b, b[0] + (b[1] - b[0]) * float(shares[1])):
            if a[0] <= x <= a[1] and b[0] <= y <= b[1]:
                assert Fraction(low[0]) <= Fraction(x) * Fraction(y) <= Fraction(high[0])
