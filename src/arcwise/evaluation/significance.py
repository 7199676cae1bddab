"""Is the difference between two parsers more than luck? Four tests on the same sentences, for the same gold words.

``a`` and ``b`` count what each parser got right in each sentence, ``words`` how many there were.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

_SMALLEST = 1e-14


@dataclass(frozen=True)
class Interval:
    """A 95 % interval."""

    low: float
    high: float


@dataclass(frozen=True)
class WinLoss:
    """A two-sided binomial test: were the ``a`` wins of one and the ``b`` wins of the other a fair coin's?"""

    a: int
    b: int
    ties: int
    p: float


def paired_bootstrap(
    a: npt.NDArray[Any], b: npt.NDArray[Any], words: npt.NDArray[Any], *, samples: int = 10_000, seed: int
) -> Interval:
    """The 95 % percentile interval of (sum of b - sum of a) / (sum of words) over resampled sentences.

    Sentences are drawn with replacement (Efron and Tibshirani 1993, chapter 13; Berg-Kirkpatrick et al. 2012). Drawing S
    sentences is drawing how often each *kind* of sentence, (b - a, words), comes: a multinomial. O(samples × kinds).
    """
    kinds, counts = np.unique(np.stack([np.subtract(b, a), words]), axis=1, return_counts=True)
    random = np.random.default_rng(seed)
    draws = random.multinomial(counts.sum(), counts / counts.sum(), size=samples)
    totals = draws @ kinds.T.astype(np.float64)
    differences = totals[:, 0] / np.maximum(totals[:, 1], 1)
    low, high = np.quantile(differences, [0.025, 0.975])
    return Interval(float(low), float(high))


def permutation_test(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> float:
    """The exact two-sided p-value of the paired permutation test: the chance of a difference of sums at least as large as
    the one found, if in every sentence it were a fair coin's choice which result is whose (Noreen 1989, Yeh 2000).

    No sampling: the difference is a sum of independent ±d, so its distribution is the inverse Fourier transform of
    the product of cos(d t) (all permutations at once; Zmigrod et al. 2022). With D = the sum of |d|, O(D log D). Smaller
    values than 1e-14, where rounding begins, are given as 1e-14.

    >>> permutation_test(np.array([1, 2, 3]), np.array([2, 4, 4]))
    0.25
    """
    sizes, counts = np.unique(np.abs(np.subtract(a, b)), return_counts=True)
    if not sizes.any():
        return 1.0
    found = abs(int(np.sum(a)) - int(np.sum(b)))
    total = int(sizes @ counts)
    length = 2 * total + 1
    t = 2 * np.pi * np.arange(total + 1) / length
    transform = np.ones(total + 1)
    for size, count in zip(sizes, counts, strict=True):
        transform *= np.cos(size * t) ** count  # E[exp(i t (±d))] = cos(d t)
    chances = np.fft.irfft(transform, length)  # of a difference of 0, 1, …, D, -D, …, -1
    p = chances[found : total + 1].sum() + chances[total + 1 : length - found + 1].sum() if found else 1.0
    return _rounded(max(float(p), _SMALLEST))


def sign_test(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> WinLoss:
    """The sign test on sentences: in how many is a, in how many is b better; ties do not count.

    >>> sign_test(np.array([1, 1, 1, 2]), np.array([2, 3, 2, 2]))
    WinLoss(a=0, b=3, ties=1, p=0.25)
    """
    return _win_loss(int(np.sum(np.greater(a, b))), int(np.sum(np.less(a, b))), len(a))


def mcnemar(a_right: npt.NDArray[np.bool_], b_right: npt.NDArray[np.bool_]) -> WinLoss:
    """McNemar's test on words: those that a alone gets right against those that b alone gets right (exact binomial)."""
    return _win_loss(int((a_right & ~b_right).sum()), int((b_right & ~a_right).sum()), len(a_right))


def _win_loss(a: int, b: int, cases: int) -> WinLoss:
    return WinLoss(a, b, cases - a - b, _coin_p(a, b))


def _coin_p(a: int, b: int) -> float:
    """The chance that a fair coin thrown a + b times comes down at least as unevenly."""
    n, fewer = a + b, min(a, b)
    if a == b:
        return 1.0
    # log C(n, i) = sum over j <= i of log((n - j + 1) / j)
    j = np.arange(1, fewer + 1)
    logs = np.concatenate([[0.0], np.cumsum(np.log((n - j + 1) / j))])
    return _rounded(2 * float(np.exp(logs - n * np.log(2)).sum()))


def _rounded(p: float) -> float:
    """A probability to 12 significant digits, without the noise in the others."""
    return min(float(f"{p:.12g}"), 1.0)
