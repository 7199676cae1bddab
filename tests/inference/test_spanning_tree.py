"""Maximum spanning arborescences against the enumeration of all trees and against networkx."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arcwise.errors import InputError, NoTreeError
from arcwise.inference.spanning_tree import (
    spanning_tree_decode,
    spanning_tree_decode_batch,
    spanning_tree_k_best,
    spanning_tree_k_best_batch,
)
from reference.enumerate_trees import Enumeration, all_trees, is_sorted_downwards, random_scores, tree_count

Root = pytest.mark.parametrize("single_root", [True, False])


def own_score(scores: np.ndarray, heads: np.ndarray) -> float:
    return float(scores[heads[1:], np.arange(1, len(heads))].sum())


def scores_with_ties(rng: np.random.Generator, n: int, holes: float) -> np.ndarray:
    scores = rng.integers(0, 3, size=(n + 1, n + 1)).astype(float)
    scores[rng.random(scores.shape) < holes] = -np.inf
    return scores


@pytest.mark.slow
@Root
@given(
    n=st.integers(1, 5),
    seed=st.integers(0, 10**6),
    spread=st.sampled_from([0.0, 1.0, 500.0, 2000.0]),
    holes=st.sampled_from([0.0, 0.2, 0.5]),
    ties=st.booleans(),
)
@settings(max_examples=150, deadline=None)
def test_agrees_with_enumeration(
    single_root: bool, n: int, seed: int, spread: float, holes: float, ties: bool
) -> None:
    rng = np.random.default_rng(seed)
    scores = scores_with_ties(rng, n, holes) if ties else random_scores(rng, n, spread=spread, holes=holes)
    expected = Enumeration(scores, projective=False, single_root=single_root)
    if not len(expected.trees):
        with pytest.raises(NoTreeError):
            spanning_tree_decode(scores, single_root=single_root)
        with pytest.raises(NoTreeError):
            spanning_tree_k_best(scores, k=3, single_root=single_root)
        return
    heads, value = spanning_tree_decode(scores, single_root=single_root)
    assert value == pytest.approx(expected.values[0], abs=1e-9)
    assert value == own_score(scores, heads)
    assert tuple(heads) in set(map(tuple, expected.trees))
    for k in (1, 2, 7):
        best, values = spanning_tree_k_best(scores, k=k, single_root=single_root)
        np.testing.assert_allclose(values, expected.values[:k], atol=1e-9)
        assert len(np.unique(best, axis=0)) == len(best)


@Root
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("kind", ["ties", "even", "spread", "holes"])
def test_k_best_is_the_whole_enumeration(single_root: bool, n: int, kind: str) -> None:
    rng = np.random.default_rng(n)
    scores = {
        "ties": scores_with_ties(rng, n, 0.0),
        "even": np.zeros((n + 1, n + 1)),
        "spread": random_scores(rng, n, spread=500.0),
        "holes": np.where(rng.random((n + 1, n + 1)) < 0.2, -np.inf, rng.normal(size=(n + 1, n + 1))),
    }[kind]
    scores[0] = np.where(np.isinf(scores[0]), 0.0, scores[0])  # some tree is there
    expected = Enumeration(scores, projective=False, single_root=single_root)
    if not len(expected.trees):
        pytest.skip("no tree of this class")
    heads, values = spanning_tree_k_best(scores, k=len(expected.trees) + 2, single_root=single_root)
    np.testing.assert_allclose(values, expected.values, atol=1e-9)
    assert is_sorted_downwards(values)
    assert set(map(tuple, heads)) == set(map(tuple, expected.trees))
    for tree, value in zip(heads, values, strict=True):
        assert value == own_score(scores, tree)


@Root
def test_all_trees_of_even_scores_are_counted(single_root: bool) -> None:
    n = 5
    heads, _ = spanning_tree_k_best(np.zeros((n + 1, n + 1)), k=10**4, single_root=single_root)
    assert len(heads) == tree_count(n, projective=False, single_root=single_root)


def graph_of(scores: np.ndarray) -> nx.DiGraph:
    graph = nx.DiGraph()
    side = len(scores)
    graph.add_weighted_edges_from(
        (h, m, float(scores[h, m])) for h in range(side) for m in range(1, side) if h != m
    )
    return graph


@pytest.mark.parametrize("n", [6, 12, 30])
def test_agrees_with_networkx(n: int) -> None:
    for seed in range(3):
        scores = random_scores(np.random.default_rng(seed), n, spread=3.0)
        theirs = nx.maximum_spanning_arborescence(graph_of(scores)).size(weight="weight")
        assert spanning_tree_decode(scores, single_root=False)[1] == pytest.approx(theirs, abs=1e-9)


def test_a_single_root_agrees_with_networkx_at_every_root() -> None:
    n = 10
    for seed in range(3):
        scores = random_scores(np.random.default_rng(seed), n, spread=3.0)
        best = max(
            nx.maximum_spanning_arborescence(only_root(graph_of(scores), root)).size(weight="weight")
            for root in range(1, n + 1)
        )
        heads, value = spanning_tree_decode(scores, single_root=True)
        assert value == pytest.approx(best, abs=1e-9)
        assert np.count_nonzero(heads == 0) == 1


def only_root(graph: nx.DiGraph, root: int) -> nx.DiGraph:
    """The graph in which word 0 governs ``root`` alone."""
    graph.remove_edges_from([(0, m) for m in list(graph[0]) if m != root])
    return graph


@Root
def test_identities(single_root: bool) -> None:
    rng = np.random.default_rng(2)
    scores = random_scores(rng, 12, spread=2.0)
    heads, value = spanning_tree_decode(scores, single_root=single_root)
    shifted = scores.copy()
    shifted[:, 5] += 7.0  # every tree has one arc into word 5
    assert spanning_tree_decode(shifted, single_root=single_root)[1] == pytest.approx(value + 7)
    order = np.concatenate([[0], rng.permutation(12) + 1])
    permuted_heads, permuted = spanning_tree_decode(scores[np.ix_(order, order)], single_root=single_root)
    assert permuted == pytest.approx(value)
    assert [order[h] for h in permuted_heads[1:]] == [heads[m] for m in order[1:]]
    assert value <= spanning_tree_decode(scores, single_root=False)[1]  # the wider class is never worse


def test_a_bonus_on_root_arcs_changes_no_single_root_tree() -> None:
    scores = random_scores(np.random.default_rng(3), 20, spread=2.0)
    heads, value = spanning_tree_decode(scores, single_root=True)
    for bonus in (1e4, -1e4):
        shifted = scores.copy()
        shifted[0] += bonus
        again, shifted_value = spanning_tree_decode(shifted, single_root=True)
        assert np.array_equal(again, heads)
        assert shifted_value == pytest.approx(value + bonus)


@Root
def test_exactly_one_tree_is_left(single_root: bool) -> None:
    only = np.array([-1, 3, 0, 2, 1, 3])
    scores = np.full((6, 6), -np.inf)
    scores[only[1:], np.arange(1, 6)] = 1.0
    heads, values = spanning_tree_k_best(scores, k=5, single_root=single_root)
    assert heads.tolist() == [only.tolist()]
    assert values.tolist() == [5.0]


def test_nested_cycles() -> None:
    """Cycles of cycles of cycles: pairs that prefer each other, at growing distance from the root."""
    n = 32
    scores = np.full((n + 1, n + 1), -1000.0)
    for level in range(5):
        side = 2**level
        for start in range(0, n, 2 * side):
            scores[start + 1 : start + side + 1, start + side + 1 : start + 2 * side + 1] = -10.0 * level
            scores[start + side + 1 : start + 2 * side + 1, start + 1 : start + side + 1] = -10.0 * level
    for single_root in (True, False):
        heads, value = spanning_tree_decode(scores, single_root=single_root)
        assert value == own_score(scores, heads)
        # one root arc, 16 arcs inside pairs, and one arc for every cycle of cycles
        assert value == -1000 + 16 * 0 - 8 * 10 - 4 * 20 - 2 * 30 - 1 * 40


@Root
def test_three_hundred_words(single_root: bool) -> None:
    scores = random_scores(np.random.default_rng(4), 300, spread=5.0)
    heads, values = spanning_tree_k_best(scores, k=5, single_root=single_root)
    assert values[0] == spanning_tree_decode(scores, single_root=single_root)[1]
    assert is_sorted_downwards(values)
    assert len(np.unique(heads, axis=0)) == 5
    assert not single_root or (np.count_nonzero(heads == 0, axis=1) == 1).all()


@Root
def test_batch_equals_loop_at_any_number_of_threads(single_root: bool) -> None:
    rng = np.random.default_rng(6)
    sentences = [random_scores(rng, n) for n in (3, 1, 25, 7)]
    for threads in (1, 3):
        heads, values = spanning_tree_decode_batch(sentences, single_root=single_root, threads=threads)
        best, best_values = spanning_tree_k_best_batch(
            sentences, k=4, single_root=single_root, threads=threads
        )
        for s, scores in enumerate(sentences):
            own_heads, value = spanning_tree_decode(scores, single_root=single_root)
            own_best, own_values = spanning_tree_k_best(scores, k=4, single_root=single_root)
            assert np.array_equal(heads[s], own_heads)
            assert values[s] == value
            assert np.array_equal(best[s], own_best)
            assert np.array_equal(best_values[s], own_values)


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_other_number_types_are_taken(dtype: type) -> None:
    scores = (random_scores(np.random.default_rng(9), 6) * 10).astype(dtype)
    heads, value = spanning_tree_decode(scores, single_root=True)
    assert value == pytest.approx(float(scores[heads[1:], np.arange(1, 7)].astype(float).sum()))
    assert np.array_equal(heads, spanning_tree_decode(scores.T.copy().T, single_root=True)[0])
    assert np.array_equal(heads, spanning_tree_decode(scores.tolist(), single_root=True)[0])


def test_column_0_and_the_diagonal_are_not_read() -> None:
    scores = random_scores(np.random.default_rng(10), 5)
    for value in (np.nan, np.inf, 1e9):
        spoilt = scores.copy()
        spoilt[:, 0] = value
        np.fill_diagonal(spoilt, value)
        for single_root in (True, False):
            expected = spanning_tree_k_best(scores, k=9, single_root=single_root)
            found = spanning_tree_k_best(spoilt, k=9, single_root=single_root)
            assert np.array_equal(found[0], expected[0])
            decoded = spanning_tree_decode(spoilt, single_root=single_root)
            assert np.array_equal(decoded[0], expected[0][0])


@pytest.mark.parametrize(
    "scores, message",
    [
        (np.zeros((1, 1)), r"scores: found shape \(1, 1\)"),
        (np.zeros((3, 4)), r"scores: found shape \(3, 4\)"),
        (np.zeros(3), r"scores: found shape \(3,\)"),
        (np.full((3, 3), np.nan), "found nan for the arc 0 → 1"),
        (np.full((3, 3), np.inf), "found inf for the arc 0 → 1"),
    ],
)
def test_bad_scores_are_named(scores: np.ndarray, message: str) -> None:
    with pytest.raises(InputError, match=message):
        spanning_tree_decode(scores, single_root=True)


def test_bad_k_is_named() -> None:
    with pytest.raises(InputError, match="k: found 0"):
        spanning_tree_k_best(np.zeros((3, 3)), k=0, single_root=True)


def test_a_sentence_without_tree_is_named() -> None:
    two_roots_needed = np.full((3, 3), -np.inf)
    two_roots_needed[0] = 0.0
    assert spanning_tree_decode(two_roots_needed, single_root=False)[0].tolist() == [-1, 0, 0]
    with pytest.raises(NoTreeError, match="over the 2 words"):
        spanning_tree_decode(two_roots_needed, single_root=True)
    with pytest.raises(NoTreeError, match="sentence 1 of the batch"):
        spanning_tree_decode_batch([np.zeros((3, 3)), two_roots_needed], single_root=True)


def test_every_tree_can_be_the_best_one() -> None:
    for single_root in (True, False):
        for tree in all_trees(4, projective=False, single_root=single_root):
            scores = np.zeros((5, 5))
            scores[tree[1:], np.arange(1, 5)] = 1.0
            assert np.array_equal(spanning_tree_decode(scores, single_root=single_root)[0], tree)
