"""Smoothing: every arc into a word has, beside its own weight, a share of the highest one; against
enumeration, for all four classes."""

from __future__ import annotations

import numpy as np
import pytest

from arcwise import Constraints, Tree, TreeDistribution, TreeDistributionBatch
from arcwise.errors import InputError
from arcwise.inference import Scores
from inference.test_distribution import LABELS, check_marginals
from inference.trees_in_tests import labelled_trees, log_sum, plain_trees
from reference.enumerate_trees import TREE_CLASSES, Enumeration, random_scores

Classes = pytest.mark.parametrize("projective, single_root", TREE_CLASSES)
T, U, SMOOTHING = 1.7, 0.6, 0.3


def smoothed(arcs: np.ndarray) -> np.ndarray:
    """The logarithms of the weights: w(h, m) + smoothing / n · max w(·, m), by the definition."""
    n = len(arcs) - 1
    weights = np.exp(arcs)
    weights[np.arange(n + 1), np.arange(n + 1)] = 0
    added = SMOOTHING / n * weights.max(axis=0)
    with np.errstate(divide="ignore"):
        return np.log(np.where(weights > 0, weights + added, 0))


def labelled_case(n: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Scores by label, and the logarithms of the weights of labelled arcs by the definition."""
    scores = np.random.default_rng(4).normal(0, 2, (len(LABELS), n + 1, n + 1))
    scores[:, 2, 1] = -np.inf
    scores[0, 1, 2] = -np.inf
    with np.errstate(invalid="ignore"):
        given = scores / U - np.logaddexp.reduce(scores / U)
        weights = smoothed(np.logaddexp.reduce(scores / T)) + np.where(np.isnan(given), -np.inf, given)
    return scores, weights


def distribution(scores, projective, single_root, **options) -> TreeDistribution | TreeDistributionBatch:
    both = {"temperature": T, "label_temperature": U, "smoothing": SMOOTHING}
    kind = TreeDistribution if isinstance(scores, np.ndarray) else TreeDistributionBatch
    return kind(scores, projective=projective, single_root=single_root, **both, **options)


def probabilities_of(trees: list[tuple[Tree, float]]) -> np.ndarray:
    values = np.array([value for _, value in trees])
    return np.exp(values - log_sum(values))


@Classes
def test_probabilities_are_those_of_the_definition(projective: bool, single_root: bool) -> None:
    scores, weights = labelled_case()
    trees = distribution(scores, projective, single_root, labels=LABELS)
    structures = Enumeration(weights.max(axis=0), projective=projective, single_root=single_root)
    expected = labelled_trees(weights, LABELS, structures)
    probabilities = probabilities_of(expected)
    for (tree, value), probability in zip(expected, probabilities, strict=True):
        assert trees.score(tree) == pytest.approx(value, abs=1e-9)
        assert trees.prob(tree) == pytest.approx(probability, abs=1e-9)
    check_marginals(trees, expected, probabilities)
    assert trees.entropy() == pytest.approx(-(probabilities * np.log(probabilities)).sum(), abs=1e-9)
    drawn = trees.sample(4000, seed=1)
    assert np.mean([tree == expected[0][0] for tree in drawn]) == pytest.approx(probabilities[0], abs=0.04)
    # Arcs and labels that are ruled out stay so.
    assert trees.marginals[2, 1] == 0
    assert trees.label_marginals[0, 1, 2] == 0


@Classes
def test_what_goes_by_score_alone_does_not_look_at_it(projective: bool, single_root: bool) -> None:
    scores = np.random.default_rng(5).normal(0, 2, (len(LABELS), 5, 5))
    trees = distribution(scores, projective, single_root, labels=LABELS)
    plain = TreeDistribution(scores, projective=projective, single_root=single_root, labels=LABELS)
    assert trees.best() == plain.best()
    assert trees.k_best(5) == plain.k_best(5)
    assert trees.k_best_labelled(9) == plain.k_best_labelled(9)
    assert trees.greedy_heads().tolist() == plain.greedy_heads().tolist()


@Classes
def test_no_head_is_surely_wrong_however_low_its_score(projective: bool, single_root: bool) -> None:
    """Unlabelled scores far apart: the smallest weight is the share."""
    scores = random_scores(np.random.default_rng(6), 4, spread=300.0, holes=0.0)
    trees = TreeDistribution(scores, projective=projective, single_root=single_root, smoothing=SMOOTHING)
    weights = np.full((5, 5), -np.inf)
    for m in range(1, 5):
        heads = [h for h in range(5) if h != m]
        top = scores[heads, m].max()
        weights[heads, m] = np.logaddexp(scores[heads, m], top + np.log(SMOOTHING / 4))
    expected = plain_trees(Enumeration(weights, projective=projective, single_root=single_root))
    for (tree, _), probability in zip(expected, probabilities_of(expected), strict=True):
        assert trees.prob(tree) == pytest.approx(probability, rel=1e-9)
    assert trees.prob(expected[-1][0]) > 1e-8
    sharp = TreeDistribution(scores, projective=projective, single_root=single_root)
    assert sharp.prob(expected[-1][0]) < 1e-50


@Classes
@pytest.mark.parametrize("kind", ["array", "batch", "scores", "one of a batch"])
def test_under_constraints_it_is_conditional(projective: bool, single_root: bool, kind: str) -> None:
    """P(tree | constraints) = P(tree) / P(constraints), also where the best head of a word is ruled out."""
    scores, _ = labelled_case(4)
    free = distribution(scores, projective, single_root, labels=LABELS)
    best = free.greedy_heads()
    second = Constraints(forbidden=[(int(best[m]), m) for m in (1, 3)])
    every = Enumeration(np.zeros((5, 5)), projective=projective, single_root=single_root)
    allowed = [Tree(heads) for heads in every.trees if all(heads[m] != best[m] for m in (1, 3))]
    total = sum(free.prob(tree) for tree in allowed)
    assert 0 < total < 0.9
    if kind == "array":
        under, log_total = free.given(second), free.given(second).log_partition - free.log_partition
    else:
        given = Scores.dense([scores, scores], LABELS) if kind == "scores" else [scores, scores]
        labels = {} if kind == "scores" else {"labels": LABELS}
        batch = distribution(given, projective, single_root, constraints=[None, second], **labels)
        log_total = batch.log_partition[1] - batch.log_partition[0]
        if kind == "one of a batch":
            batch = batch.given([None, second])
        under = batch[-1]
    assert log_total == pytest.approx(np.log(total), abs=1e-9)
    for tree in allowed:
        assert under.prob(tree) == pytest.approx(free.prob(tree) / total, abs=1e-9)
    again = Constraints(required=[(2, 4)])
    wanted = [tree for tree in map(Tree, every.trees) if tree.heads[4] == 2]
    assert under.given(again).log_partition - free.log_partition == pytest.approx(
        np.log(sum(free.prob(tree) for tree in wanted)), abs=1e-9
    )


def test_scores_remember_what_constraints_took_away() -> None:
    """``Scores.constrained`` with what is known of them before: conditional, and constrained once more
    too."""
    scores, _ = labelled_case(4)
    whole = Scores.dense([scores], LABELS)
    free = distribution(whole, False, True)[0]
    best = free.greedy_heads()
    forbidden = np.zeros((5, 5), np.bool_)
    forbidden[best[1], 1] = forbidden[best[3], 3] = True
    part = whole.constrained(forbidden=forbidden.ravel(), highest=whole.highest(T))
    required = np.array([-1, -1, -1, 2], np.int32)
    for one in (
        part.constrained(heads=required),
        whole.constrained(heads=required, forbidden=forbidden.ravel(), highest=whole.highest(T)),
    ):
        batch = distribution(one, False, True)
        rules = Constraints(forbidden=[(int(best[m]), m) for m in (1, 3)], required=[(2, 4)])
        np.testing.assert_allclose(batch.marginals[0], free.given(rules).marginals, atol=1e-9)
        np.testing.assert_allclose(batch[0].marginals, batch.marginals[0], atol=1e-9)
        assert batch.minimum_risk() == [free.given(rules).minimum_risk()]
    np.testing.assert_array_equal(part.highest(T), whole.highest(T))


def test_highest_is_the_highest_weight_of_an_arc() -> None:
    scores, _ = labelled_case(4)
    sums = np.logaddexp.reduce(scores / T)
    np.fill_diagonal(sums, -np.inf)
    found = Scores.dense([scores, scores[:, :3, :3]], LABELS).highest(T)
    small = np.logaddexp.reduce(scores[:, :3, :3] / T)
    np.fill_diagonal(small, -np.inf)
    np.testing.assert_allclose(found, [*sums.max(axis=0)[1:], *small.max(axis=0)[1:]], atol=1e-12)


@pytest.mark.parametrize("smoothing", [-0.1, float("nan"), float("inf"), "1", None])
def test_what_is_no_smoothing_is_refused(smoothing: object) -> None:
    with pytest.raises(InputError, match="smoothing: found"):
        TreeDistribution(np.zeros((3, 3)), projective=True, single_root=True, smoothing=smoothing)  # type: ignore[arg-type]
