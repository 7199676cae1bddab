"""Means, variances and covariances of sums over arcs, against enumeration and finite differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from arcwise import Constraints, Tree, TreeDistribution, TreeDistributionBatch
from arcwise.errors import InputError, NoTreeError
from inference.trees_in_tests import LABELS, Floats, labelled_trees, log_sum, plain_trees
from reference.enumerate_trees import TREE_CLASSES, Enumeration, random_scores

Classes = pytest.mark.parametrize("projective, single_root", TREE_CLASSES)


def function_values(trees: list[tuple[Tree, float]], values: Floats) -> Floats:
    """f(tree) of every tree."""
    totals = []
    for tree, _ in trees:
        labels = [] if tree.labels is None else [LABELS.index(label) for label in tree.labels[1:]]
        where: Any = (tree.heads[1:], np.arange(1, len(tree) + 1))
        totals.append(values[(labels, *where) if values.ndim == 3 else where].sum())
    return np.array(totals)


def enumerated_covariance(trees: list[tuple[Tree, float]], f: Floats, g: Floats) -> float:
    scores = np.array([score for _, score in trees])
    p = np.exp(scores - log_sum(scores))
    f_values, g_values = function_values(trees, f), function_values(trees, g)
    return float((p * (f_values - p @ f_values) * (g_values - p @ g_values)).sum())


def all_pairs(scores: Floats, projective: bool, single_root: bool) -> list[tuple[Tree, float]]:
    structures = Enumeration(
        scores.max(axis=0) if scores.ndim == 3 else scores, projective=projective, single_root=single_root
    )
    return labelled_trees(scores, LABELS, structures) if scores.ndim == 3 else plain_trees(structures)


@Classes
@pytest.mark.parametrize("spread", [0.0, 1.0, 20.0, 500.0])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_covariances_against_enumeration(projective: bool, single_root: bool, spread: float, n: int) -> None:
    rng = np.random.default_rng([n, int(spread)])
    scores = rng.normal(0, 1, (n + 1, n + 1)) * spread
    if n > 2:
        scores[2, 1] = -np.inf
    f, g = rng.normal(size=(2, n + 1, n + 1))
    f += 1e5  # no covariance changes, and no digit is lost
    pairs = all_pairs(scores, projective, single_root)
    trees = TreeDistribution(scores, projective=projective, single_root=single_root)
    expected = np.array([[enumerated_covariance(pairs, x, y) for y in (f - 1e5, g)] for x in (f - 1e5, g)])
    assert trees.covariance(f, g) == pytest.approx(expected[0, 1], rel=1e-7, abs=1e-9)
    assert trees.variance(f) == pytest.approx(expected[0, 0], rel=1e-7, abs=1e-9)
    np.testing.assert_allclose(trees.covariance_matrix([f, g]), expected, rtol=1e-7, atol=1e-9)


@Classes
@pytest.mark.parametrize("spread", [1.0, 30.0])
def test_labelled_covariances_against_enumeration(projective: bool, single_root: bool, spread: float) -> None:
    rng = np.random.default_rng(7)
    scores = rng.normal(0, spread, (len(LABELS), 4, 4))
    scores[0, 1, 2], scores[:, 3, 1] = -np.inf, -np.inf
    f, g = rng.normal(size=(2, *scores.shape))
    g_of_arcs = rng.normal(size=scores.shape[1:])
    pairs = all_pairs(scores, projective, single_root)
    trees = TreeDistribution(scores, projective=projective, single_root=single_root, labels=LABELS)
    for second in (g, g_of_arcs):
        expected = enumerated_covariance(pairs, f, second)
        assert trees.covariance(f, second) == pytest.approx(expected, abs=1e-9)
        assert trees.covariance(second, f) == pytest.approx(expected, abs=1e-9)
    assert trees.variance(f) == pytest.approx(enumerated_covariance(pairs, f, f), abs=1e-9)
    matrix = trees.covariance_matrix(np.stack([f, g]))
    assert matrix[0, 1] == matrix[1, 0] == pytest.approx(enumerated_covariance(pairs, f, g), abs=1e-9)


@Classes
@pytest.mark.parametrize("labelled", [False, True])
def test_arc_covariances_are_the_gradient_of_the_expectation(
    projective: bool, single_root: bool, labelled: bool
) -> None:
    rng = np.random.default_rng(3)
    scores = rng.normal(size=(len(LABELS), 5, 5) if labelled else (5, 5))
    values = rng.normal(size=scores.shape)

    def make(at: Floats) -> TreeDistribution:
        labels = LABELS if labelled else None
        return TreeDistribution(at, projective=projective, single_root=single_root, labels=labels)

    gradient = make(scores).arc_covariances(values)
    step = 1e-5
    for place in np.ndindex(scores.shape):
        up, down = scores.copy(), scores.copy()
        up[place] += step
        down[place] -= step
        slope = (make(up).expected(values) - make(down).expected(values)) / (2 * step)
        assert gradient[place] == pytest.approx(slope, abs=1e-8)


def test_temperatures_smoothing_and_constraints_hold() -> None:
    """The covariance under a distribution is that of its own samples' law: of its ``prob``."""
    rng = np.random.default_rng(5)
    scores = rng.normal(0, 2, (len(LABELS), 4, 4))
    f, g = rng.normal(size=(2, *scores.shape))
    options: dict[str, Any] = {"temperature": 1.7, "label_temperature": 0.6, "smoothing": 0.1}
    known = Constraints(forbidden=[(0, 2)], subtrees=[(1, 2)])
    trees = TreeDistribution(
        scores, projective=True, single_root=True, labels=LABELS, constraints=known, **options
    )
    pairs = [(tree, trees.log_prob(tree)) for tree, _ in all_pairs(scores, True, True)]
    assert trees.covariance(f, g) == pytest.approx(enumerated_covariance(pairs, f, g), abs=1e-9)


