"""Logistic regression with an L2 penalty, and with weights that must not be negative."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arcwise.mining.evidence import Floats

_ITERATIONS = 20


@dataclass(frozen=True)
class LogisticRegression:
    """log-odds = values · weights + bias."""

    weights: Floats
    bias: float

    def predict(self, values: Floats) -> Floats:
        """The log-odds of each row."""
        # einsum, not BLAS, whose sums may depend on the number of threads.
        return np.asarray(np.einsum("ij,j->i", values, self.weights) + self.bias)

    @classmethod
    def fit(
        cls,
        values: Floats,
        wrong: npt.NDArray[np.bool_],
        weights: Floats,
        *,
        positive: npt.NDArray[np.bool_],
        penalty: float = 50.0,
    ) -> LogisticRegression:
        """Minimise the weighted log loss by Newton's method.

        positive: columns of evidence for an error. Correlated columns would otherwise get weights of opposite
        signs, which fit one treebank and fail on the next; a weight that turns negative stays 0.
        """
        rows = np.column_stack([values, np.ones(len(values))])
        target = wrong.astype(np.float64)
        solution = np.zeros(rows.shape[1])
        ridge = np.diag(np.append(np.full(values.shape[1], penalty), 1e-6))
        free = np.ones(len(solution), np.bool_)
        signed = np.append(positive, False)
        for _ in range(_ITERATIONS):
            p = 1 / (1 + np.exp(-(rows @ solution)))
            gradient = rows.T @ (weights * (p - target)) + ridge @ solution
            curvature = (rows * (weights * p * (1 - p))[:, None]).T @ rows + ridge
            at = np.flatnonzero(free)
            solution[at] -= np.linalg.solve(curvature[np.ix_(at, at)], gradient[at])
            negative = signed & (solution < 0)
            solution[negative] = 0
            free &= ~negative
        return cls(solution[:-1], float(solution[-1]))
