"""Is the difference between two parsers more than luck? Four tests on the same sentences, for the same gold words.

``a`` and ``b`` count what each parser got right in each sentence, ``words`` how many there were.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

SMALLEST = 1e-300
"""What p-values below it are given as."""


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

    No sampling: all permutations at once (Zmigrod et al. 2022). With D = the sum of the differences' sizes, O(D log D). Twelve digits are
    given and right, however small the value; values below 1e-300 are given as 1e-300.

    >>> permutation_test(np.array([1, 2, 3]), np.array([2, 4, 4]))
    0.25
    """
    sizes, counts = np.unique(np.abs(np.subtract(a, b, dtype=np.int64)), return_counts=True)
    return _coins(sizes[sizes > 0], counts[sizes > 0], abs(int(np.sum(a)) - int(np.sum(b))))


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
    return WinLoss(a, b, cases - a - b, _coins(np.array([1]), np.array([a + b]), abs(a - b)))


def _coins(sizes: npt.NDArray[np.int64], counts: npt.NDArray[np.int64], found: int) -> float:
    """P(|X| ≥ found), where X is the sum of ±d decided by fair coins, ``counts`` of them for each of the ``sizes`` d.

    The distribution of X is the inverse Fourier transform of Π cos(d t). But rounding in a transform is as large as 1e-16 of the
    *largest* probability and would leave no right digit in a small tail. So the coins are bent (Esscher 1932): under
    P'(x) ∝ P(x) exp(θ x) the value found is the expected one and among the likeliest, and
    P(X ≥ found) = E[exp(θ X)] Σ over x ≥ found of P'(x) exp(-θ x), a sum without cancellation.
    """
    if not found:
        return 1.0
    total = int(sizes @ counts)
    length = 2 * total + 1
    theta = _tilt(sizes, counts, found)
    t = 2 * np.pi * np.arange(total + 1) / length
    transform = np.ones(total + 1, np.complex128)
    for size, count in zip(sizes, counts, strict=True):
        # E'[exp(-i t (±d))] = cosh(d (θ - i t)) / cosh(d θ)
        transform *= (np.cos(size * t) - 1j * np.tanh(size * theta) * np.sin(size * t)) ** int(count)
    tilted = np.fft.irfft(transform, length)[found : total + 1]  # P'(found), …, P'(D)
    tail = float(tilted @ np.exp(-theta * np.arange(len(tilted))))
    # log E[exp(θ X)] - θ found = Σ log cosh(d θ) - θ found; what is large in both is taken out first
    log_share = float(counts @ (np.log1p(np.exp(-2 * theta * sizes)) - np.log(2))) + theta * (total - found)
    log_p = math.log(2 * tail) + log_share
    return SMALLEST if log_p < math.log(SMALLEST) else min(float(f"{math.exp(log_p):.12g}"), 1.0)


def _tilt(sizes: npt.NDArray[np.int64], counts: npt.NDArray[np.int64], found: int) -> float:
    """The θ under which ``found`` is expected: Σ d tanh(d θ) = found, by bisection."""
    low, high = 0.0, 40.0  # at 40 the coins fall all alike
    for _ in range(60):
        middle = (low + high) / 2
        if counts @ (sizes * np.tanh(sizes * middle)) < found:
            low = middle
        else:
            high = middle
    return low
