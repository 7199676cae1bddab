"""Confidences that mean something: how reliable they are, and the temperatures and the smoothing that make them so."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from arcwise.errors import InputError
from arcwise.evaluation.calibration import Calibration, calibration
from arcwise.parsing.parser import ParseOptions
from arcwise.parsing.parses import Parses, parses_from_native
from arcwise.parsing.scored import ScoredParser, Temperatures, decode_settings
from arcwise.parsing.scorer import decode_scores, label_codes
from arcwise.treebanks import Treebank

_LOW, _HIGH = 0.01, 10_000.0
_NEAR = 3.0
"""The second search looks at temperatures up to so many times higher or lower than those of the first."""
_GOLDEN = (5**0.5 - 1) / 2
_GAIN = 1e-5
"""Nats a word that are worth a step."""
_FIRST_SMOOTHING, _MOST_SMOOTHING = 0.1, 10.0
_STEPS = tuple(np.log(2) * 0.5**halved for halved in range(3))
"""Of the search for the smoothing, in its logarithm: by a factor of 2 to 1.19. Those of the temperature are a quarter of that."""
_DIRECTIONS = np.array([(-1, 1), (0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0)]) * (0.25, 1)
_SMOOTHINGS = (0.0, 0.001, 0.01, 0.05, 0.15, 0.4, 1.0)
"""That are tried beside that of the greatest likelihood."""
_SMALLEST = 1e-7
_KEPT_SENTENCES = 1000
"""Of so many sentences scores are kept, so that each is scored once; more are scored again for each temperature tried."""

P = TypeVar("P", bound=ScoredParser)

ParserAt = Callable[[float, float, float], ScoredParser]
"""From the temperatures of heads and of labels, and the smoothing, to the parser with them."""
Parts = Sequence[tuple[ParserAt, Treebank]]
"""Treebanks, each parsed by a parser of its own."""


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
    return _reliability(parser, treebank, _parsed_by(parser, treebank, threads)(parser.fitted), bins)


def _reliability(parser: ScoredParser, treebank: Treebank, parses: Parses, bins: int) -> Reliability:
    heads = _calibration([(parses, treebank)], bins=bins)
    labels = _calibration([(parses, treebank)], labels=True, bins=bins) if parser.labels else None
    return Reliability(heads, labels, *_losses([(treebank, parses)]))


def _losses(parsed: Sequence[tuple[Treebank, Parses]]) -> tuple[float, float]:
    """The mean of -log P(gold head), and of -log P(gold label | gold head), over the words of all treebanks."""
    heads, labels = [np.zeros(0, np.float32)], [np.zeros(0, np.float32)]
    for treebank, parses in parsed:
        assert parses.probabilities is not None
        gold = parses.probabilities.gold
        assert gold is not None
        known = np.asarray(treebank.heads) >= 0
        heads.append(gold.head[known])
        # Labels that the parser does not know (-1) have no probability at any temperature.
        if parses.label_names:
            labels.append(gold.label[known & (gold.label >= 0)])
    return _mean_loss(np.concatenate(heads)), _mean_loss(np.concatenate(labels))


def _parsed_by(
    parser: ScoredParser, treebank: Treebank, threads: int, *, keep: bool = False
) -> Callable[[Temperatures], Parses]:
    """A function from temperatures to the parse of the treebank with probabilities. ``keep``: its sentences are scored once."""
    if not (np.asarray(treebank.heads) >= 0).any():
        raise InputError(f"{treebank.source}: has no heads, expected trees to compare with")
    options = ParseOptions(confidence=True)
    if not keep:
        return lambda temperatures: _at(parser.with_temperatures, temperatures).parses(
            treebank, options=options, gold=True, threads=threads
        )
    decoding, names = parser.decoding, parser.labels
    scores = parser.scorer.scores(treebank, trees=decoding.trees, threads=threads)
    gold = np.ascontiguousarray(treebank.heads, np.int32), label_codes(treebank, names)

    def parsed(temperatures: Temperatures) -> Parses:
        found, left = scores, temperatures
        if parser.scores_are_tempered:
            at = parser.fitted
            found = scores.tempered(temperatures.heads / at.heads, temperatures.labels / at.labels)
            left = Temperatures(smoothing=temperatures.smoothing)
        settings = decode_settings(decoding, left, probabilities=True)
        result = decode_scores(found, settings, gold=gold, threads=threads)
        return parses_from_native(result, names, probabilities=True, gold=True)

    return parsed


def fit_temperatures(parser: P, treebank: Treebank, *, threads: int = 1, steps: int = 18) -> P:
    """The parser with the temperatures and the smoothing that make the treebank's heads, and its labels given their heads, most
    probable.

    Scores are divided by a temperature before they become probabilities (Guo et al. 2017); trees do not change, but for minimum
    risk. Trained for the best tree, a parser may be sure of heads and yet know labels by small margins only: so labels have
    a temperature of their own. And trained on little, it rules some right heads out altogether: what smoothing leaves to all heads
    keeps the temperature from doubting everything instead.
    """
    best = fit_common_temperatures(
        [(parser.with_temperatures, treebank)], start=parser.fitted, threads=threads, steps=steps
    )
    return _at(parser.with_temperatures, best)


def calibrated(parser: P, treebank: Treebank, *, threads: int = 1) -> P:
    """The parser with what makes the treebank's heads and labels most probable, and then, from there on, with the temperatures at which
    what it says is right as often as it says: what ``arcwise calibrate`` fits."""
    likeliest = fit_temperatures(parser, treebank, threads=threads)
    best = match_temperatures([(parser.with_temperatures, treebank)], likeliest.fitted, threads=threads)
    return _at(parser.with_temperatures, best)


def fit_common_temperatures(
    parts: Parts, *, start: Temperatures = Temperatures(), threads: int = 1, steps: int = 18
) -> Temperatures:
    """The temperatures and the smoothing that make the heads and labels of all treebanks together most probable, each parsed by
    a parser of its own.

    What training never saw has scores that depend on the temperatures (``GraphScorer``). So after a search with the scores at
    ``start``, a second one near what it has found scores everything again at each temperature, unless all parsers' scores are simply
    divided by it.
    """
    low, high = np.full(2, np.log(_LOW)), np.full(2, np.log(_HIGH))
    small = sum(len(treebank) for _, treebank in parts) <= _KEPT_SENTENCES
    found = _search(_Losses(parts, start, threads, keep=small), Temperatures(), low, high, steps)
    found = _smoothed(_Losses(parts, found, threads, keep=small), found)
    if all(_at(parser_at, found).scores_are_tempered for parser_at, _ in parts):
        return found
    middle = np.log([found.heads, found.labels])
    low, high = np.maximum(middle - np.log(_NEAR), low), np.minimum(middle + np.log(_NEAR), high)
    return _search(_Losses(parts, found, threads, keep=False), found, low, high, max(steps - 7, 1))


def match_temperatures(
    parts: Parts, start: Temperatures, *, threads: int = 1, steps: int = 8
) -> Temperatures:
    """The temperatures at which what is said is right as often as it says, on the whole: the mean of the probabilities of the heads found
    is the share of them that are right, and so for heads with labels. They are sought from ``start`` on; of several smoothings, each with
    its temperature, the one with the least Brier score of heads is taken.

    What makes the right heads most probable doubts too much where a parser is now and then sure and wrong: one such word counts more
    than many that are doubted for nothing.
    """
    parts = _with_heads(parts)
    if not parts:
        return start
    said = _Said(parts, start, threads)
    tried = []
    for smoothing in sorted({start.smoothing, *_SMOOTHINGS}):
        own = replace(start, smoothing=smoothing)
        heads = _matched(lambda t, own=own: said(replace(own, heads=t)).excess, start.heads, steps)  # type: ignore[misc]
        tried.append(replace(own, heads=heads))
    found = min(tried, key=lambda one: said(one).brier)
    return _labels_matched(said, found, steps)


def match_label_temperature(
    parts: Parts, start: Temperatures, *, threads: int = 1, steps: int = 8
) -> Temperatures:
    """``start`` with the temperature of labels at which heads with labels are right as often as is said, on the whole."""
    parts = _with_heads(parts)
    return _labels_matched(_Said(parts, start, threads), start, steps) if parts else start


def _with_heads(parts: Parts) -> Parts:
    """Those that have something to compare with."""
    return [(parser_at, treebank) for parser_at, treebank in parts if (np.asarray(treebank.heads) >= 0).any()]


def _labels_matched(said: _Said, start: Temperatures, steps: int) -> Temperatures:
    if not said.labelled:
        return start
    labels = _matched(lambda t: said(replace(start, labels=t), labels=True).excess, start.labels, steps)
    return replace(start, labels=labels)


def _matched(excess: Callable[[float], float], start: float, steps: int) -> float:
    """Where what is said in excess of what is right, which falls with the temperature, is 0: by halving the logarithm. First near ``start``;
    if it is not there, further on that way."""
    reach, width = np.log((_LOW, _HIGH)), 2 * np.log(_NEAR)
    first, way = np.log(start / _NEAR), 0
    while True:
        low, high = first, first + width
        for _ in range(steps):
            middle = (low + high) / 2
            low, high = (middle, high) if excess(float(np.exp(middle))) > 0 else (low, middle)
        turn = -1 if low == first else 1 if high == first + width else 0
        if turn == 0 or turn == -way or not reach[0] < first + turn * width < reach[1]:
            return float(np.exp((low + high) / 2))
        first, way = first + turn * width, turn


class _Said:
    """From temperatures to what is said of the heads found, or of heads and labels together, and what of it is right."""

    def __init__(self, parts: Parts, start: Temperatures, threads: int) -> None:
        keep = sum(len(treebank) for _, treebank in parts) <= _KEPT_SENTENCES
        parsers = [(_at(parser_at, start), treebank) for parser_at, treebank in parts]
        self.labelled = any(parser.labels for parser, _ in parsers)
        self._parsed = [
            (treebank, _parsed_by(parser, treebank, threads, keep=keep)) for parser, treebank in parsers
        ]

    def __call__(self, temperatures: Temperatures, *, labels: bool = False) -> Calibration:
        parsed = [(parses(temperatures), treebank) for treebank, parses in self._parsed]
        return _calibration(parsed, labels=labels)


def _at(parser_at: Callable[[float, float, float], P], temperatures: Temperatures) -> P:
    return parser_at(temperatures.heads, temperatures.labels, temperatures.smoothing)


class _Losses:
    """From temperatures to the losses of heads and of labels over all parts. ``keep``: scores stay those at the temperatures ``start``."""

    def __init__(self, parts: Parts, start: Temperatures, threads: int, *, keep: bool) -> None:
        self.labelled = False
        self._parsed = []
        for parser_at, treebank in parts:
            parser = _at(parser_at, start)
            self.labelled = self.labelled or bool(parser.labels)
            self._parsed.append((treebank, _parsed_by(parser, treebank, threads, keep=keep)))

    def __call__(self, temperatures: Temperatures) -> npt.NDArray[np.float64]:
        return np.array(_losses([(treebank, parsed(temperatures)) for treebank, parsed in self._parsed]))


def _search(
    losses_at: _Losses,
    start: Temperatures,
    low: npt.NDArray[np.float64],
    high: npt.NDArray[np.float64],
    steps: int,
) -> Temperatures:
    """Golden section over the logarithms of both temperatures at once, for neither loss depends on the other temperature."""

    def at(logs: npt.NDArray[np.float64]) -> Temperatures:
        heads, labels = (float(t) for t in np.exp(logs))
        return replace(start, heads=heads, labels=labels if losses_at.labelled else 1.0)

    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    left_loss, right_loss = losses_at(at(left)), losses_at(at(right))
    for _ in range(steps):
        leftwards = left_loss < right_loss
        low, high = np.where(leftwards, low, left), np.where(leftwards, right, high)
        tried = np.where(leftwards, high - _GOLDEN * (high - low), low + _GOLDEN * (high - low))
        tried_loss = losses_at(at(tried))
        left, right = np.where(leftwards, tried, right), np.where(leftwards, left, tried)
        left_loss, right_loss = (
            np.where(leftwards, tried_loss, right_loss),
            np.where(leftwards, left_loss, tried_loss),
        )
    return at((low + high) / 2)


def _smoothed(losses_at: _Losses, start: Temperatures) -> Temperatures:
    """With smoothing, if that makes heads more probable: it and the temperature of heads by steps in the logarithms of both, to wherever
    the loss falls, smaller ones where it falls nowhere."""

    def at(logs: npt.NDArray[np.float64]) -> Temperatures:
        heads, smoothing = (float(x) for x in np.exp(logs))
        return replace(start, heads=heads, smoothing=min(smoothing, _MOST_SMOOTHING))

    here = np.log([start.heads, _FIRST_SMOOTHING])
    least = losses_at(at(here))[0]
    for step in _STEPS:
        direction, failed = 0, 0
        while failed < len(_DIRECTIONS):
            there = here + step * _DIRECTIONS[direction]
            if (loss := losses_at(at(there))[0]) < least - _GAIN:
                here, least, failed = there, loss, 0  # and on in this direction
            else:
                direction, failed = (direction + 1) % len(_DIRECTIONS), failed + 1
    return at(here) if least < losses_at(start)[0] - _GAIN else start


def head_calibration_error(parts: Sequence[tuple[Parses, Treebank]]) -> float:
    """The expected calibration error of the heads of several parses together."""
    return _calibration(parts).error


def _calibration(
    parts: Sequence[tuple[Parses, Treebank]], *, labels: bool = False, bins: int = 10
) -> Calibration:
    """What several parses say of the heads they found, or of heads and labels together, beside what is right."""
    said, rights = [np.zeros(0)], [np.zeros(0, np.bool_)]
    for parses, treebank in parts:
        found = parses.probabilities
        assert found is not None
        known = np.asarray(treebank.heads) >= 0
        right = parses.heads == treebank.heads
        if labels:
            right = right & (parses.label_strings == np.array(treebank.column("deprel"), object))
        said.append(np.asarray(found.label if labels else found.head, np.float64)[known])
        rights.append(right[known])
    return calibration(np.concatenate(said), np.concatenate(rights), bins=bins)


def _mean_loss(probabilities: npt.NDArray[np.float32]) -> float:
    return (
        float(-np.log(np.maximum(probabilities, _SMALLEST)).mean()) + 0.0 if len(probabilities) else 0.0
    )  # never -0.0


UNCALIBRATED = (
    "confidences are not calibrated: the parser was trained without development data. "
    "'arcwise calibrate' fits them, 'arcwise train --dev 5fold' needs no other data"
)


def confidence_text(info: Mapping[str, Any]) -> str | None:
    """What is to be known of the confidences of a parser, by its ``info``: on what they were fitted, or that they were not. None if it has none.

    >>> confidence_text({"temperature": 1.0}) == UNCALIBRATED
    True
    >>> confidence_text({"temperature": 0.4, "calibration": {"on": "5fold of the training data", "error": 0.031, "doubts": []}})
    'confidences are calibrated on 5fold of the training data (calibration error of heads there 3.1 %)'
    """
    info = info["parser"] if info.get("kind") == "pipeline" else info
    if "temperature" not in info:
        return None
    found = info.get("calibration")
    if found is None:
        return UNCALIBRATED if info["temperature"] == 1.0 else "confidences are calibrated"
    if found["doubts"]:
        return f"confidences are calibrated on {found['on']}, but are doubtful: {'; '.join(found['doubts'])}"
    return f"confidences are calibrated on {found['on']} (calibration error of heads there {100 * found['error']:.1f} %)"


def confidence_warning(info: Mapping[str, Any]) -> str | None:
    """The same where there is something to warn of."""
    text = confidence_text(info)
    return text if text is not None and ("not calibrated" in text or "doubtful" in text) else None
