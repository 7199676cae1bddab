"""Scores of any finite size: masks of -1e9, -1e30 or the lowest double instead of -inf, avoidable or needed
by every tree, against ``reference.exact_trees``; everything that is derived from sums, both tree classes,
single root or not, labelled or not."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from arcwise import Constraints, InputError, NoTreeError, Tree, TreeDistribution
from arcwise.inference import Scores, eisner_k_best, spanning_tree_decode
from reference.enumerate_trees import TREE_CLASSES, Floats
from reference.exact_trees import ExactTrees

MASKS = [-1e5, -1e7, -1e9, -1e15, -1e18, -1e30, float(np.finfo(np.float32).min), -1e100, -1e300]
CLASSES = pytest.mark.parametrize(("projective", "single_root"), TREE_CLASSES)
NINE = 1e-9


def masked(rng: np.random.Generator, n: int, labels: int = 0) -> Floats:
    """Random scores, some of them masked: by one number, by a number added, by numbers of many sizes."""
    shape = (labels, n + 1, n + 1) if labels else (n + 1, n + 1)
    scores = rng.normal(size=shape) * rng.choice([1.0, 30.0, 1000.0])
    where = rng.random(shape[-2:]) < rng.choice([0.2, 0.5, 0.8])
    kind = rng.integers(3)
    if kind == 0:
        scores[..., where] = rng.choice(MASKS)
    elif kind == 1:
        scores[..., where] += rng.choice(MASKS)
    else:
        size = int(where.sum())
        scores[..., where] = rng.choice(MASKS, size=size) * rng.choice([1.0, 1.0, -1.0, 0.5], size=size)
    if rng.random() < 0.3:
        scores[..., rng.random(shape[-2:]) < 0.15] = -np.inf
    return scores


def close(found: float, wanted: float) -> bool:
    """To nine digits after the point, or of the number itself where it is large."""
    return math.isclose(found, wanted, rel_tol=1e-12, abs_tol=NINE)


@pytest.mark.slow
@CLASSES
def test_masks_of_every_size_give_the_right_sums(projective: bool, single_root: bool) -> None:
    rng = np.random.default_rng([1, projective, single_root])
    tried = 0
    while tried < 60:
        scores = masked(rng, int(rng.integers(1, 5)))
        exact = ExactTrees(scores[None], projective, single_root)
        if not exact.trees:
            continue
        tried += 1
        trees = TreeDistribution(scores, projective=projective, single_root=single_root)
        assert close(trees.log_partition, exact.log_partition)
        assert np.abs(trees.marginals - exact.marginals[0]).max() < NINE
        assert close(trees.entropy(), exact.entropy)
        for at in rng.choice(len(exact.trees), size=3):
            assert close(trees.log_prob(Tree(exact.trees[at][0])), exact.log_probabilities[at])
        seen = {tuple(tree.heads.tolist()) for tree in trees.sample(20, seed=tried)}
        possible = {
            heads for (heads, _, _), p in zip(exact.trees, exact.probabilities, strict=True) if p > 1e-15
        }
        assert seen <= possible
        certain = exact.marginals[0] > 1 - 1e-12
        best = trees.minimum_risk().heads
        assert all(best[m] == h for h, m in np.argwhere(certain))


@pytest.mark.slow
@CLASSES
def test_divergence_between_masked_distributions(projective: bool, single_root: bool) -> None:
    rng = np.random.default_rng([2, projective, single_root])
    tried = 0
    while tried < 40:
        n = int(rng.integers(1, 4))
        mine, theirs = masked(rng, n), masked(rng, n)
        if rng.random() < 0.7:  # comparable ones: the same masks
            theirs = np.where(np.abs(mine) > 1e4, mine, theirs)
        exact, other = (ExactTrees(s[None], projective, single_root) for s in (mine, theirs))
        if not exact.trees or not other.trees:
            continue
        tried += 1
        p, q = (TreeDistribution(s, projective=projective, single_root=single_root) for s in (mine, theirs))
        wanted = exact.kl(other)
        assert close(p.kl(q), wanted)
        assert close(p.cross_entropy(q), exact.entropy + wanted)


@CLASSES
@pytest.mark.parametrize("temperature", [1.0, 2.5])
def test_labelled_masks(projective: bool, single_root: bool, temperature: float) -> None:
    """Masks that trees can avoid, and whole words whose every arc is masked."""
    rng = np.random.default_rng([3, projective, single_root])
    labels = ["a", "b"]
    tried = 0
    while tried < 25:
        n = int(rng.integers(1, 4))
        scores = rng.normal(size=(2, n + 1, n + 1)) * 3
        mask = rng.choice(MASKS)
        heads = rng.integers(0, n + 1, size=n + 1)
        where = rng.random((n + 1, n + 1)) < 0.5
        where[heads, np.arange(n + 1)] = False
        scores[:, where] = mask
        if rng.random() < 0.5:
            scores[:, :, rng.integers(1, n + 1)] = mask
        exact = ExactTrees(scores, projective, single_root, temperature)
        highest = sum(Fraction(float(best)) for best in scores.max(axis=(0, 1))[1:])
        if exact.best * Fraction(temperature) < highest - 10_000:
            continue  # every tree needs a masked arc where another arc of the word is not
        tried += 1
        trees = TreeDistribution(
            scores,
            projective=projective,
            single_root=single_root,
            labels=labels,
            temperature=temperature,
            label_temperature=temperature,
        )
        assert np.abs(trees.label_marginals - exact.marginals).max() < NINE
        assert close(trees.entropy(), exact.entropy)
        heads_of, codes, _ = exact.trees[exact.most_probable]
        tree = Tree(heads_of, ("", *(labels[code] for code in codes[1:])))
        assert close(trees.log_prob(tree), exact.log_probabilities[exact.most_probable])


@CLASSES
def test_losses_and_their_gradients(projective: bool, single_root: bool) -> None:
    """-log p(tree) and the marginals less the tree itself; hinge loss against enumeration."""
    rng = np.random.default_rng([4, projective, single_root])
    tried = 0
    while tried < 40:
        scores = masked(rng, int(rng.integers(1, 4)))
        exact = ExactTrees(scores[None], projective, single_root)
        if not exact.trees:
            continue
        tried += 1
        at = int(rng.integers(len(exact.trees)))
        tree = Tree(exact.trees[at][0])
        values, (gradient,) = Scores.dense([scores]).loss(
            "likelihood", [tree], projective=projective, single_root=single_root
        )
        assert close(values[0], -exact.log_probabilities[at])
        wanted = exact.marginals[0].copy()
        wanted[tree.heads[1:], np.arange(1, len(tree) + 1)] -= 1
        assert np.abs(gradient - wanted).max() < NINE


@pytest.mark.parametrize("single_root", [True, False])
def test_a_sentence_that_is_masked_as_machine_learning_code_does(single_root: bool) -> None:
    """25 words, half of the arcs masked: the same as with -inf, to the last digits, and one word is masked
    for good."""
    rng = np.random.default_rng(5)
    scores = rng.normal(size=(26, 26))
    where = rng.random((26, 26)) < 0.5
    where[np.arange(25), np.arange(1, 26)] = False
    for projective in (True, False):
        forbidden = TreeDistribution(
            np.where(where, -np.inf, scores), projective=projective, single_root=single_root
        )
        for mask in (*MASKS, float(np.finfo(np.float64).min)):
            trees = TreeDistribution(
                np.where(where, mask, scores), projective=projective, single_root=single_root
            )
            assert close(trees.log_partition, forbidden.log_partition)
            assert np.abs(trees.marginals - forbidden.marginals).max() < 1e-12
            assert trees.best() == forbidden.best()
            assert trees.sample(5, seed=1) == forbidden.sample(5, seed=1)


@CLASSES
def test_an_arc_of_a_probability_below_all_doubles_still_counts_for_kl(
    projective: bool, single_root: bool
) -> None:
    """p has a tree of probability exp(-2000) that q rules out: KL is infinite, though its marginal is 0 as a
    double."""
    scores = np.zeros((3, 3))
    scores[2, 1] = -2000
    p = TreeDistribution(scores, projective=projective, single_root=single_root)
    assert p.marginals[2, 1] == 0
    forbidden = scores.copy()
    forbidden[2, 1] = -np.inf
    q = TreeDistribution(forbidden, projective=projective, single_root=single_root)
    assert p.kl(q) == np.inf
    assert q.kl(p) == pytest.approx(0, abs=NINE)
    # An arc of no tree may be ruled out: the root takes word 1, and word 1 takes word 2.
    only = Constraints(required=[(0, 1), (1, 2)])
    assert p.given(only).kl(q) == pytest.approx(q.given(only).kl(q))


def test_scores_beyond_the_largest() -> None:
    """Above 1e300 they are refused; below -1e300 they count as -1e300, or the sentence is refused by a
    sentence that says why."""
    scores = np.zeros((4, 4))
    scores[0, 1] = 1.7e308
    for single in (eisner_k_best, spanning_tree_decode):
        with pytest.raises(
            InputError, match=r"found 1\.7e\+308 for the arc 0 → 1, expected a number up to 1e\+300"
        ):
            single(scores, single_root=True, **({"k": 3} if single is eisner_k_best else {}))
    lowest = np.full((4, 4), np.finfo(np.float64).min)
    trees = TreeDistribution(lowest, projective=True, single_root=True)
    assert trees.log_partition == pytest.approx(-3e300)
    assert trees.marginals[0, 1:].sum() == pytest.approx(1)
    assert trees.entropy() == pytest.approx(np.log(7))
    with pytest.raises(NoTreeError, match="scores below -1e\\+300 add up to -inf"):
        spanning_tree_decode(lowest, single_root=True)


def test_entropy_at_1e300() -> None:
    scores = np.full((4, 4), 1e300)
    assert TreeDistribution(scores, projective=False, single_root=True).entropy() == pytest.approx(np.log(9))
