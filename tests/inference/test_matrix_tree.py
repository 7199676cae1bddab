"""The Matrix-Tree theorem without subtraction against enumeration and determinants of 60 digits."""

from math import log

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arcwise.errors import InputError, NoTreeError
from arcwise.inference.matrix_tree import (
    matrix_tree_log_partition,
    matrix_tree_log_partition_batch,
    matrix_tree_marginals,
    matrix_tree_marginals_batch,
)
from arcwise.inference.spanning_tree import spanning_tree_decode
from reference.enumerate_trees import Enumeration, random_scores, tree_count
from reference.matrix_tree_digits import precise_matrix_tree

Root = pytest.mark.parametrize("single_root", [True, False])


@Root
def test_zero_scores_count_the_trees(single_root: bool) -> None:
    for n in [*range(1, 9), 25, 100, 300]:
        log_partition = matrix_tree_log_partition(np.zeros((n + 1, n + 1)), single_root=single_root)
        assert log_partition == pytest.approx(log(tree_count(n, projective=False, single_root=single_root)))


@pytest.mark.slow
@Root
@given(
    n=st.integers(1, 5),
    seed=st.integers(0, 10**6),
    spread=st.sampled_from([0.0, 1.0, 30.0, 500.0, 2000.0]),
    holes=st.sampled_from([0.0, 0.2, 0.5]),
)
@settings(max_examples=200, deadline=None)
def test_agrees_with_enumeration(single_root: bool, n: int, seed: int, spread: float, holes: float) -> None:
    scores = random_scores(np.random.default_rng(seed), n, spread=spread, holes=holes)
    expected = Enumeration(scores, projective=False, single_root=single_root)
    if not len(expected.trees):
        with pytest.raises(NoTreeError):
            matrix_tree_marginals(scores, single_root=single_root)
        with pytest.raises(NoTreeError):
            matrix_tree_log_partition(scores, single_root=single_root)
        return
    marginals, log_partition = matrix_tree_marginals(scores, single_root=single_root)
    assert log_partition == pytest.approx(expected.log_partition, abs=1e-9)
    assert matrix_tree_log_partition(scores, single_root=single_root) == pytest.approx(
        log_partition, abs=1e-9
    )
    likely = expected.marginals > 1e-150  # full relative accuracy, not only small differences
    np.testing.assert_allclose(marginals[likely], expected.marginals[likely], rtol=1e-9)
    np.testing.assert_allclose(marginals, expected.marginals, atol=1e-150, rtol=1e-9)


@pytest.mark.slow
@Root
@pytest.mark.parametrize("n, spread", [(10, 1), (10, 60), (20, 20), (25, 60), (25, 200), (40, 200)])
def test_agrees_with_determinants_of_many_digits(single_root: bool, n: int, spread: float) -> None:
    scores = random_scores(np.random.default_rng(n), n, spread=spread)
    expected, expected_log_partition = precise_matrix_tree(scores, single_root=single_root)
    marginals, log_partition = matrix_tree_marginals(scores, single_root=single_root)
    assert log_partition == pytest.approx(expected_log_partition, rel=1e-13)
    likely = expected > 1e-30
    np.testing.assert_allclose(marginals[likely], expected[likely], rtol=1e-9)
    np.testing.assert_allclose(marginals, expected, atol=1e-13)


def test_the_reference_itself() -> None:
    scores = random_scores(np.random.default_rng(1), 4, spread=5)
    for single_root in (True, False):
        expected = Enumeration(scores, projective=False, single_root=single_root)
        marginals, log_partition = precise_matrix_tree(scores, single_root=single_root)
        np.testing.assert_allclose(marginals, expected.marginals, atol=1e-12)
        assert log_partition == pytest.approx(expected.log_partition)
    assert mpmath.mp.dps < 60  # the reference leaves the precision of others alone


@Root
@pytest.mark.parametrize("spread", [1.0, 100.0])
def test_marginals_are_derivatives_of_log_z(single_root: bool, spread: float) -> None:
    scores = random_scores(np.random.default_rng(2), 7, spread=spread)
    marginals, _ = matrix_tree_marginals(scores, single_root=single_root)
    step = 1e-4
    for h in range(8):
        for m in range(1, 8):
            if h == m:
                continue
            up, down = scores.copy(), scores.copy()
            up[h, m] += step
            down[h, m] -= step
            rise = matrix_tree_log_partition(up, single_root=single_root) - matrix_tree_log_partition(
                down, single_root=single_root
            )
            assert rise / (2 * step) == pytest.approx(marginals[h, m], abs=1e-6)


@Root
@pytest.mark.parametrize("spread", [1.0, 50.0, 2000.0])
def test_identities(single_root: bool, spread: float) -> None:
    rng = np.random.default_rng(3)
    n = 15
    scores = random_scores(rng, n, spread=spread)
    marginals, log_partition = matrix_tree_marginals(scores, single_root=single_root)
    np.testing.assert_allclose(marginals[:, 1:].sum(axis=0), 1, rtol=1e-12)
    assert not marginals[:, 0].any()
    assert not marginals.diagonal().any()
    assert not single_root or marginals[0].sum() == pytest.approx(1)
    shifted = scores.copy()
    shifted[:, 5] += 7.0  # every tree has one arc into word 5
    assert matrix_tree_log_partition(shifted, single_root=single_root) == pytest.approx(log_partition + 7)
    order = np.concatenate([[0], rng.permutation(n) + 1])
    permuted, same = matrix_tree_marginals(scores[np.ix_(order, order)], single_root=single_root)
    assert same == pytest.approx(log_partition)
    np.testing.assert_allclose(permuted, marginals[np.ix_(order, order)], atol=1e-10)
    assert log_partition >= spanning_tree_decode(scores, single_root=single_root)[1] - 1e-9
    assert log_partition <= matrix_tree_log_partition(scores, single_root=False) + 1e-9


