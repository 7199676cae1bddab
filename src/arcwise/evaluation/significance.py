"""Significance tests for the difference between two parsers on the same sentences.

``a`` and ``b`` are the numbers of correct words of each parser in each sentence, ``words`` the numbers of
scored words.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

SMALLEST = 1e-300
"""Smaller p-values are reported as this value."""


@dataclass(frozen=True)
class Interval:
    """A 95 % confidence interval."""

    low: float
    high: float


@dataclass(frozen=True)
class WinLoss:
    """A two-sided exact binomial test of ``a`` wins of one parser against ``b`` wins of the other."""

    a: int
    b: int
    ties: int
    p: float


def paired_bootstrap(
    a: npt.NDArray[Any], b: npt.NDArray[Any], words: npt.NDArray[Any], *, samples: int = 10_000, seed: int
) -> Interval:
    """95 % percentile interval of (sum of b - sum of a) / (sum of words) by paired bootstrap over sentences.

    Sentences are resampled with replacement (Efron and Tibshirani 1993, chapter 13; Berg-Kirkpatrick et al.
    2012). Sentences with the same (b - a, words) are interchangeable, so one multinomial draw of the counts
    of each kind is a resample. O(samples × kinds).
    """
    kinds, counts = np.unique(np.stack([np.subtract(b, a), words]), axis=1, return_counts=True)
    random = np.random.default_rng(seed)
    draws = random.multinomial(counts.sum(), counts / counts.sum(), size=samples)
    # float64, because numpy multiplies integer matrices without BLAS.
    totals = draws @ kinds.T.astype(np.float64)
    # A resample can have no scored words at all.
    differences = totals[:, 0] / np.maximum(totals[:, 1], 1)
    low, high = np.quantile(differences, [0.025, 0.975])
    return Interval(float(low), float(high))


def permutation_test(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> float:
    """Exact two-sided p-value of the paired permutation test (Noreen 1989, Yeh 2000).

    The probability of a difference of sums at least as large as the observed one if the results of the two
    parsers are swapped at random in every sentence. All permutations are counted, not sampled (Zmigrod et
    al. 2022), in O(D log D) with D the sum of the absolute differences. The result has twelve correct
    digits, however small it is; values below 1e-300 are reported as 1e-300.

    >>> permutation_test(np.array([1, 2, 3]), np.array([2, 4, 4]))
    0.25
    """
    sizes, counts = np.unique(np.abs(np.subtract(a, b, dtype=np.int64)), return_counts=True)
    return _sign_sum_tail(sizes[sizes > 0], counts[sizes > 0], abs(int(np.sum(a)) - int(np.sum(b))))


def sign_test(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> WinLoss:
    """Sign test over sentences: in how many sentences each parser is better; ties are dropped.

    >>> sign_test(np.array([1, 1, 1, 2]), np.array([2, 3, 2, 2]))
    WinLoss(a=0, b=3, ties=1, p=0.25)
    """
    return _win_loss(int(np.sum(np.greater(a, b))), int(np.sum(np.less(a, b))), len(a))


def mcnemar(a_right: npt.NDArray[np.bool_], b_right: npt.NDArray[np.bool_]) -> WinLoss:
    """McNemar's exact test over words: those that only a gets right against those that only b gets right."""
    return _win_loss(int((a_right & ~b_right).sum()), int((b_right & ~a_right).sum()), len(a_right))


def _win_loss(a: int, b: int, cases: int) -> WinLoss:
    return WinLoss(a, b, cases - a - b, _sign_sum_tail(np.array([1]), np.array([a + b]), abs(a - b)))


def _sign_sum_tail(sizes: npt.NDArray[np.int64], counts: npt.NDArray[np.int64], observed: int) -> float:
    """P(|X| ≥ observed) for the sum X of ±d with random signs, ``counts`` terms for each d of ``sizes``.

    The distribution of X is the inverse Fourier transform of Π cos(d t). But the rounding error of a
    transform is about 1e-16 of the *largest* probability, which would leave no correct digit in a small
    tail. Exponential tilting (Esscher 1932) avoids this: under P'(x) ∝ P(x) exp(θ x) the observed value is
    the mean, and P(X ≥ observed) = E[exp(θ X)] Σ over x ≥ observed of P'(x) exp(-θ x), a sum without
    cancellation.
    """
    if not observed:
        return 1.0
    total = int(sizes @ counts)
    length = 2 * total + 1
    theta = _tilt(sizes, counts, observed)
    t = 2 * np.pi * np.arange(total + 1) / length
    transform = np.ones(total + 1, np.complex128)
    for size, count in zip(sizes, counts, strict=True):
        # E'[exp(-i t (±d))] = cosh(d (θ - i t)) / cosh(d θ)
        transform *= (np.cos(size * t) - 1j * np.tanh(size * theta) * np.sin(size * t)) ** int(count)
    tilted = np.fft.irfft(transform, length)[observed : total + 1]  # P'(observed), …, P'(D)
    tail = float(tilted @ np.exp(-theta * np.arange(len(tilted))))
    # log E[exp(θ X)] - θ observed = Σ log cosh(d θ) - θ observed, without overflow of cosh
    log_share = float(counts @ (np.log1p(np.exp(-2 * theta * sizes)) - np.log(2))) + theta * (
        total - observed
    )
    log_p = math.log(2 * tail) + log_share
    # Twelve digits are right; further ones would only differ between machines.
    return SMALLEST if log_p < math.log(SMALLEST) else min(float(f"{math.exp(log_p):.12g}"), 1.0)


def _tilt(sizes: npt.NDArray[np.int64], counts: npt.NDArray[np.int64], observed: int) -> float:
    """The θ under which the mean is ``observed``: Σ d tanh(d θ) = observed, by bisection."""
    low, high = 0.0, 40.0  # tanh(40) is 1 in double precision
    # 60 halvings reach double precision.
    for _ in range(60):
        middle = (low + high) / 2
        if counts @ (sizes * np.tanh(sizes * middle)) < observed:
            low = middle
        else:
            high = middle
    return low
