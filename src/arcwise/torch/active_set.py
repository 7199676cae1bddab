"""``ActiveSet``: the trees of one sentence that SparseMAP gives weight, found by an active-set method.

SparseMAP (Niculae, Martins, Blondel & Cardie 2018) is the quadratic program max_μ η·μ - ½‖μ‖² over the convex
hull of all trees. Its solution μ = Σ p_k a_k is a mean of few trees. The method (Nocedal & Wright 2006, 16.5)
decodes one tree per step and solves the program over the active trees exactly."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Arcs = npt.NDArray[np.int64]
"""The places of a tree's n arcs among the scores."""


class ActiveSet:
    """Trees and their weights p ≥ 0, Σ p = 1: the optimum over the convex hull of these trees.

    scores: η, flat; ``arcs``: those of the first tree, which has all the weight.
    """

    def __init__(self, scores: Floats, arcs: Arcs) -> None:
        self._scores = scores
        self.trees = arcs[None]
        """(K, n)."""
        self.weights = np.ones(1)
        self._shared = np.full((1, 1), float(len(arcs)))
        """G, (K, K): the number of arcs that two trees share."""

    def marginals(self) -> Floats:
        """μ, flat, shaped as the scores."""
        marginals = np.zeros(len(self._scores))
        np.add.at(marginals, self.trees, self.weights[:, None])
        return marginals

    def improves(self, arcs: Arcs, tolerance: float) -> bool:
        """Return whether a tree would: its gain is above that of the active trees, which all have the
        same."""
        if (self.trees == arcs).all(axis=1).any():  # rounding alone could gain by it
            return False
        marginals = self.marginals()
        places = np.flatnonzero(marginals)
        threshold = marginals[places] @ (self._scores[places] - marginals[places])
        return bool((self._scores[arcs] - marginals[arcs]).sum() > threshold + tolerance)

    def add(self, arcs: Arcs) -> None:
        """Add a tree and move to the optimum, dropping the trees whose weight becomes 0 on the way."""
        self.trees = np.concatenate([self.trees, arcs[None]])
        shared = (self.trees == arcs).sum(axis=1)
        self._shared = np.block([[self._shared, shared[:-1, None]], [shared]])
        self.weights = np.append(self.weights, 0.0)
        while True:
            optimum = self._unconstrained()
            below = optimum < 0
            if not below.any():
                self.weights = optimum
                return
            # As far towards the optimum as all weights stay at least 0; the first to reach 0 leaves.
            steps = np.full(len(optimum), np.inf)
            steps[below] = self.weights[below] / (self.weights[below] - optimum[below])
            leaving = int(steps.argmin())
            moved = self.weights + steps[leaving] * (optimum - self.weights)
            self.weights = np.delete(moved, leaving).clip(min=0.0)
            self.trees = np.delete(self.trees, leaving, axis=0)
            self._shared = np.delete(np.delete(self._shared, leaving, axis=0), leaving, axis=1)

    def jacobian(self) -> Floats:
        """∂ weights / ∂ scores of the active trees, (K, K): G⁻¹ - G⁻¹11ᵀG⁻¹ / 1ᵀG⁻¹1."""
        return np.asarray(np.linalg.inv(self._kkt())[:-1, :-1])

    def _unconstrained(self) -> Floats:
        """The weights, of any sign, with sum 1 that maximise the objective."""
        gains = np.append(self._scores[self.trees].sum(axis=1), 1.0)
        return np.asarray(np.linalg.solve(self._kkt(), gains)[:-1])

    def _kkt(self) -> Floats:
        """[[G, 1], [1ᵀ, 0]], which is regular: a tree that improves is not an affine combination of active
        ones."""
        count = len(self.trees)
        matrix = np.ones((count + 1, count + 1))
        matrix[:-1, :-1], matrix[-1, -1] = self._shared, 0.0
        return matrix
