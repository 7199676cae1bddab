"""The slow and obvious twin of trainers and decoders: every labelled tree of a short sentence, one by one.

A *row* is an arc in one of its states (label and cluster). A tree is a row for every word. Nothing here is
native but the features of a row, which ``small_space`` asks for.
"""

from __future__ import annotations

from functools import cached_property
from itertools import product

import numpy as np
import numpy.typing as npt

from graph.small_space import Small, cells, feature_places, gold, states
from reference.enumerate_trees import all_trees

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def log_sum(values: Floats) -> float:
    """log Σ exp; -inf of nothing."""
    if not len(values):
        return -np.inf
    top = values.max()
    return float(top + np.log(np.exp(values - top).sum()))


class Twin:
    """All trees of one sentence of a case, with all their states."""

    def __init__(self, case: Small, s: int) -> None:
        self.case, self.s = case, s
        self.gold_heads, self.gold_labels = gold(case, s)
        self.n = len(self.gold_heads)
        self.rows = [
            (h, m, label, z)
            for h in range(self.n + 1)
            for m in range(1, self.n + 1)
            if h != m
            for label, z in states(case, s, h, m)
        ]
        self.features = np.zeros((len(self.rows), cells(case)))
        numbers: dict[tuple[int, int], int] = {}
        for number, (h, m, _, _) in enumerate(self.rows):
            state = numbers.get((h, m), 0)
            numbers[h, m] = state + 1
            np.add.at(self.features[number], feature_places(case, s, h, m, state), 1.0)

    # ---- the trees

    @cached_property
    def rows_of_arcs(self) -> dict[tuple[int, int], list[int]]:
        """The rows of each arc (head, modifier)."""
        rows: dict[tuple[int, int], list[int]] = {}
        for number, (h, m, _, _) in enumerate(self.rows):
            rows.setdefault((h, m), []).append(number)
        return rows

    @cached_property
    def trees(self) -> Ints:
        """Shape (T, n): the rows of each tree, its words from left to right."""
        config = self.case.config
        heads = all_trees(self.n, projective=config.projective, single_root=config.single_root)
        return np.array(
            [
                rows
                for tree in heads
                for rows in product(*(self.rows_of_arcs[int(tree[m]), m] for m in range(1, self.n + 1)))
            ]
        )

    @cached_property
    def heads(self) -> Ints:
        """Shape (T, n): the heads of each tree."""
        return np.array([h for h, _, _, _ in self.rows])[self.trees]

    @cached_property
    def labels(self) -> Ints:
        """Shape (T, n): the labels of each tree."""
        return np.array([label for _, _, label, _ in self.rows])[self.trees]

    @cached_property
    def row_costs(self) -> Floats:
        """1 for a wrong head and 1 more for a wrong label, where these are known."""
        return np.array([self._cost(h, m, label) for h, m, label, _ in self.rows])

    def _cost(self, h: int, m: int, label: int) -> float:
        head, name = self.gold_heads[m - 1], self.gold_labels[m - 1]
        wrong_label = label >= 0 and name >= 0 and label != name
        return float(h != head) + float(wrong_label) if head >= 0 else 0.0

    @property
    def costs(self) -> Floats:
        """Of each tree."""
        return self.row_costs[self.trees].sum(axis=1)

    @cached_property
    def agrees(self) -> npt.NDArray[np.bool_]:
        """Whether each tree has the heads and labels that are known."""
        heads, labels = self.gold_heads, self.gold_labels
        right_heads = (heads < 0) | (self.heads == heads)
        right_labels = (labels < 0) | (self.labels < 0) | (self.labels == labels)
        return (right_heads & right_labels).all(axis=1)

    # ---- under weights

    def values(self, weights: Floats) -> Floats:
        """Shape (T,): w·f of each tree."""
        return (self.features @ weights)[self.trees].sum(axis=1)

    def vector(self, tree: int) -> Floats:
        """f of a tree."""
        return self.features[self.trees[tree]].sum(axis=0)

    def expected(self, values: Floats, which: npt.NDArray[np.bool_] | None = None) -> Floats:
        """Shape (R,): the probability of each row if trees have probability ∝ exp(value)."""
        kept = np.ones(len(values), bool) if which is None else which
        p = np.where(kept, np.exp(values - log_sum(values[kept])), 0.0)
        return np.bincount(self.trees.ravel(), weights=np.repeat(p, self.n), minlength=len(self.rows))

    def log_likelihood(self, weights: Floats) -> float:
        """log P(what is known)."""
        values = self.values(weights)
        return log_sum(values[self.agrees]) - log_sum(values)

    def row_gradient(self, weights: Floats) -> Floats:
        """The derivative of the log likelihood by the score of each row."""
        values = self.values(weights)
        return self.expected(values, self.agrees) - self.expected(values)

    def gradient(self, weights: Floats) -> Floats:
        """The derivative of the log likelihood by the weights."""
        return self.row_gradient(weights) @ self.features

    def target(self, weights: Floats) -> int:
        """The best tree that agrees with what is known."""
        return int(np.argmax(np.where(self.agrees, self.values(weights), -np.inf)))

    def best(self, values: Floats, k: int = 1) -> tuple[list[int], float]:
        """The k best trees of different heads, each with its best states, and how far the worst of them is
        above the next (the smallest distance between any two neighbours, so that rounding cannot change the
        choice)."""
        found: dict[tuple[int, ...], int] = {}
        order = np.argsort(-values, kind="stable")
        for tree in order:
            found.setdefault(tuple(self.heads[tree]), int(tree))
        ranked = list(found.values())
        chosen, rest = ranked[:k], ranked[k : k + 1]
        gap = min((values[chosen[-1]] - values[t] for t in rest), default=np.inf)
        for tree in chosen:
            same = (self.heads == self.heads[tree]).all(axis=1)
            others = np.delete(np.flatnonzero(same), np.flatnonzero(np.flatnonzero(same) == tree))
            gap = min([gap, *(values[tree] - values[others])])
        return chosen, float(gap)


def twins(case: Small) -> list[Twin]:
    """A twin of every sentence."""
    return [Twin(case, s) for s in range(len(case.treebank))]
