"""Calibration: reliability diagrams, expected calibration error, Brier score."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arcwise.errors import InputError

REVIEWED = (0.05, 0.1, 0.2, 0.3)
"""Fractions of the words for which ``Calibration.reviews`` is computed."""


@dataclass(frozen=True)
class ReliabilityBin:
    """Arcs with a probability in [low, high): count, mean confidence, accuracy."""

    low: float
    high: float
    count: int
    confidence: float
    accuracy: float


@dataclass(frozen=True)
class Review:
    """Reviewing the least confident ``share`` of the words finds the fraction ``errors`` of all errors."""

    share: float
    errors: float


@dataclass(frozen=True)
class Calibration:
    """A reliability diagram, its expected calibration error (ECE), and the yield of reviews.

    ECE = Σ over bins of (fraction of the arcs) · |accuracy − confidence|.
    """

    bins: tuple[ReliabilityBin, ...]
    error: float
    reviews: tuple[Review, ...]
    """Empty if there are no errors."""
    brier: float = 0.0
    """Brier score, the mean of (probability − outcome)², where the outcome is 0 or 1 (Brier 1950)."""

    @property
    def overconfidence(self) -> float:
        """Mean confidence minus accuracy."""
        words = sum(b.count for b in self.bins)
        return sum(b.count * (b.confidence - b.accuracy) for b in self.bins) / max(words, 1)

    def __str__(self) -> str:
        lines = ["probability      words  conf.   acc.   (in %)"]
        for b in self.bins:
            if b.count:
                width = round(30 * b.accuracy)
                bar = "█" * width + " " * (31 - width)
                mark = min(round(30 * b.confidence), 30)
                bar = bar[:mark] + "│" + bar[mark + 1 :]
                interval = f"{100 * b.low:>4.3g} – {100 * b.high:<4.3g}"
                means = f"{100 * b.confidence:>5.1f}  {100 * b.accuracy:>6.1f}"
                lines.append(f"{interval}  {b.count:>9,}  {means}  {bar}")
        lines.append(f"expected calibration error {100 * self.error:.2f} %")
        if self.reviews:
            yields = [f"{100 * r.errors:.0f} % in {100 * r.share:g} %" for r in self.reviews]
            lines.append(f"errors found in the least confident words: {', '.join(yields)} of the words")
        return "\n".join(lines)


def calibration(
    probabilities: npt.NDArray[np.floating], right: npt.NDArray[np.bool_], *, bins: int = 10
) -> Calibration:
    """Calibration of predicted probabilities, in bins of equal width.

    ``right``: whether each prediction is correct.

    >>> probabilities = np.array([0.9, 0.9, 0.9, 0.9, 0.1])
    >>> result = calibration(probabilities, np.array([True, True, True, False, False]))
    >>> result.bins[-1].accuracy, round(result.error, 3)
    (0.75, 0.14)
    >>> result.reviews[2]   # the least confident word is an error
    Review(share=0.2, errors=0.5)
    """
    if len(probabilities) != len(right) or not len(right):
        raise InputError(
            f"right: found {len(right)} values, expected one for each of {len(probabilities)} probabilities"
        )
    if bins < 1:
        raise InputError(f"bins: found {bins}, expected at least 1")
    # A probability of exactly 1 belongs to the last bin.
    bin_numbers = np.minimum((np.asarray(probabilities, np.float64) * bins).astype(int), bins - 1)
    diagram, error = [], 0.0
    for b in range(bins):
        members = bin_numbers == b
        count = int(members.sum())
        confidence = float(probabilities[members].mean()) if count else 0.0
        accuracy = float(right[members].mean()) if count else 0.0
        diagram.append(ReliabilityBin(b / bins, (b + 1) / bins, count, confidence, accuracy))
        error += count / len(right) * abs(accuracy - confidence)
    brier = float(np.mean((np.asarray(probabilities, np.float64) - right) ** 2))
    return Calibration(tuple(diagram), error, _reviews(probabilities, right), brier)


def _reviews(probabilities: npt.NDArray[np.floating], right: npt.NDArray[np.bool_]) -> tuple[Review, ...]:
    wrong = ~right[np.argsort(probabilities, kind="stable")]
    if not wrong.any():
        return ()
    errors = np.concatenate([[0], np.cumsum(wrong)]) / wrong.sum()
    return tuple(Review(share, float(errors[round(share * len(wrong))])) for share in REVIEWED)
