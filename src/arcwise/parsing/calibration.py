"""Confidences that mean something: how reliable they are, and the temperatures that make them so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from arcwise.errors import InputError
from arcwise.evaluation.calibration import Calibration, calibration
from arcwise.parsing.parser import ParseOptions
from arcwise.parsing.parses import Parses, parses_of
from arcwise.parsing.scored import ScoredParser, Temperatures, decode_settings
from arcwise.parsing.scorer import decode_scores, label_codes
from arcwise.treebanks import Treebank

_LOW, _HIGH = 0.01, 10_000.0
_GOLDEN = (5**0.5 - 1) / 2
_SMALLEST = 1e-7
_KEPT_SENTENCES = 1000
"""Of so many sentences scores are kept, so that each is scored once; more are scored again for each temperature tried."""

P = TypeVar("P", bound=ScoredParser)


@dataclass(frozen=True)
class Reliability:
    """Do HeadProb (the head) and DeprelProb (head and label) mean what they say? ``None``: an unlabelled parser.

    ``head_loss`` is the mean of -log P(gold head), ``label_loss`` that of -log P(gold label | gold head), in nats.
    """

    heads: Calibration
    labels: Calibration | None
    head_loss: float
    label_loss: float


def reliability(parser: ScoredParser, treebank: Treebank, *, bins: int = 10, threads: int = 1) -> Reliability:
    """How well the parser's probabilities agree with a treebank that has the right trees."""
    return _reliability(parser, treebank, _parsed_by(parser, treebank, threads)(parser.temperatures), bins)


def _reliability(parser: ScoredParser, treebank: Treebank, parses: Parses, bins: int) -> Reliability:
    found = parses.probabilities
    assert found is not None
    known = np.asarray(treebank.heads) >= 0
    right = parses.heads == treebank.heads
    heads = calibration(found.head[known], right[known], bins=bins)
    labels = None
    if parser.labels:
        right_label = right & (parses.label_strings == np.array(treebank.column("deprel"), object))
        labels = calibration(found.label[known], right_label[known], bins=bins)
    return Reliability(heads, labels, *_losses(treebank, parses))


def _losses(treebank: Treebank, parses: Parses) -> tuple[float, float]:
    """The mean of -log P(gold head), and of -log P(gold label | gold head)."""
    assert parses.probabilities is not None
    asked = parses.probabilities.asked
    assert asked is not None
    known = np.asarray(treebank.heads) >= 0
    # Labels that the parser does not consider on such an arc (-1) have no probability at any temperature.
    possible = known & (asked.label >= 0) if parses.label_names else np.zeros(0, np.int64)
    return _mean_loss(asked.head[known]), _mean_loss(asked.label[possible])


def _parsed_by(
    parser: ScoredParser, treebank: Treebank, threads: int, *, keep: bool = False
) -> Callable[[Temperatures], Parses]:
    """A function from temperatures to the parse of the treebank with probabilities. ``keep``: its sentences are scored once."""
    if not (np.asarray(treebank.heads) >= 0).any():
        raise InputError(f"{treebank.source}: has no heads, expected trees to compare with")
    options = ParseOptions(confidence=True)
    if not keep:
        return lambda temperatures: parser.with_temperatures(temperatures.heads, temperatures.labels).parses(
            treebank, options=options, asked=True, threads=threads
        )
    scores = parser.scorer.scores(treebank, trees=parser.decoding.trees, threads=threads)
    asked = np.ascontiguousarray(treebank.heads, np.int32), label_codes(treebank, parser.labels)

    def parsed(temperatures: Temperatures) -> Parses:
        settings = decode_settings(parser.decoding, temperatures, probabilities=True)
        result = decode_scores(scores, settings, asked=asked, threads=threads)
        return parses_of(result, parser.labels, probabilities=True, asked=True)

    return parsed


def fit_temperatures(parser: P, treebank: Treebank, *, threads: int = 1, steps: int = 18) -> P:
    """The parser with the temperatures that make the treebank's heads, and its labels given their heads, most probable.

    Scores are divided by a temperature before they become probabilities (Guo et al. 2017); trees do not change, but for minimum
    risk. Trained for the best tree, a parser may be sure of heads and yet know labels by small margins only: so labels have
    a temperature of their own. Neither loss depends on the other temperature, so one search finds both.
    """
    parsed = _parsed_by(parser, treebank, threads, keep=len(treebank) <= _KEPT_SENTENCES)

    def at(logs: npt.NDArray[np.float64]) -> Temperatures:
        heads, labels = (float(t) for t in np.exp(logs))
        return Temperatures(heads, labels if parser.labels else 1.0)

    def losses(logs: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return np.array(_losses(treebank, parsed(at(logs))))

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
    best = at((low + high) / 2)
    return parser.with_temperatures(best.heads, best.labels)


def _mean_loss(probabilities: npt.NDArray[np.float32]) -> float:
    return float(-np.log(np.maximum(probabilities, _SMALLEST)).mean()) if len(probabilities) else 0.0
