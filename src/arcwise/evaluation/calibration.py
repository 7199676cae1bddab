"""Calibration: of the arcs that a parser gives probability 0.8, are 80 % right?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arcwise.errors import InputError

REVIEWED = (0.05, 0.1, 0.2, 0.3)
"""Shares of the words for which ``Calibration.reviews`` tells what a review of them finds."""


@dataclass(frozen=True)
class ReliabilityBin:
    """Arcs whose probability lies in [low, high): how many, their mean probability, the share that is right."""

    low: float
    high: float
    count: int
    confidence: float
    accuracy: float


@dataclass(frozen=True)
class Review:
    """Whoever checks the ``share`` of the words that the parser is least sure of finds the share ``errors`` of its errors."""

    share: float
    errors: float


@dataclass(frozen=True)
class Calibration:
    """A reliability diagram, its expected calibration error Σ share of arcs · |accuracy − confidence|, and what doubt is worth."""

    bins: tuple[ReliabilityBin, ...]
    error: float
    reviews: tuple[Review, ...]
    """Empty where there are no errors to be found."""
    brier: float = 0.0
    """The mean of (probability − right)², right being 0 or 1 (Brier 1950): it falls with doubt in the wrong and with sureness in the right."""

    @property
    def excess(self) -> float:
        """By how much more is said than is right, on the whole: the mean probability less the share that is right."""
        words = sum(b.count for b in self.bins)
        return sum(b.count * (b.confidence - b.accuracy) for b in self.bins) / max(words, 1)

    def __str__(self) -> str:
        lines = ["probability      words   said   right  (in %)"]
        for b in self.bins:
            if b.count:
                width = round(30 * b.accuracy)
                bar = "█" * width + " " * (31 - width)
                said = min(round(30 * b.confidence), 30)
                bar = bar[:said] + "│" + bar[said + 1 :]
                lines.append(
                    f"{100 * b.low:>4.3g} – {100 * b.high:<4.3g}  {b.count:>9,}  {100 * b.confidence:>5.1f}  {100 * b.accuracy:>6.1f}  {bar}"
                )
        lines.append(f"expected calibration error {100 * self.error:.2f} %")
        if self.reviews:
            found = [f"{100 * r.errors:.0f} % among {100 * r.share:g} %" for r in self.reviews]
            lines.append(f"errors among the words it is least sure of: {', '.join(found)} of the words")
        return "\n".join(lines)


def calibration(
    probabilities: npt.NDArray[np.floating], right: npt.NDArray[np.bool_], *, bins: int = 10
) -> Calibration:
    """The reliability of probabilities given to decisions that were right or not, in equally wide bins.

    >>> said = np.array([0.9, 0.9, 0.9, 0.9, 0.1])
    >>> found = calibration(said, np.array([True, True, True, False, False]))
    >>> found.bins[-1].accuracy, round(found.error, 3)
    (0.75, 0.14)
    >>> [(review.share, review.errors) for review in found.reviews if review.share == 0.2]   # the last word, an error
    [(0.2, 0.5)]
    """
    if len(probabilities) != len(right) or not len(right):
        raise InputError(
            f"right: found {len(right)} values, expected one for each of {len(probabilities)} probabilities"
        )
    if bins < 1:
        raise InputError(f"bins: found {bins}, expected at least 1")
    place = np.minimum((np.asarray(probabilities, np.float64) * bins).astype(int), bins - 1)
    found, error = [], 0.0
    for b in range(bins):
        own = place == b
        count = int(own.sum())
        said = float(probabilities[own].mean()) if count else 0.0
        true = float(right[own].mean()) if count else 0.0
        found.append(ReliabilityBin(b / bins, (b + 1) / bins, count, said, true))
        error += count / len(right) * abs(true - said)
    brier = float(np.mean((np.asarray(probabilities, np.float64) - right) ** 2))
    return Calibration(tuple(found), error, _reviews(probabilities, right), brier)


def _reviews(probabilities: npt.NDArray[np.floating], right: npt.NDArray[np.bool_]) -> tuple[Review, ...]:
    wrong = ~right[np.argsort(probabilities, kind="stable")]
    if not wrong.any():
        return ()
    errors = np.concatenate([[0], np.cumsum(wrong)]) / wrong.sum()
    return tuple(Review(share, float(errors[round(share * len(wrong))])) for share in REVIEWED)
