"""Confidences that mean something: how reliable they are, and the temperatures that make them so."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arcwise.errors import InputError
from arcwise.evaluation.calibration import Calibration, calibration
from arcwise.graph.parser import GraphParser
from arcwise.parsing.parser import ParseOptions
from arcwise.treebanks import Treebank

_LOW, _HIGH = 0.01, 10_000.0
_GOLDEN = (5**0.5 - 1) / 2
_SMALLEST = 1e-7


@dataclass(frozen=True)
class Reliability:
    """Do HeadProb (the head) and DeprelProb (head and label) mean what they say? ``None``: an unlabelled parser.

    ``head_loss`` is the mean of -log P(gold head), ``label_loss`` that of -log P(gold label | gold head), in nats.
    """

    heads: Calibration
    labels: Calibration | None
    head_loss: float
    label_loss: float


def reliability(parser: GraphParser, treebank: Treebank, *, bins: int = 10, threads: int = 1) -> Reliability:
    """How well the parser's probabilities agree with a treebank that has the right trees."""
    known = treebank.heads >= 0
    if not known.any():
        raise InputError(f"{treebank.source}: has no heads, expected trees to compare with")
    result = parser.raw_parse(treebank, options=ParseOptions(confidence=True), threads=threads)
    right = result["heads"] == treebank.heads
    heads = calibration(result["head_probability"][known], right[known], bins=bins)
    head_loss = _mean_loss(result["gold_probability"][known])
    names = np.array(parser.model.alphabets.labels)
    if not len(names):
        return Reliability(heads, None, head_loss, 0.0)
    right_label = right & (names[result["labels"]] == np.array(treebank.column("deprel")))
    labels = calibration(result["label_probability"][known], right_label[known], bins=bins)
    # Labels that the parser does not consider on such an arc (-1) have no probability at any temperature.
    possible = known & (result["gold_label_probability"] >= 0)
    return Reliability(heads, labels, head_loss, _mean_loss(result["gold_label_probability"][possible]))


def fit_temperatures(
    parser: GraphParser, treebank: Treebank, *, threads: int = 1, steps: int = 18
) -> GraphParser:
    """The parser with the temperatures that make the treebank's heads, and its labels given their heads, most probable.

    Scores are divided by a temperature before they become probabilities (Guo et al. 2017); trees do not change, but for minimum
    Bayes risk. Trained for the best tree, a parser may be sure of heads and yet know labels by small margins only: so labels have
    a temperature of their own. Neither loss depends on the other temperature, so one search finds both.
    """

    def at(logs: npt.NDArray[np.float64]) -> GraphParser:
        heads, labels = (float(t) for t in np.exp(logs))
        labelled = bool(parser.model.alphabets.labels)
        return GraphParser(parser.model.with_temperatures(heads, labels if labelled else 1.0))

    def losses(logs: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        found = reliability(at(logs), treebank, threads=threads)
        return np.array([found.head_loss, found.label_loss])

    # Golden section over the logarithms of both temperatures at once.
    low, high = np.full(2, np.log(_LOW)), np.full(2, np.log(_HIGH))
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    left_loss, right_loss = losses(left), losses(right)
    for _ in range(steps):
        leftwards = left_loss < right_loss
        low, high = np.where(leftwards, low, left), np.where(leftwards, right, high)
        tried = np.where(leftwards, high - _GOLDEN * (high - low), low + _GOLDEN * (high - low))
        tried_loss = losses(tried)
        left, right = np.where(leftwards, tried, right), np.where(leftwards, left, tried)
        left_loss, right_loss = (
            np.where(leftwards, tried_loss, right_loss),
            np.where(leftwards, left_loss, tried_loss),
        )
    return at((low + high) / 2)


def _mean_loss(probabilities: npt.NDArray[np.float32]) -> float:
    return float(-np.log(np.maximum(probabilities, _SMALLEST)).mean()) if len(probabilities) else 0.0
