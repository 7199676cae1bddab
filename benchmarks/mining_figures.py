"""Figures of a ranking of suspected errors: average precision, calibration, differences with intervals."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


def average_precision(scores: Floats, wrong: Flags) -> float:
    """The mean over errors of the precision at their rank; NaN without errors."""
    ranked = wrong[np.argsort(-scores, kind="stable")]
    precision = np.cumsum(ranked) / np.arange(1, len(ranked) + 1)
    return float(precision[ranked].mean()) if ranked.any() else float("nan")


def calibration_error(log_odds: Floats, wrong: Flags) -> float:
    """The expected calibration error over ten bins of equal width."""
    p = 1 / (1 + np.exp(-log_odds))
    bins = np.minimum((10 * p).astype(int), 9)
    return sum(
        float(abs(p[bins == b].mean() - wrong[bins == b].mean()) * (bins == b).mean())
        for b in np.unique(bins)
    )


def bootstrap_difference(
    a: Floats, b: Floats, wrong: Flags, sentence: npt.NDArray[np.int64], *, draws: int = 200, seed: int = 1
) -> tuple[float, float, float]:
    """AP of ``a`` minus AP of ``b``, and its 95 % interval: paired bootstrap over sentences."""
    random = np.random.default_rng(seed)
    _, codes = np.unique(sentence, return_inverse=True)
    orders = [np.argsort(-scores, kind="stable") for scores in (a, b)]
    differences = []
    for _ in range(draws):
        drawn = random.multinomial(codes.max() + 1, np.full(codes.max() + 1, 1 / (codes.max() + 1)))
        x, y = (weighted_precision(wrong[order], drawn[codes[order]]) for order in orders)
        differences.append(x - y)
    low, high = np.quantile(differences, [0.025, 0.975])
    return average_precision(a, wrong) - average_precision(b, wrong), float(low), float(high)


def weighted_precision(ranked: Flags, copies: npt.NDArray[np.int64]) -> float:
    """Average precision of a ranking in which each word stands so many times."""
    hits = ranked * copies
    precision = np.cumsum(hits) / np.maximum(np.cumsum(copies), 1)
    return float((precision * hits).sum() / max(hits.sum(), 1))
