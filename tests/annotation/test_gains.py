"""Expected gains, checked against their definition by enumeration of all trees."""

import numpy as np
import pytest

from arcwise.annotation.gains import expected_gains, expected_repairs, head_entropies
from arcwise.inference import Constraints, TreeClass, TreeDistribution
from reference.enumerate_trees import TREE_CLASSES, all_trees


def gains_by_enumeration(weights, trees):
    """Σ over m' of I(H_m; H_m'), from the joint distributions of all pairs of heads, counted tree by tree."""
    n = len(weights) - 1
    values = np.array([sum(weights[heads[m], m] for m in range(1, n + 1)) for heads in trees])
    shares = np.exp(values - values.max())
    shares /= shares.sum()
    gains = np.zeros(n)
    for m in range(1, n + 1):
        for other in range(1, n + 1):
            joint = np.zeros((n + 1, n + 1))
            np.add.at(joint, (trees[:, m], trees[:, other]), shares)
            apart = joint.sum(1)[:, None] * joint.sum(0)
            possible = joint > 0
            gains[m - 1] += (joint[possible] * np.log(joint[possible] / apart[possible])).sum()
    return gains


def both(n, projective, single_root, seed, constraints=None, **options):
    weights = np.random.default_rng(seed).normal(size=(n + 1, n + 1)) * 1.5
    trees = TreeClass(projective=projective, single_root=single_root)
    constraints = constraints or Constraints()
    weights = np.where(constraints.mask(n, trees, None), weights, -np.inf)
    distribution = TreeDistribution(weights, projective=projective, single_root=single_root)
    found = expected_gains(weights, distribution.marginals, trees, **options)
    every = all_trees(n, projective=projective, single_root=single_root)
    every = every[[all(t[m] == h for h, m in constraints.required) for t in every]]
    return found, gains_by_enumeration(weights, every)


@pytest.mark.parametrize(("projective", "single_root"), TREE_CLASSES)
@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_gains_are_the_mutual_information_with_all_heads(n, projective, single_root):
    found, right = both(n, projective, single_root, seed=n, least=0)
    np.testing.assert_allclose(found.values, right, atol=1e-9)
    assert found.error < 1e-8


@pytest.mark.parametrize(("projective", "single_root"), TREE_CLASSES)
def test_gains_under_decisions(projective, single_root):
    found, right = both(5, projective, single_root, 7, Constraints(required=[(4, 2), (0, 4)]), least=0)
    np.testing.assert_allclose(found.values, right, atol=1e-9)
    assert found.values[1] == found.values[3] == 0


@pytest.mark.parametrize("least", [0.001, 0.02, 0.1])
@pytest.mark.parametrize("seed", range(6))
def test_what_is_skipped_changes_no_more_than_the_bound(least, seed):
    found, right = both(5, True, True, seed, least=least)
    assert np.abs(found.values - right).max() <= found.error + 1e-12


def test_the_bound_tells_something():
    found, _ = both(5, True, True, 3, least=0.02)
    exact, _ = both(5, True, True, 3, least=0)
    assert found.error > 1e-3 > exact.error


def test_only_the_words_asked_for():
    found, right = both(4, False, True, 1, least=0, words=[2])
    assert found.values[[0, 2, 3]].tolist() == [0, 0, 0]
    assert found.values[1] == pytest.approx(right[1])


def test_batches_change_nothing(monkeypatch):
    whole, _ = both(5, True, True, 2)
    monkeypatch.setattr("arcwise.annotation.gains.AT_A_TIME", 80)
    parts, _ = both(5, True, True, 2)
    np.testing.assert_array_equal(whole.values, parts.values)


def test_entropies_of_heads():
    marginals = np.array([[0, 0.25, 1.0], [0, 0, 0], [0, 0.75, 0]])
    expected = -(0.25 * np.log(0.25) + 0.75 * np.log(0.75))
    np.testing.assert_allclose(head_entropies(marginals), [expected, 0])


@pytest.mark.parametrize(("projective", "single_root"), TREE_CLASSES)
def test_repairs_are_the_expected_difference_of_right_heads(projective, single_root):
    n = 4
    weights = np.random.default_rng(5).normal(size=(n + 1, n + 1)) * 1.5
    trees = TreeClass(projective=projective, single_root=single_root)
    distribution = TreeDistribution(weights, projective=projective, single_root=single_root)
    heads = distribution.best().heads[1:].tolist()
    found = expected_repairs(weights, distribution.marginals, heads, trees, least=0)
    every = all_trees(n, projective=projective, single_root=single_root)
    shares = np.exp([sum(weights[t[m], m] for m in range(1, n + 1)) for t in every])
    shares /= shares.sum()
    for m in range(1, n + 1):
        doubt = shares[every[:, m] != heads[m - 1]].sum()
        repaired = 0.0
        for h in set(every[:, m].tolist()) - {heads[m - 1]}:
            those = every[:, m] == h
            for other in range(1, n + 1):
                by_head = [shares[those & (every[:, other] == g)].sum() for g in range(n + 1)]
                repaired += max(by_head) - by_head[heads[other - 1]]
        assert found.doubt[m - 1] == pytest.approx(doubt)
        assert found.expected[m - 1] == pytest.approx(repaired)
        assert found.each[m - 1] == pytest.approx(repaired / doubt)


def test_nothing_is_repaired_where_nothing_is_open():
    weights = np.full((3, 3), -np.inf)
    weights[0, 2] = weights[2, 1] = 0
    distribution = TreeDistribution(weights, projective=True, single_root=True)
    trees = TreeClass(projective=True, single_root=True)
    found = expected_repairs(weights, distribution.marginals, [2, 0], trees)
    assert found.expected.tolist() == found.each.tolist() == [0, 0]
