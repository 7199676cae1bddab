"""Samples have the right distribution, with and without replacement, for all four classes."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from scipy.stats import chisquare

from arcwise import Constraints, Tree, TreeDistribution
from inference.trees_in_tests import labelled_trees, plain_trees
from reference.enumerate_trees import TREE_CLASSES, Enumeration, random_scores

Classes = pytest.mark.parametrize("projective, single_root", TREE_CLASSES)
LABELS = ["subj", "obj"]


def check_frequencies(counts: Counter, probabilities: dict) -> None:
    """χ² at a fixed seed; what is rarer than five expected draws is pooled."""
    assert set(counts) <= set(probabilities)
    total = sum(counts.values())
    common = [key for key, p in probabilities.items() if p * total >= 5]
    observed = [counts[key] for key in common]
    expected = [probabilities[key] * total for key in common]
    if total - sum(expected) > 1:
        observed.append(total - sum(observed))
        expected.append(total - sum(expected))
    expected = np.array(expected) * sum(observed) / sum(expected)
    assert chisquare(observed, expected).pvalue > 1e-3


def probabilities_of(trees: list[tuple[Tree, float]]) -> dict[Tree, float]:
    values = np.array([value for _, value in trees])
    weights = np.exp(values - values.max())
    return {tree: float(w) for (tree, _), w in zip(trees, weights / weights.sum(), strict=True)}


@Classes
def test_with_replacement(projective: bool, single_root: bool) -> None:
    scores = random_scores(np.random.default_rng(1), 4, spread=1.0, holes=0.1)
    trees = TreeDistribution(scores, projective=projective, single_root=single_root)
    expected = Enumeration(scores, projective=projective, single_root=single_root)
    check_frequencies(Counter(trees.sample(6000, seed=2)), probabilities_of(plain_trees(expected)))


@Classes
def test_with_labels(projective: bool, single_root: bool) -> None:
    scores = np.random.default_rng(3).normal(size=(2, 3, 3))
    trees = TreeDistribution(scores, projective=projective, single_root=single_root, labels=LABELS)
    structures = Enumeration(scores.max(axis=0), projective=projective, single_root=single_root)
    check_frequencies(
        Counter(trees.sample(4000, seed=4)), probabilities_of(labelled_trees(scores, LABELS, structures))
    )


@pytest.mark.slow
@pytest.mark.parametrize("labels", [None, LABELS])
@Classes
def test_pairs_without_replacement(projective: bool, single_root: bool, labels: list[str] | None) -> None:
    """The second draw is from what the first has left: p(a, b) = p(a) p(b) / (1 - p(a))."""
    n = 2 if labels else 3
    scores = np.random.default_rng(5).normal(size=(*([2] if labels else []), n + 1, n + 1))
    trees = TreeDistribution(scores, projective=projective, single_root=single_root, labels=labels)
    structures = Enumeration(
        scores.max(axis=0) if labels else scores, projective=projective, single_root=single_root
    )
    alone = probabilities_of(
        labelled_trees(scores, LABELS, structures) if labels else plain_trees(structures)
    )
    pairs = {(a, b): p * q / (1 - p) for a, p in alone.items() for b, q in alone.items() if a != b}
    draws = Counter(tuple(trees.sample(2, seed=seed, replace=False)) for seed in range(600))
    check_frequencies(draws, pairs)


@Classes
def test_all_trees_can_be_drawn_however_unlikely(projective: bool, single_root: bool) -> None:
    """Drawing again until something new comes would never end here."""
    scores = random_scores(np.random.default_rng(6), 4, spread=300)
    trees = TreeDistribution(scores, projective=projective, single_root=single_root)
    expected = Enumeration(scores, projective=projective, single_root=single_root)
    drawn = trees.sample(len(expected.trees), seed=7, replace=False)
    assert {*drawn} == {Tree(heads) for heads in expected.trees}
    # A tree does not come before another that is e^40 times as likely; and scores are so far apart that most
    # are.
    scores = np.array([trees.score(tree) for tree in drawn])
    assert (np.maximum.accumulate(scores[::-1])[::-1] < scores + 40).all()
    assert np.mean(-np.diff(expected.values) > 40) > 0.1
    assert drawn[0] == trees.best()
    assert 1 - 1e-9 < trees.prob(drawn[0]) <= 1
    assert drawn == trees.sample(len(drawn), seed=7, replace=False)


def test_without_replacement_under_constraints() -> None:
    constraints = Constraints(subtrees=[(2, 3)], forbidden=[(0, 4)])
    trees = TreeDistribution(np.zeros((5, 5)), projective=True, single_root=True, constraints=constraints)
    count = round(float(np.exp(trees.log_partition)))
    drawn = trees.sample(count, seed=8, replace=False)
    assert {*drawn} == {*trees.k_best(count + 1)}
    assert len({*drawn}) == count
