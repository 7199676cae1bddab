"""One question to ``TreeDistribution``: no batch is laid out, and no tree is checked twice."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

import arcwise.trees.tree
from arcwise import native
from arcwise.errors import InputError, NoTreeError
from arcwise.inference.arc_matrices import ArcMatrices
from arcwise.inference.distribution import TreeDistribution, TreeDistributionBatch
from arcwise.inference.eisner import eisner_decode, eisner_marginals
from arcwise.inference.matrix_tree import matrix_tree_marginals
from arcwise.inference.spanning_tree import spanning_tree_decode
from arcwise.trees import Tree

CLASSES = [(projective, single) for projective in (False, True) for single in (False, True)]


def matrix(n: int, *, forbidden: float = 0.0) -> np.ndarray:
    """Gaussian scores; a share of the arcs between words is forbidden."""
    rng = np.random.default_rng((n, round(100 * forbidden)))
    scores = rng.normal(size=(n + 1, n + 1))
    scores[1:][rng.random((n, n + 1)) < forbidden] = -np.inf
    return scores


@pytest.mark.parametrize(("projective", "single_root"), CLASSES)
@pytest.mark.parametrize("n", [1, 2, 7, 30])
def test_one_sentence_needs_no_batch_and_gives_the_results_of_one(
    n: int, projective: bool, single_root: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"projective": projective, "single_root": single_root}
    inputs = [matrix(n), matrix(n, forbidden=0.3), np.asfortranarray(matrix(n)), matrix(n)[::1, ::1].tolist()]
    # Two sentences go to the kernels as a batch.
    batches = [TreeDistributionBatch([scores, scores], **options) for scores in inputs]
    expected = [(b.best()[0], b.marginals[0], b.log_partition[0]) for b in batches]

    def refuse(*_: object) -> None:
        raise AssertionError("one sentence was laid out as a batch")

    monkeypatch.setattr(ArcMatrices, "of_checked", refuse)
    for scores, (best, marginals, log_partition) in zip(inputs, expected, strict=True):
        assert TreeDistribution(scores, **options).best() == best
        assert np.array_equal(TreeDistribution(scores, **options).marginals, marginals)
        assert TreeDistribution(scores, **options).log_partition == log_partition
        asked_twice = TreeDistribution(scores, **options)
        assert np.array_equal(asked_twice.marginals, marginals)
        assert asked_twice.log_partition == log_partition


def test_trees_of_a_decoder_are_not_checked_word_by_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arcwise.trees.tree, "_check_heads", lambda heads: pytest.fail("checked again"))
    plain = TreeDistribution(matrix(6), projective=True, single_root=True)
    labelled = TreeDistribution(
        np.stack([matrix(6), matrix(6).T]), labels=("a", "b"), projective=False, single_root=True
    )
    for trees in (plain, labelled):
        for tree in (trees.best(), trees.minimum_risk(), *trees.k_best(3), *trees.k_best_labelled(3)):
            assert not tree.heads.flags.writeable
            assert tree.heads.base is None  # a tree does not keep the arrays of others alive


def test_decoded_trees_equal_checked_ones() -> None:
    trees = TreeDistribution(np.stack([matrix(6)] * 2), labels=("a", "b"), projective=True, single_root=True)
    for tree in (trees.best(), *trees.k_best(4)):
        checked = Tree(tree.heads, tree.labels)
        assert (checked, hash(checked), repr(checked)) == (tree, hash(tree), repr(tree))


KERNELS: dict[str, tuple[Callable[..., object], Callable[[TreeDistribution], object]]] = {
    "best tree": (spanning_tree_decode, TreeDistribution.best),
    "best projective tree": (eisner_decode, TreeDistribution.best),
    "marginals": (matrix_tree_marginals, lambda trees: trees.marginals),
    "projective marginals": (eisner_marginals, lambda trees: trees.marginals),
}


def microseconds(ask: Callable[[], object]) -> float:
    """Processor time of this thread; the minimum of many rounds, so that other work on the machine does not
    count."""

    def round_of(calls: int) -> float:
        start = time.thread_time_ns()
        for _ in range(calls):
            ask()
        return (time.thread_time_ns() - start) / calls

    return min(round_of(20) for _ in range(200)) / 1000


@pytest.mark.slow
@pytest.mark.parametrize("n", [10, 25])
@pytest.mark.parametrize("question", KERNELS)
def test_the_constructor_and_one_question_take_12_microseconds_more_than_the_kernel(
    question: str, n: int
) -> None:
    kernel, ask = KERNELS[question]
    scores, projective = matrix(n), "projective" in question

    def answer() -> object:
        return ask(TreeDistribution(scores, projective=projective, single_root=True))

    assert microseconds(answer) - microseconds(partial(kernel, scores, single_root=True)) <= 12


def test_later_changes_of_the_scores_do_not_reach_the_distribution() -> None:
    scores = matrix(5)
    trees = TreeDistribution(scores, projective=True, single_root=True)
    before = TreeDistribution(scores.copy(), projective=True, single_root=True).marginals
    scores[:] = 0
    assert np.array_equal(trees.marginals, before)


@pytest.mark.parametrize(("projective", "single_root"), CLASSES)
def test_impossible_and_bad_scores_are_refused_as_in_a_batch(projective: bool, single_root: bool) -> None:
    options = {"projective": projective, "single_root": single_root}
    impossible = np.full((4, 4), -np.inf)
    for ask in ("best", "marginals", "log_partition"):
        trees = TreeDistribution(impossible, **options)
        with pytest.raises(NoTreeError, match=r"^scores: no tree of this class exists over the 3 words: too"):
            trees.best() if ask == "best" else getattr(trees, ask)
    bad = np.zeros((3, 3))
    bad[0, 2] = np.nan
    with pytest.raises(InputError, match=r"^scores: found nan for the arc 0 → 2, expected a number up to"):
        TreeDistribution(bad, **options)


@pytest.mark.parametrize("words", [1, 2, 3, 4, 7])
def test_one_score_anywhere_that_is_not_ordinary_is_seen(words: int) -> None:
    """The native pass reads blocks and what is left of them."""
    ordinary = np.resize([0.0, -0.0, 1e300, -1e300, 5e-324, -1e-5], (words + 1, words + 1))
    for place in np.ndindex(ordinary.shape):
        for value in (np.nan, -np.nan, np.inf, -np.inf, 1.1e300, -1.1e300):
            scores = ordinary.copy()
            scores[place] = value
            before = scores.tobytes()
            assert not native.mask_arc_scores(scores)
            assert scores.tobytes() == before
    assert native.mask_arc_scores(ordinary)
    is_arc = np.isfinite(ordinary)
    assert not is_arc[:, 0].any()
    assert is_arc[:, 1:].sum() == words * words
