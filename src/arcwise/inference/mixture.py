"""``TreeMixtureBatch``: the mean of several distributions over the trees of the same sentences."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from arcwise.errors import InputError
from arcwise.inference.arc_matrices import Floats
from arcwise.inference.constraints import Constraints
from arcwise.inference.distribution import TreeDistributionBatch
from arcwise.trees import Tree


class TreeMixtureBatch:
    """P(tree) = Σ weight · P_k(tree): its marginals are the means of the marginals.

    (``Scores.mean`` averages scores instead, which makes P(tree) the normalised geometric mean.)

    parts: distributions over the same sentences and the same class of trees. Label sets may differ: a label
        that a part lacks has probability 0 there.
    weights: of the parts, at least 0; they are divided by their sum (default: equal weights).

    >>> chain = np.array([[0, 9.0, 0], [0, 0, 9], [0, 0, 0]])
    >>> arrays = chain, np.zeros((3, 3))
    >>> parts = [TreeDistributionBatch([array], projective=True, single_root=True) for array in arrays]
    >>> TreeMixtureBatch(parts).marginals[0].round(2).tolist()
    [[0.0, 0.75, 0.25], [0.0, 0.0, 0.75], [0.0, 0.25, 0.0]]
    """

    def __init__(
        self, parts: Sequence[TreeDistributionBatch], weights: Sequence[float] | None = None
    ) -> None:
        self.parts = tuple(parts)
        if not self.parts:
            raise InputError("parts: found none, expected at least one distribution")
        first = self.parts[0]
        for part in self.parts:
            same = part.tree_class == first.tree_class and part._words == first._words
            if not same or (part.labels is None) != (first.labels is None):
                raise InputError(
                    "parts: found distributions over different sentences, classes of trees, or labelled and "
                    "unlabelled trees; expected the same for all"
                )
        self.weights = mixture_weights(weights, len(self.parts))
        self.tree_class = first.tree_class
        self.labels = None if first.labels is None else union_of_labels(self.parts)

    def __len__(self) -> int:
        """The number of sentences."""
        return len(self.parts[0])

    @cached_property
    def marginals(self) -> list[Floats]:
        """The probability of each arc, shape (n+1, n+1) per sentence."""
        by_part = [part.marginals for part in self.parts]
        return [np.tensordot(self.weights, np.stack(sentence), 1) for sentence in zip(*by_part, strict=True)]

    @cached_property
    def label_marginals(self) -> list[Floats]:
        """The probability of each arc with each label, shape (L, n+1, n+1) per sentence."""
        if self.labels is None:
            raise InputError("label_marginals: the distributions have no labels, expected labels")
        rows = {label: row for row, label in enumerate(self.labels)}
        means = [np.zeros((len(rows), *arcs.shape)) for arcs in self.marginals]
        for part, weight in zip(self.parts, self.weights, strict=True):
            places = [rows[label] for label in part.labels or ()]
            for mean, array in zip(means, part.label_marginals, strict=True):
                mean[places] += weight * array
        return means

    def minimum_risk(self) -> list[Tree]:
        """Return the tree with the highest expected number of correct heads, each arc with its best label."""
        return self._best(self.marginals)

    def minimum_labelled_risk(self) -> list[Tree]:
        """Return the tree with the highest expected number of correct labelled arcs."""
        if self.labels is None:
            return self.minimum_risk()
        return self._best([array.max(axis=0) for array in self.label_marginals])

    def log_prob(self, trees: Sequence[Tree]) -> Floats:
        """Return log P(tree) of one tree per sentence, shape (B,)."""
        with np.errstate(divide="ignore"):  # log 0 of a part with weight 0
            terms = np.log(self.weights)[:, None] + np.stack([_log_probs(part, trees) for part in self.parts])
        return np.asarray(np.logaddexp.reduce(terms, axis=0))

    def _best(self, gains: Sequence[Floats]) -> list[Tree]:
        """Return the trees with the most gains, each arc with its most probable label."""
        # Constraints are in the marginals, except that words form a subtree.
        spans = [None if c is None else Constraints(subtrees=c.subtrees) for c in self.parts[0].constraints]
        trees = TreeDistributionBatch(
            [np.where(gain > 0, gain, -np.inf) for gain in gains],
            projective=self.tree_class.projective,
            single_root=self.tree_class.single_root,
            constraints=spans,
            threads=self.parts[0].threads,
        ).best()
        if self.labels is None:
            return trees
        return [
            Tree(tree.heads, ("", *_best_labels(tree, array, self.labels)))
            for tree, array in zip(trees, self.label_marginals, strict=True)
        ]


def mixture_weights(weights: Sequence[float] | None, count: int) -> Floats:
    """Check the weights of ``count`` parts, and divide them by their sum."""
    array = np.ones(count) if weights is None else np.asarray(weights, np.float64)
    if array.shape != (count,) or not (np.isfinite(array) & (array >= 0)).all() or not array.any():
        raise InputError(f"weights: found {weights}, expected {count} numbers of at least 0, not all 0")
    return np.asarray(array / array.sum())


def union_of_labels(parts: Sequence[TreeDistributionBatch]) -> tuple[str, ...]:
    """Return the labels of all parts, in the order in which they appear."""
    return tuple(dict.fromkeys(label for part in parts for label in part.labels or ()))


def _best_labels(tree: Tree, marginals: Floats, labels: tuple[str, ...]) -> list[str]:
    words = np.arange(1, len(tree) + 1)
    return [labels[code] for code in marginals[:, tree.heads[1:], words].argmax(axis=0)]


def _log_probs(part: TreeDistributionBatch, trees: Sequence[Tree]) -> Floats:
    labels = set(part.labels or ())
    lacking = [tree.labels is not None and not labels >= set(tree.labels[1:]) for tree in trees]
    replaced = [Tree(tree.heads) if lacks else tree for tree, lacks in zip(trees, lacking, strict=True)]
    return np.where(lacking, -np.inf, part.log_prob(replaced))
