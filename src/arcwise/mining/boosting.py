"""Gradient-boosted trees of fixed depth over binned features, in numpy (Friedman 2001).

Trees can be monotone in some features: a split on such a feature bounds the leaves on its two sides by the
midpoint of the values that the sides would have as leaves, so that no later split can reverse their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from arcwise.mining.evidence import Floats

Bins = npt.NDArray[np.uint8]
Bits = npt.NDArray[np.bool_]
BINS = 32
"""Bins per feature; the first is for NaN."""


def bin_edges(values: Floats) -> list[Floats]:
    """The inner edges of the bins of each column, at quantiles."""
    edges = []
    for column in values.T:
        finite = column[np.isfinite(column)]
        quantiles = np.quantile(finite, np.linspace(0, 1, BINS)[1:-1]) if len(finite) else np.zeros(0)
        # float32, as model files store them: a loaded model must bin as the trained one did.
        edges.append(np.unique(quantiles.astype(np.float32)).astype(np.float64))
    return edges


def binned(values: Floats, edges: Sequence[Floats]) -> Bins:
    """The bin of every value: 0 for NaN, else 1 + the number of edges below it."""
    columns = [
        np.where(np.isnan(column), 0, 1 + np.searchsorted(of_column, column, "left"))
        for column, of_column in zip(values.T, edges, strict=True)
    ]
    return np.stack(columns, axis=1).astype(np.uint8) if columns else np.zeros((len(values), 0), np.uint8)


@dataclass(frozen=True)
class BoostedTrees:
    """A sum of complete binary trees: ``features`` and ``bins`` (T, 2^D - 1), ``leaves`` (T, 2^D).

    A value goes right if its bin is above the split's.
    """

    edges: Sequence[Floats]
    features: npt.NDArray[np.int32]
    bins: npt.NDArray[np.int32]
    leaves: Floats
    bias: float

    def predict(self, values: Floats) -> Floats:
        """The log-odds of each row."""
        codes = binned(values, self.edges)
        rows = np.arange(len(values))
        total = np.full(len(values), self.bias)
        inner = self.features.shape[1]
        for features, bins, leaves in zip(self.features, self.bins, self.leaves, strict=True):
            node = np.zeros(len(values), np.int64)
            while inner and node[:1].size and node[0] < inner:
                right = codes[rows, features[node]] > bins[node]
                node = 2 * node + 1 + right
            total += leaves[node - inner]
        return total

    @classmethod
    def fit(
        cls,
        values: Floats,
        wrong: Bits,
        weights: Floats,
        *,
        rising: Bits | None = None,
        rounds: int = 100,
        depth: int = 3,
        rate: float = 0.1,
        sample: float = 0.5,
        penalty: float = 20.0,
        seed: int = 1,
    ) -> BoostedTrees:
        """Minimise the weighted log loss.

        rising: columns in which the log-odds must never fall. sample: fraction of the rows that each tree is
            fitted on. penalty: L2 penalty of leaves.
        """
        rising = np.zeros(values.shape[1], np.bool_) if rising is None else rising
        edges = bin_edges(values)
        codes = binned(values, edges)
        target = wrong.astype(np.float64)
        mean = float(np.clip(np.average(target, weights=weights), 1e-6, 1 - 1e-6))
        bias = float(np.log(mean / (1 - mean)))
        total = np.full(len(values), bias)
        random = np.random.default_rng(seed)
        trees: list[tuple[Any, Any, Any]] = []
        for _ in range(rounds):
            p = 1 / (1 + np.exp(-total))
            gradient, curvature = weights * (p - target), weights * p * (1 - p)
            rows = np.flatnonzero(random.random(len(values)) < sample)
            tree = _GrownTree.grown(codes[rows], gradient[rows], curvature[rows], rising, depth, penalty)
            leaves = rate * tree.leaves
            total += leaves[tree.place(codes)]
            trees.append((tree.features, tree.bins, leaves))
        features, bins, all_leaves = (np.array(part) for part in zip(*trees, strict=True))
        return cls(edges, features.astype(np.int32), bins.astype(np.int32), all_leaves, bias)


@dataclass
class _GrownTree:
    features: npt.NDArray[np.int64]
    bins: npt.NDArray[np.int64]
    leaves: Floats

    @classmethod
    def grown(
        cls, codes: Bins, gradient: Floats, curvature: Floats, rising: Bits, depth: int, penalty: float
    ) -> _GrownTree:
        inner = 2**depth - 1
        tree = cls(np.zeros(inner, np.int64), np.full(inner, BINS + 1), np.zeros(inner + 1))
        node = np.zeros(len(codes), np.int64)
        low, high = np.full(1, -np.inf), np.full(1, np.inf)
        for level in range(depth):
            first, count = 2**level - 1, 2**level
            middle = tree._split(codes, gradient, curvature, rising, node, first, count, penalty, low, high)
            # An infinite middle bounds nothing.
            low = np.stack([low, np.where(np.isfinite(middle), middle, low)], axis=1).ravel()
            high = np.stack([np.where(np.isfinite(middle), middle, high), high], axis=1).ravel()
            right = codes[np.arange(len(codes)), tree.features[node]] > tree.bins[node]
            node = 2 * node + 1 + right
        sums = np.bincount(node - inner, gradient, inner + 1)
        leaves = -sums / (np.bincount(node - inner, curvature, inner + 1) + penalty)
        tree.leaves = np.clip(leaves, low, high)
        return tree

    def _split(
        self,
        codes: Bins,
        gradient: Floats,
        curvature: Floats,
        rising: Bits,
        node: npt.NDArray[np.int64],
        first: int,
        count: int,
        penalty: float,
        low: Floats,
        high: Floats,
    ) -> Floats:
        """Choose the split of every node of one level.

        low, high: bounds of the leaves under each node. Returns the new bound between the leaves on the two
        sides of each node, infinite where its split is not on a rising column.
        """
        size = BINS + 1
        best, middle = np.full(count, 1e-9), np.full(count, np.inf)
        for feature in range(codes.shape[1]):
            cell = (node - first) * size + codes[:, feature]
            g = np.bincount(cell, gradient, count * size).reshape(count, size).cumsum(axis=1)
            h = np.bincount(cell, curvature, count * size).reshape(count, size).cumsum(axis=1)
            rest_g, rest_h = g[:, -1:] - g, h[:, -1:] - h
            gain = g**2 / (h + penalty) + rest_g**2 / (rest_h + penalty)
            gain -= g[:, -1:] ** 2 / (h[:, -1:] + penalty)
            bound = np.full(gain.shape, np.inf)
            if rising[feature]:
                below = np.clip(-g / (h + penalty), low[:, None], high[:, None])
                above = np.clip(-rest_g / (rest_h + penalty), low[:, None], high[:, None])
                gain = np.where(below > above, 0.0, gain)
                bound = (below + above) / 2
            at = gain.argmax(axis=1)
            value, bound = gain[np.arange(count), at], bound[np.arange(count), at]
            better = value > best
            best[better], middle[better] = value[better], bound[better]
            self.features[first : first + count][better] = feature
            self.bins[first : first + count][better] = at[better]
        return middle

    def place(self, codes: Bins) -> npt.NDArray[np.int64]:
        """The leaf of every row."""
        inner = len(self.features)
        node = np.zeros(len(codes), np.int64)
        rows = np.arange(len(codes))
        for _ in range(int(np.log2(inner + 1))):
            node = 2 * node + 1 + (codes[rows, self.features[node]] > self.bins[node])
        return node - inner