@Classes
def test_small_variances_keep_their_digits(projective: bool, single_root: bool) -> None:
    """Of a nearly certain sentence, where a difference of means would leave nothing but rounding."""
    scores = np.full((4, 4), -60.0)
    scores[0, 1] = scores[1, 2] = scores[2, 3] = 0.0
    f = np.random.default_rng(0).normal(size=(4, 4))
    pairs = all_pairs(scores, projective, single_root)
    exact = function_values(pairs, f)
    p = np.exp(np.array([score for _, score in pairs]))
    expected = (p * (exact - exact[0]) ** 2).sum()  # the best tree is first and, to 1e-25, certain
    trees = TreeDistribution(scores, projective=projective, single_root=single_root)
    assert 0 < expected < 1e-20
    assert trees.variance(f) == pytest.approx(expected, rel=1e-9)


@Classes
def test_masks_of_any_size(projective: bool, single_root: bool) -> None:
    rng = np.random.default_rng(6)
    scores, values = rng.normal(size=(2, 6, 6))
    forbidden, masked = scores.copy(), scores.copy()
    forbidden[3, 1:3], masked[3, 1:3] = -np.inf, -1e30
    results = [
        TreeDistribution(each, projective=projective, single_root=single_root).variance(values)
        for each in (forbidden, masked)
    ]
    assert results[0] == pytest.approx(results[1], abs=1e-9)


@Classes
def test_a_batch_is_its_sentences(projective: bool, single_root: bool) -> None:
    rng = np.random.default_rng(9)
    scores = [random_scores(rng, n) for n in (3, 1, 6)]
    f, g = ([rng.normal(size=array.shape) for array in scores] for _ in range(2))
    both = [np.stack(pair) for pair in zip(f, g, strict=True)]
    batch = TreeDistributionBatch(scores, projective=projective, single_root=single_root, threads=2)
    assert batch.covariance(f, g).tolist() == [t.covariance(*fg) for t, *fg in zip(batch, f, g, strict=True)]
    assert batch.variance(f).tolist() == [t.variance(x) for t, x in zip(batch, f, strict=True)]
    for together, alone in zip(batch.covariance_matrix(both), zip(batch, both, strict=True), strict=True):
        assert together.tolist() == alone[0].covariance_matrix(alone[1]).tolist()
    for together, alone in zip(batch.arc_covariances(f), zip(batch, f, strict=True), strict=True):
        assert together.tolist() == alone[0].arc_covariances(alone[1]).tolist()


def test_impossible_arcs_may_have_any_value_and_possible_ones_may_not() -> None:
    scores = np.zeros((3, 3))
    scores[1, 2] = -np.inf
    trees = TreeDistribution(scores, projective=False, single_root=False)
    values = np.ones((3, 3))
    values[1, 2] = values[0, 0] = np.inf
    assert trees.variance(values) == 0
    values[0, 1] = np.nan
    with pytest.raises(InputError, match="values: found nan or inf for a possible arc"):
        trees.variance(values)


def test_bad_values() -> None:
    trees = TreeDistribution(np.zeros((3, 3)), projective=False, single_root=False)
    with pytest.raises(InputError, match=r"second: found shape \(4, 4\), expected \(3, 3\)"):
        trees.covariance(np.zeros((3, 3)), np.zeros((4, 4)))
    with pytest.raises(InputError, match=r"values: found shape \(3, 3\), expected \(D, 3, 3\)"):
        trees.covariance_matrix(np.zeros((3, 3)))
    batch = TreeDistributionBatch([np.zeros((3, 3))] * 2, projective=False, single_root=False)
    with pytest.raises(InputError, match="different numbers of functions"):
        batch.covariance_matrix([np.zeros((1, 3, 3)), np.zeros((2, 3, 3))])
    empty = TreeDistribution(np.full((3, 3), -np.inf), projective=False, single_root=False)
    with pytest.raises(NoTreeError):
        empty.variance(np.zeros((3, 3)))
