"""The DMV by its definition: slow and obvious."""

from __future__ import annotations

from itertools import product

import numpy as np

from arcwise.induction import DMV, ArcShare, Features, TagSentences
from reference.enumerate_trees import all_trees


def tree_counts(features: Features, tags: list[int], heads: np.ndarray) -> np.ndarray:
    """How often each step of the DMV is taken in a tree."""
    counts = np.zeros(features.count)
    for i, t in enumerate(tags, 1):
        counts[t] += heads[i] == 0
        for side, places in ((0, range(i - 1, 0, -1)), (1, range(i + 1, len(tags) + 1))):
            later = 0
            for m in places:
                if heads[m] == i:
                    counts[features.decision(side, t, later, 1)] += 1
                    counts[features.child(side, t, tags[m - 1])] += 1
                    later = 1
            counts[features.decision(side, t, later, 0)] += 1
    return counts


def enumerated(grammar: DMV, tags: list[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All trees of a sentence, their counts, their log-probabilities."""
    numbers = [grammar.tags.index(t) for t in tags]
    trees = all_trees(len(tags), projective=True, single_root=True)
    counts = np.array([tree_counts(grammar.features, numbers, heads) for heads in trees])
    theta = grammar.log_probabilities
    values = np.array([sum(c * t for c, t in zip(row, theta, strict=True) if c) for row in counts])
    return trees, counts, values


def best_likelihood(counts: np.ndarray, features: Features) -> np.ndarray:
    """max over theta of theta . counts, for each row of counts: sum f log f - sum n log n."""

    def phi(x: np.ndarray) -> np.ndarray:
        return np.where(x > 0, x * np.log(np.where(x > 0, x, 1)), 0)

    totals = np.stack([counts[:, run].sum(axis=1) for run in features.distributions], axis=1)
    return phi(counts).sum(axis=1) - phi(totals).sum(axis=1)


def brute_force(corpus: TagSentences, constraint: ArcShare | None = None) -> float:
    """The highest joint likelihood of any parses of the corpus; -inf if the constraint allows none."""
    features = Features(corpus.tags)
    sums = np.zeros((1, features.count))
    for s in corpus.sentences:
        trees = all_trees(len(s), projective=True, single_root=True)
        options = np.unique([tree_counts(features, list(s), heads) for heads in trees], axis=0)
        sums = np.unique([a + b for a, b in product(sums, options)], axis=0)
    if constraint is not None:
        kept = sums @ constraint.marked(features) >= constraint.least(corpus.words)
        if not kept.any():
            return -np.inf
        sums = sums[kept]
    return float(best_likelihood(sums, features).max())
