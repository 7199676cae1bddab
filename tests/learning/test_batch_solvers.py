"""L-BFGS and conjugate gradient against closed forms and against scipy."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt
import pytest
from scipy import optimize

from arcwise.learning.batch_solvers import BatchSolver

Floats = npt.NDArray[np.float64]
Method = Literal["l-bfgs", "cg"]
METHODS: tuple[Method, ...] = ("l-bfgs", "cg")


class Logistic:
    """Regularised logistic regression: convex, its columns of very different scales."""

    def __init__(self, seed: int, rows: int = 80, columns: int = 30) -> None:
        random = np.random.default_rng(seed)
        self.signed = random.normal(size=(rows, columns)) * random.gamma(0.5, size=columns)
        self.columns = columns

    def __call__(self, x: Floats) -> tuple[float, Floats]:
        margins = self.signed @ x
        value = 5 * np.logaddexp(0, -margins).sum() + 0.5 * x @ x
        return float(value), x - 5 * self.signed.T @ (1 / (1 + np.exp(margins)))


@pytest.mark.parametrize("method", METHODS)
def test_a_quadratic_has_its_minimum_where_linear_algebra_has_it(method: Method) -> None:
    random = np.random.default_rng(0)
    root = random.normal(size=(20, 20))
    matrix, b = root @ root.T + np.eye(20), random.normal(size=20)
    solver = BatchSolver(lambda x: (float(0.5 * x @ matrix @ x - b @ x), matrix @ x - b), 20, method)
    solver.iterate(500)
    assert solver.finished
    assert np.allclose(solver.x, np.linalg.solve(matrix, b), atol=1e-3)
    assert np.abs(solver.gradient).max() < 1e-2


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(4))
def test_the_minimum_is_scipys_in_no_more_than_twice_its_passes(method: Method, seed: int) -> None:
    function = Logistic(seed)
    solver = BatchSolver(function, function.columns, method)
    solver.iterate(1000)
    name = {"l-bfgs": "L-BFGS-B", "cg": "CG"}[method]
    expected = optimize.minimize(function, np.zeros(function.columns), jac=True, method=name)
    assert solver.finished
    assert solver.value == pytest.approx(expected.fun, rel=1e-7)
    assert solver.evaluations <= 2 * expected.nfev


@pytest.mark.parametrize("method", METHODS)
def test_pauses_change_nothing(method: Method) -> None:
    """What the solver knows of the curvature survives between calls."""
    function = Logistic(1)
    whole, paused = (BatchSolver(function, function.columns, method) for _ in range(2))
    whole.iterate(12)
    for _ in range(4):
        paused.iterate(3)
    assert (whole.x == paused.x).all()
    assert whole.evaluations == paused.evaluations


@pytest.mark.parametrize("method", METHODS)
def test_the_value_never_rises(method: Method) -> None:
    function = Logistic(2)
    solver = BatchSolver(function, function.columns, method)
    values = []
    while not solver.finished:
        solver.iterate(1)
        values.append(solver.value)
        assert solver.value == function(solver.x)[0]
    assert (np.diff(values) <= 0).all()


@pytest.mark.parametrize("method", METHODS)
def test_at_the_minimum_there_is_nothing_to_do(method: Method) -> None:
    solver = BatchSolver(lambda x: (float(x @ x), 2 * x), 3, method)
    solver.iterate(5)
    assert solver.finished
    assert solver.evaluations == 1
    assert BatchSolver(lambda x: (0.0, x), 0, method).x.shape == (0,)


@pytest.mark.parametrize("method", METHODS)
def test_values_beyond_the_domain_shorten_the_step(method: Method) -> None:
    """The value is infinite from 0.5 on, where the first step goes."""

    def function(x: Floats) -> tuple[float, Floats]:
        if x[0] >= 0.5:
            return np.inf, np.full(1, np.nan)
        return float(-x[0] - 0.1 * np.log(0.5 - x[0])), -1 + 0.1 / (0.5 - x)

    solver = BatchSolver(function, 1, method)
    solver.iterate(100)
    assert solver.x[0] == pytest.approx(0.4, abs=1e-3)
