"""The functions on arrays of ``arcwise.factors.eisner_siblings`` against all trees, and against
``FactoredTreeDistribution`` (which test_factors.py compares with all trees)."""

from __future__ import annotations

import numpy as np
import pytest

from arcwise import native
from arcwise.errors import InputError, NoTreeError
from arcwise.factors import (
    FactoredTreeDistribution,
    Siblings,
    best_tree_with_siblings,
    eisner_siblings_decode,
    eisner_siblings_log_partition,
    eisner_siblings_marginals,
)
from arcwise.inference import Constraints
from reference.enumerate_trees import all_trees
from reference.sibling_value import sibling_value

FUNCTIONS = [eisner_siblings_decode, eisner_siblings_log_partition, eisner_siblings_marginals]


def used(n: int) -> np.ndarray:
    """Which [h, s, m] some tree over n words has, from the definition."""
    h, s, m = np.ogrid[: n + 1, : n + 1, : n + 1]
    between = ((h < s) & (s < m)) | ((m < s) & (s < h))
    return np.asarray((between | (s == h)) & (m > 0) & (m != h))


def random_scores(n: int, kind: str, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Random scores; NaN wherever nothing may be read."""
    rng = np.random.default_rng([n, seed])
    size = 1000.0 if kind == "spread" else 1.0
    scores, siblings = (size * rng.uniform(-1, 1, (n + 1,) * axes) for axes in (2, 3))
    if kind == "holes":
        siblings[rng.random(siblings.shape) < 0.1] = -np.inf
    if kind == "ties":
        scores, siblings = np.round(scores), np.round(siblings)
    siblings[~used(n)] = np.nan
    return scores, siblings


@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize("kind", ["ordinary", "spread", "holes", "ties"])
def test_every_number_of_words_up_to_thirty(kind: str, single_root: bool) -> None:
    # Columns are filled four at a time: every remainder, with and without whole blocks before it.
    for n in range(1, 30):
        scores, siblings = random_scores(n, kind)
        kept = siblings.copy()
        trees = FactoredTreeDistribution(
            scores, factors=[Siblings(siblings)], projective=True, single_root=single_root
        )
        heads, value = eisner_siblings_decode(scores, siblings, single_root=single_root)
        assert value == pytest.approx(
            sum(scores[heads[m], m] for m in range(1, n + 1)) + sibling_value(heads, siblings), abs=1e-9
        )
        assert (trees.best().heads == heads).all()
        # The general kernel lists the k best.
        assert trees.score(trees.k_best_labelled(2)[0]) == pytest.approx(value, abs=1e-9)
        marginals, log_partition = eisner_siblings_marginals(scores, siblings, single_root=single_root)
        assert log_partition == trees.log_partition
        assert log_partition == eisner_siblings_log_partition(scores, siblings, single_root=single_root)
        np.testing.assert_array_equal(marginals, trees.marginals)
        np.testing.assert_allclose(marginals[:, 1:].sum(axis=0), 1)
        np.testing.assert_array_equal(siblings, kept)  # read where it is, and left alone


@pytest.mark.parametrize("kind", ["ordinary", "holes"])
def test_sums_of_the_general_kernel_are_the_same(kind: str) -> None:
    for n in (1, 2, 3, 6, 13):
        scores, siblings = random_scores(n, kind, seed=1)
        general = FactoredTreeDistribution(
            scores, factors=[Siblings(siblings)], projective=True, single_root=True
        )._factors._general()
        arcs, pairs, log_partition = general.marginals(scores[None], True, np.zeros(0, np.int32))
        trees = FactoredTreeDistribution(
            scores, factors=[Siblings(siblings)], projective=True, single_root=True
        )
        assert trees.log_partition == pytest.approx(log_partition, rel=1e-12)
        np.testing.assert_allclose(trees.marginals, arcs.reshape(scores.shape), atol=1e-12)
        (found,) = trees.factor_marginals
        np.testing.assert_allclose(found.ravel(), pairs[: found.size], atol=1e-12)


def test_scores_no_tree_can_use_may_be_anything() -> None:
    scores, siblings = random_scores(5, "ordinary")
    clean = np.where(used(5), siblings, 0.0)
    for factor in (Siblings(siblings), Siblings(clean)):
        assert factor.scores.flags.c_contiguous
    dirty, expected = (
        FactoredTreeDistribution(
            scores,
            factors=[Siblings(array), Siblings(array)],
            projective=True,
            single_root=True,
            constraints=Constraints(subtrees=[(2, 4)]),
        )
        for array in (siblings, clean)
    )
    assert dirty.k_best_labelled(9) == expected.k_best_labelled(9)
    assert dirty.entropy() == expected.entropy()
    assert dirty.sample(5, seed=1) == expected.sample(5, seed=1)
    np.testing.assert_array_equal(dirty.factor_marginals, expected.factor_marginals)
    both = [best_tree_with_siblings(scores, Siblings(a), single_root=False) for a in (siblings, clean)]
    assert both[0] == both[1]


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e301])
@pytest.mark.parametrize("n", [1, 4, 6])
def test_every_bad_score_is_found(n: int, bad: float) -> None:
    for place in map(tuple, np.argwhere(used(n))):
        scores, siblings = random_scores(n, "ordinary")
        siblings[place] = bad
        where = ", ".join(map(str, place))
        with pytest.raises(InputError, match=rf"siblings: found .* at \[{where}\]"):
            Siblings(siblings)
        for function in FUNCTIONS:
            with pytest.raises(InputError, match=rf"siblings: found .* at \[{where}\]"):
                function(scores, siblings, single_root=False)  # type: ignore[operator]
    for h, m in np.argwhere(used(n).any(axis=1)):
        scores, siblings = random_scores(n, "ordinary")
        scores[h, m] = bad
        for function in FUNCTIONS:
            with pytest.raises(InputError, match="scores"):
                function(scores, siblings, single_root=False)  # type: ignore[operator]


def test_other_arrays_and_arguments() -> None:
    scores, siblings = random_scores(4, "ties")
    siblings = np.nan_to_num(siblings)
    expected = eisner_siblings_marginals(scores, siblings, single_root=True)
    for arrays in (
        (scores.tolist(), siblings.tolist()),
        (scores.astype(np.float32), siblings.astype(np.float32)),
        (np.asfortranarray(scores), np.asfortranarray(siblings)),
    ):
        found = eisner_siblings_marginals(*arrays, single_root=True)
        np.testing.assert_array_equal(found[0], expected[0])
        assert Siblings(arrays[1]).scores.tolist() == siblings.tolist()
    assert np.shares_memory(Siblings(siblings).scores, siblings)
    assert native.first_bad_sibling(siblings, 1e300) == -1
    for function in FUNCTIONS:
        with pytest.raises(InputError, match="expected"):
            function(scores, siblings[:3], single_root=True)  # type: ignore[operator]
        with pytest.raises(InputError, match="found 4 words, but the scores have 3"):
            function(scores[:4, :4], siblings, single_root=True)  # type: ignore[operator]
        with pytest.raises(InputError, match="n >= 1 words"):
            function(np.zeros((1, 1)), np.zeros((1, 1, 1)), single_root=True)  # type: ignore[operator]
        with pytest.raises(NoTreeError, match="no projective tree over the 4 words"):
            function(scores, np.full_like(siblings, -np.inf), single_root=True)  # type: ignore[operator]


def test_trees_with_siblings_are_the_best_of_all() -> None:
    for n in (1, 2, 3, 4, 5):
        for single_root in (True, False):
            trees = all_trees(n, projective=True, single_root=single_root)
            for seed in range(5):
                scores, siblings = random_scores(n, "ordinary", seed)
                values = [
                    sum(scores[heads[m], m] for m in range(1, n + 1)) + sibling_value(heads, siblings)
                    for heads in trees
                ]
                heads, value = eisner_siblings_decode(scores, siblings, single_root=single_root)
                assert (heads == trees[int(np.argmax(values))]).all()
                assert value == pytest.approx(max(values), abs=1e-12)