def test_a_bonus_on_root_arcs_is_added_under_a_single_root() -> None:
    scores = random_scores(np.random.default_rng(4), 12)
    marginals, log_partition = matrix_tree_marginals(scores, single_root=True)
    for bonus in (3.0, -2000.0, 2000.0):
        shifted = scores.copy()
        shifted[0] += bonus
        same, moved = matrix_tree_marginals(shifted, single_root=True)
        assert moved == pytest.approx(log_partition + bonus)
        np.testing.assert_allclose(same, marginals, rtol=1e-9)


@Root
@pytest.mark.parametrize("n", [3, 13, 40])
def test_both_kinds_of_numbers_agree(single_root: bool, n: int) -> None:
    """Words 1 and 2 prefer each other by e^400: the elimination has to change to wide numbers."""
    scores = random_scores(np.random.default_rng(5), n + 2)
    rest = np.r_[0, 3 : n + 3]
    scores[1, 2] += 400
    scores[2, 1] += 400
    far, log_partition = matrix_tree_marginals(scores, single_root=single_root)
    scores[1, 2] -= 350
    scores[2, 1] -= 350
    near, near_log_partition = matrix_tree_marginals(scores, single_root=single_root)
    assert log_partition == pytest.approx(near_log_partition + 350, rel=1e-13)
    np.testing.assert_allclose(far[np.ix_(rest, rest)], near[np.ix_(rest, rest)], atol=1e-12)


@Root
@pytest.mark.parametrize("spread", [0.0, 1.0, 100.0, 2000.0])
def test_three_hundred_words(single_root: bool, spread: float) -> None:
    n = 300 if spread < 1000 else 120
    scores = random_scores(np.random.default_rng(7), n, spread=spread)
    marginals, log_partition = matrix_tree_marginals(scores, single_root=single_root)
    np.testing.assert_allclose(marginals[:, 1:].sum(axis=0), 1, rtol=1e-11)
    assert matrix_tree_log_partition(scores, single_root=single_root) == pytest.approx(log_partition)
    assert log_partition >= spanning_tree_decode(scores, single_root=single_root)[1] - 1e-6


@Root
def test_exactly_one_tree_is_left(single_root: bool) -> None:
    only = np.array([-1, 3, 0, 2, 1, 3])
    scores = np.full((6, 6), -np.inf)
    scores[only[1:], np.arange(1, 6)] = [-700.0, 3.0, 900.0, 0.0, 1.0]
    marginals, log_partition = matrix_tree_marginals(scores, single_root=single_root)
    assert log_partition == pytest.approx(204.0)
    np.testing.assert_array_equal(marginals, np.isfinite(scores).astype(float))


@Root
@pytest.mark.parametrize("spread", [1.0, 300.0])
def test_batch_equals_loop_at_any_number_of_threads(single_root: bool, spread: float) -> None:
    rng = np.random.default_rng(6)
    sentences = [random_scores(rng, n, spread=spread) for n in (3, 1, 25, 7, 26)]
    for threads in (1, 3):
        marginals, log_partitions = matrix_tree_marginals_batch(
            sentences, single_root=single_root, threads=threads
        )
        alone = matrix_tree_log_partition_batch(sentences, single_root=single_root, threads=threads)
        for s, scores in enumerate(sentences):
            own, own_log_partition = matrix_tree_marginals(scores, single_root=single_root)
            assert np.array_equal(marginals[s], own)
            assert log_partitions[s] == own_log_partition
            assert alone[s] == matrix_tree_log_partition(scores, single_root=single_root)


def test_float32_is_taken_and_arithmetic_is_double() -> None:
    scores = random_scores(np.random.default_rng(9), 6).astype(np.float32)
    found = matrix_tree_marginals(scores, single_root=True)
    expected = matrix_tree_marginals(scores.astype(np.float64), single_root=True)
    assert np.array_equal(found[0], expected[0])
    assert found[1] == expected[1]


def test_column_0_and_the_diagonal_are_not_read() -> None:
    scores = random_scores(np.random.default_rng(10), 5)
    for value in (np.nan, np.inf, 1e9):
        spoilt = scores.copy()
        spoilt[:, 0] = value
        np.fill_diagonal(spoilt, value)
        for single_root in (True, False):
            expected = matrix_tree_marginals(scores, single_root=single_root)
            found = matrix_tree_marginals(spoilt, single_root=single_root)
            assert np.array_equal(found[0], expected[0])
            assert found[1] == expected[1]


def test_bad_scores_and_missing_trees_are_named() -> None:
    with pytest.raises(InputError, match=r"scores: found shape \(3, 4\)"):
        matrix_tree_marginals(np.zeros((3, 4)), single_root=True)
    with pytest.raises(InputError, match="found nan for the arc 0 → 1"):
        matrix_tree_log_partition(np.full((3, 3), np.nan), single_root=True)
    two_roots_needed = np.full((3, 3), -np.inf)
    two_roots_needed[0] = 0.0
    assert matrix_tree_log_partition(two_roots_needed, single_root=False) == 0.0
    with pytest.raises(NoTreeError, match="over the 2 words"):
        matrix_tree_marginals(two_roots_needed, single_root=True)
    with pytest.raises(NoTreeError, match="sentence 1 of the batch"):
        matrix_tree_marginals_batch([np.zeros((3, 3)), two_roots_needed], single_root=True)
