"""Confidences that mean something: how reliable they are, and the temperature that makes them so."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arcwise.errors import InputError
from arcwise.evaluation.calibration import Calibration, calibration
from arcwise.graph.parser import GraphParser
from arcwise.learning.parser import ParseOptions
from arcwise.treebanks import Treebank

_LOW, _HIGH = 0.01, 10_000.0
_GOLDEN = (5**0.5 - 1) / 2
_SMALLEST = 1e-7


@dataclass(frozen=True)
class HeadReliability:
    """Reliability of HeadProb, and the mean of -log P(gold head), in nats."""

    calibration: Calibration
    loss: float


def reliability(
    parser: GraphParser, treebank: Treebank, *, bins: int = 10, threads: int = 1
) -> HeadReliability:
    """How well the parser's probabilities of heads agree with a treebank that has the right ones."""
    known = treebank.heads >= 0
    if not known.any():
        raise InputError(f"{treebank.source}: has no heads, expected trees to compare with")
    result = parser.raw_parse(treebank, options=ParseOptions(confidence=True), threads=threads)
    right = (result["heads"] == treebank.heads)[known]
    loss = -np.log(np.maximum(result["gold_probability"][known], _SMALLEST)).mean()
    return HeadReliability(calibration(result["head_probability"][known], right, bins=bins), float(loss))


def fit_temperature(
    parser: GraphParser, treebank: Treebank, *, threads: int = 1, steps: int = 18
) -> GraphParser:
    """The parser with the temperature that makes the treebank's heads most probable.

    Scores are divided by the temperature before they become probabilities (Guo et al. 2017); trees do not change, but for minimum
    Bayes risk. The minimum of the mean -log P(gold head) over the logarithm of the temperature is found by golden section.
    """

    def loss(log_temperature: float) -> float:
        return reliability(at(log_temperature), treebank, threads=threads).loss

    def at(log_temperature: float) -> GraphParser:
        return GraphParser(parser.model.with_temperature(float(np.exp(log_temperature))))

    low, high = float(np.log(_LOW)), float(np.log(_HIGH))
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    left_loss, right_loss = loss(left), loss(right)
    for _ in range(steps):
        if left_loss < right_loss:
            high, right, right_loss = right, left, left_loss
            left = high - _GOLDEN * (high - low)
            left_loss = loss(left)
        else:
            low, left, left_loss = left, right, right_loss
            right = low + _GOLDEN * (high - low)
            right_loss = loss(right)
    return at((low + high) / 2)
