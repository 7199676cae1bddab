"""Calibration: of the arcs that a parser gives probability 0.8, are 80 % right?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arcwise.errors import InputError


@dataclass(frozen=True)
class ReliabilityBin:
    """Arcs whose probability lies in [low, high): how many, their mean probability, the share that is right."""

    low: float
    high: float
    count: int
    confidence: float
    accuracy: float


@dataclass(frozen=True)
class Calibration:
    """A reliability diagram and its expected calibration error: Σ share of arcs · |accuracy − confidence|."""

    bins: tuple[ReliabilityBin, ...]
    error: float

    def __str__(self) -> str:
        lines = ["probability      words   said  right"]
        for b in self.bins:
            if b.count:
                width = round(30 * b.accuracy)
                bar = "█" * width + " " * (31 - width)
                said = min(round(30 * b.confidence), 30)
                bar = bar[:said] + "│" + bar[said + 1 :]
                lines.append(
                    f"{b.low:.2f} – {b.high:.2f}  {b.count:>9,}  {b.confidence:.3f}  {b.accuracy:.3f}  {bar}"
                )
        lines.append(f"expected calibration error {100 * self.error:.2f} %")
        return "\n".join(lines)


def calibration(
    probabilities: npt.NDArray[np.floating], right: npt.NDArray[np.bool_], *, bins: int = 10
) -> Calibration:
    """The reliability of probabilities given to decisions that were right or not, in equally wide bins.

    >>> said = np.array([0.9, 0.9, 0.9, 0.9, 0.1])
    >>> found = calibration(said, np.array([True, True, True, False, False]))
    >>> found.bins[-1].accuracy, round(found.error, 3)
    (0.75, 0.14)
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
    return Calibration(tuple(found), error)
