"""Significance tests against enumeration of all cases, and against scipy."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import numpy.typing as npt
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from arcwise.errors import InputError
from arcwise.evaluation import compare, mcnemar, paired_bootstrap, permutation_test, sign_test
from evaluation.damage import damaged
from evaluation.samples import BIRDS, CONTRACTION, treebank

pairs = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=9)


@given(pairs)
def test_permutation_test_is_the_share_of_all_swaps(counts: list[tuple[int, int]]) -> None:
    a, b = np.array(counts).T
    found = abs(int((b - a).sum()))
    sums = [abs(int(np.array(signs) @ (b - a))) for signs in product([1, -1], repeat=len(a))]
    assert permutation_test(a, b) == pytest.approx(np.mean(np.array(sums) >= found), abs=1e-12)


def test_permutation_test_agrees_with_sampling() -> None:
    random = np.random.default_rng(0)
    a, b = random.integers(0, 30, 500), random.integers(0, 30, 500)
    b[:40] += 3
    signs = random.choice([1, -1], size=(20_000, 500))
    sampled = float(np.mean(np.abs(signs @ (b - a)) >= abs((b - a).sum())))
    assert permutation_test(a, b) == pytest.approx(sampled, abs=0.015)


def test_permutation_test_of_a_large_difference() -> None:
    a, b = np.zeros(40, int), np.ones(40, int)
    assert permutation_test(a, b) == pytest.approx(2 * 0.5**40, rel=1e-11)
    assert permutation_test(np.zeros(400, int), np.ones(400, int)) == pytest.approx(2 * 0.5**400, rel=1e-11)
    assert permutation_test(np.zeros(4000, int), np.ones(4000, int)) == 1e-300


def convolved(differences: npt.NDArray[np.int64]) -> Fraction:
    """The permutation test in whole numbers: Π (1 + x^2d), written as one number whose digits are the
    coefficients."""
    sizes = [abs(int(d)) for d in differences if d]
    total, found, width = sum(sizes), abs(int(differences.sum())), len(sizes) + 1
    product_ = 1
    for size in sizes:
        product_ += product_ << (2 * size * width)
    above = sum(product_ >> (k * width) & ((1 << width) - 1) for k in range(total + found, 2 * total + 1))
    return Fraction(2 * above, 2 ** len(sizes)) if found else Fraction(1)


@given(st.lists(st.integers(-9, 12), min_size=1, max_size=200), st.integers(0, 3))
def test_every_digit_of_a_permutation_test_is_right(drawn: list[int], lift: int) -> None:
    differences = np.array(drawn) + lift
    found = permutation_test(np.zeros_like(differences), differences)
    assert found == pytest.approx(float(convolved(differences)), rel=1e-11)


def test_every_digit_of_a_tiny_p_value_is_right() -> None:
    random = np.random.default_rng(0)
    for share in (0.02, 0.1, 0.3, 0.6):
        better = (random.random(1000) < share) * random.integers(1, 4, 1000)
        differences = better + random.integers(-1, 2, 1000)
        p = permutation_test(np.zeros(1000, int), differences)
        assert p == pytest.approx(float(convolved(differences)), rel=1e-11)
    assert 1e-300 < p < 1e-50


@given(pairs)
def test_sign_test_is_scipys_binomial_test(counts: list[tuple[int, int]]) -> None:
    a, b = np.array(counts).T
    result = sign_test(a, b)
    assert (result.a, result.b) == (int((a > b).sum()), int((a < b).sum()))
    assert result.a + result.b + result.ties == len(a)
    if result.a + result.b:
        expected = scipy.stats.binomtest(result.a, result.a + result.b).pvalue
        assert result.p == pytest.approx(expected, rel=1e-9)
    else:
        assert result.p == 1.0


@pytest.mark.slow
@pytest.mark.parametrize(("only_a", "only_b"), [(0, 0), (3, 3), (1, 8), (700, 640), (4000, 4600), (0, 900)])
def test_mcnemar(only_a: int, only_b: int) -> None:
    a = np.repeat([True, False, True, False], [only_a, only_b, 50, 20])
    b = np.repeat([False, True, True, False], [only_a, only_b, 50, 20])
    result = mcnemar(a, b)
    assert (result.a, result.b, result.ties) == (only_a, only_b, 70)
    n = only_a + only_b
    assert result.p == pytest.approx(scipy.stats.binomtest(only_a, n).pvalue if n else 1.0, rel=1e-9)
    least = sum(math.comb(n, i) for i in range(min(only_a, only_b) + 1))
    assert result.p == pytest.approx(min(float(Fraction(2 * least, 2**n)), 1.0), rel=1e-11)


def test_bootstrap_of_two_sentences_is_known() -> None:
    # Two sentences of 10 words; b is better by 4 in one. Resampled: 0, 4 or 8 of 20, with chances 1/4, 1/2,
    # 1/4.
    interval = paired_bootstrap(np.array([5, 5]), np.array([9, 5]), np.array([10, 10]), samples=4000, seed=1)
    assert (interval.low, interval.high) == (0.0, 0.4)


def test_bootstrap_agrees_with_scipy() -> None:
    random = np.random.default_rng(2)
    words = random.integers(5, 40, 300)
    a, b = random.binomial(words, 0.8), random.binomial(words, 0.84)

    def difference(rows: npt.NDArray[np.int64], axis: int = 0) -> npt.NDArray[np.float64]:
        return (b[rows].sum(axis=axis) - a[rows].sum(axis=axis)) / words[rows].sum(axis=axis)

    scipys = scipy.stats.bootstrap(
        (np.arange(300),), difference, n_resamples=8000, method="percentile", rng=3
    ).confidence_interval
    ours = paired_bootstrap(a, b, words, samples=8000, seed=4)
    assert (ours.low, ours.high) == pytest.approx((scipys.low, scipys.high), abs=0.002)
    assert ours == paired_bootstrap(a, b, words, samples=8000, seed=4)


def test_compare() -> None:
    gold = treebank(BIRDS, CONTRACTION, BIRDS)
    a, b = damaged(gold, seed=1, share=0.5), gold
    result = compare(gold, a, b, samples=500, seed=0)
    las = next(d for d in result.differences if d.metric == "LAS")
    assert las.b == 1.0
    assert las.difference == pytest.approx(las.mcnemar.b / 21)
    assert las.interval.low <= las.difference <= las.interval.high
    assert result.worst[0].b_arcs == 7
    gaps = [s.b_arcs - s.a_arcs for s in result.worst]
    assert gaps == sorted(gaps, reverse=True)
    mirrored = compare(gold, b, a, samples=500, seed=0)
    assert [d.difference for d in mirrored.differences] == [-d.difference for d in result.differences]
    assert [d.permutation_p for d in mirrored.differences] == [d.permutation_p for d in result.differences]


def test_a_system_against_itself() -> None:
    gold = treebank(BIRDS, CONTRACTION)
    system = damaged(gold, seed=1)
    result = compare(gold, system, system, samples=100)
    for row in result.differences:
        assert (row.difference, row.interval.low, row.interval.high) == (0, 0, 0)
        assert (row.permutation_p, row.sign.p, row.mcnemar.p) == (1, 1, 1)
    assert result.worst == ()


def test_nothing_to_compare() -> None:
    dot = treebank("1\t.\t.\tPUNCT\t_\t_\t0\troot\t_\t_\n\n")
    with pytest.raises(InputError, match="there is no word to score"):
        compare(dot, dot, dot, punctuation="skip")
    with pytest.raises(InputError, match="samples: found 0, expected at least 1"):
        compare(dot, dot, dot, samples=0)
