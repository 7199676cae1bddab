"""Eisner's functions against the enumeration of all trees."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arcwise.errors import InputError, NoTreeError
from arcwise.inference.eisner import (
    eisner_decode,
    eisner_decode_batch,
    eisner_k_best,
    eisner_k_best_batch,
    eisner_log_partition,
    eisner_log_partition_batch,
    eisner_marginals,
    eisner_marginals_batch,
    eisner_sample,
    eisner_sample_batch,
)
from reference.enumerate_trees import Enumeration, all_trees, is_sorted_downwards, random_scores, tree_count

Root = pytest.mark.parametrize("single_root", [True, False])
SPREADS = [0.0, 1.0, 30.0, 500.0, 2000.0]


@Root
def test_zero_scores_count_the_trees(single_root: bool) -> None:
    for n in [*range(1, 9), 25, 100]:
        count = tree_count(n, projective=True, single_root=single_root)
        log_partition = eisner_log_partition(np.zeros((n + 1, n + 1)), single_root=single_root)
        assert log_partition == pytest.approx(np.log(float(count)), rel=1e-13, abs=1e-13)


@Root
@given(
    n=st.integers(1, 5),
    seed=st.integers(0, 10**6),
    spread=st.sampled_from(SPREADS),
    holes=st.sampled_from([0.0, 0.3]),
)
@settings(max_examples=60, deadline=None)
def test_agrees_with_enumeration(single_root: bool, n: int, seed: int, spread: float, holes: float) -> None:
    scores = random_scores(np.random.default_rng(seed), n, spread=spread, holes=holes)
    expected = Enumeration(scores, projective=True, single_root=single_root)
    if not len(expected.trees):
        with pytest.raises(NoTreeError):
            eisner_decode(scores, single_root=single_root)
        return
    heads, value = eisner_decode(scores, single_root=single_root)
    own_score = scores[heads[1:], np.arange(1, n + 1)].sum()
    assert value == pytest.approx(expected.values[0], abs=1e-9)
    assert value == pytest.approx(own_score, abs=1e-9)
    assert tuple(heads) in set(map(tuple, all_trees(n, projective=True, single_root=single_root)))
    marginals, log_partition = eisner_marginals(scores, single_root=single_root)
    assert log_partition == pytest.approx(expected.log_partition, abs=1e-9)
    np.testing.assert_allclose(marginals, expected.marginals, atol=1e-10)


@Root
@pytest.mark.parametrize("spread", [0.0, 1.0, 500.0])
def test_k_best_is_the_whole_enumeration(single_root: bool, spread: float) -> None:
    scores = random_scores(np.random.default_rng(3), 5, spread=spread, holes=0.1)
    expected = Enumeration(scores, projective=True, single_root=single_root)
    heads, values = eisner_k_best(scores, k=len(expected.trees) + 5, single_root=single_root)
    np.testing.assert_allclose(values, expected.values, atol=1e-9)
    assert is_sorted_downwards(values)
    assert set(map(tuple, heads)) == set(map(tuple, expected.trees))
    first, first_values = eisner_k_best(scores, k=3, single_root=single_root)
    assert np.array_equal(first, heads[:3])
    assert np.array_equal(first_values, values[:3])


@Root
@pytest.mark.parametrize("spread", [1.0, 400.0])  # sums of weights, sums of logarithms
def test_samples_pass_a_chi_squared_test(single_root: bool, spread: float) -> None:
    from scipy.stats import chisquare

    scores = random_scores(np.random.default_rng(4), 4)
    scores[:, 1] += np.where(np.arange(5) == 3, -2 * spread, 0)  # one arc as good as forbidden
    expected = Enumeration(scores, projective=True, single_root=single_root)
    draws = eisner_sample(scores, count=20000, seed=5, single_root=single_root)
    places = {tuple(tree): t for t, tree in enumerate(expected.trees.tolist())}
    counts = np.bincount([places[tuple(draw)] for draw in draws.tolist()], minlength=len(places))
    likely = expected.probabilities * len(draws) > 5
    rest = len(draws) - counts[likely].sum(), (1 - expected.probabilities[likely].sum()) * len(draws)
    observed, wanted = counts[likely], expected.probabilities[likely] * len(draws)
    if rest[1] > 1e-3:
        observed, wanted = np.append(observed, rest[0]), np.append(wanted, rest[1])
    assert chisquare(observed, wanted * observed.sum() / wanted.sum()).pvalue > 1e-3


@Root
@pytest.mark.parametrize("spread", [1.0, 200.0])
def test_batch_equals_loop_at_any_number_of_threads(single_root: bool, spread: float) -> None:
    rng = np.random.default_rng(6)
    sentences = [random_scores(rng, n, spread=spread) for n in (3, 1, 12, 7)]
    for threads in (1, 3):
        heads, values = eisner_decode_batch(sentences, single_root=single_root, threads=threads)
        best = eisner_k_best_batch(sentences, k=4, single_root=single_root, threads=threads)
        log_partitions = eisner_log_partition_batch(sentences, single_root=single_root, threads=threads)
        marginals, _ = eisner_marginals_batch(sentences, single_root=single_root, threads=threads)
        draws = eisner_sample_batch(sentences, count=5, seed=2, single_root=single_root, threads=threads)
        assert np.array_equal(draws[0], eisner_sample(sentences[0], count=5, seed=2, single_root=single_root))
        assert [len(draw) for draw in draws] == [5] * 4
        for s, scores in enumerate(sentences):
            own_heads, own_value = eisner_decode(scores, single_root=single_root)
            assert np.array_equal(heads[s], own_heads)
            assert values[s] == own_value
            for mine, alone in zip(best, eisner_k_best(scores, k=4, single_root=single_root), strict=True):
                assert np.array_equal(mine[s], alone)
            assert log_partitions[s] == eisner_log_partition(scores, single_root=single_root)
            assert np.array_equal(marginals[s], eisner_marginals(scores, single_root=single_root)[0])


@pytest.mark.slow
@Root
def test_three_hundred_words_and_more(single_root: bool) -> None:
    """Long sentences neither overflow (flat scores) nor underflow (spread scores)."""
    for n, spread in [(300, 0.0), (400, 0.0), (300, 1.0), (300, 100.0)]:
        scores = random_scores(np.random.default_rng(7), n, spread=spread)
        marginals, log_partition = eisner_marginals(scores, single_root=single_root)
        np.testing.assert_allclose(marginals[:, 1:].sum(axis=0), 1, atol=1e-9)
        assert log_partition >= eisner_decode(scores, single_root=single_root)[1] - 1e-6
        if spread == 0:
            from math import log

            assert log_partition == pytest.approx(
                log(tree_count(n, projective=True, single_root=single_root))
            )


@Root
def test_both_kinds_of_numbers_agree(single_root: bool) -> None:
    """One arc of score -5000 that no likely tree uses makes the sums change to logarithms."""
    scores = random_scores(np.random.default_rng(8), 40, spread=3)
    scores[1, 40] = -100
    doubles, log_partition = eisner_marginals(scores, single_root=single_root)
    scores[1, 40] = -5000
    logarithms, same = eisner_marginals(scores, single_root=single_root)
    assert same == pytest.approx(log_partition, rel=1e-13)
    np.testing.assert_allclose(logarithms, doubles, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_float32_is_taken(dtype: type) -> None:
    scores = random_scores(np.random.default_rng(9), 6).astype(dtype)
    heads, value = eisner_decode(scores, single_root=True)
    assert value == pytest.approx(float(scores[heads[1:], np.arange(1, 7)].astype(float).sum()))


def test_column_0_and_the_diagonal_are_not_read() -> None:
    scores = random_scores(np.random.default_rng(10), 5)
    expected = eisner_marginals(scores, single_root=True)
    for value in (np.nan, np.inf, 1e9):
        spoilt = scores.copy()
        spoilt[:, 0] = value
        np.fill_diagonal(spoilt, value)
        found = eisner_marginals(spoilt, single_root=True)
        assert np.array_equal(found[0], expected[0])
        assert found[1] == expected[1]
        assert eisner_decode(spoilt, single_root=True)[1] == eisner_decode(scores, single_root=True)[1]


@pytest.mark.parametrize(
    "scores, message",
    [
        (np.zeros((1, 1)), r"scores: found shape \(1, 1\)"),
        (np.zeros((3, 4)), r"scores: found shape \(3, 4\)"),
        (np.full((3, 3), np.nan), "found nan for the arc 0 → 1"),
        (np.full((3, 3), np.inf), "found inf for the arc 0 → 1"),
    ],
)
def test_bad_scores_are_named(scores: np.ndarray, message: str) -> None:
    with pytest.raises(InputError, match=message):
        eisner_decode(scores, single_root=True)


def test_a_sentence_without_tree_is_named() -> None:
    with pytest.raises(NoTreeError, match="sentence 1 of the batch"):
        eisner_log_partition_batch([np.zeros((3, 3)), np.full((3, 3), -np.inf)], single_root=False)
