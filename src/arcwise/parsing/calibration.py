"""Calibration: measure the reliability of confidences, and fit temperatures and smoothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from arcwise.errors import InputError
from arcwise.evaluation.calibration import Calibration, calibration
from arcwise.inference import Scores
from arcwise.parsing.parser import ParseOptions
from arcwise.parsing.parses import Parses, parses_from_native
from arcwise.parsing.scored import ScoredParser, Temperatures, decode_settings
from arcwise.parsing.scorer import decode_scores, label_codes
from arcwise.treebanks import Treebank

# Margins of online trainers have no natural scale, so the search covers six orders of magnitude.
_LOW, _HIGH = 0.01, 10_000.0
_NEAR = 3.0
"""The second search covers temperatures up to this factor above or below those of the first."""
_GOLDEN = (5**0.5 - 1) / 2
_GAIN = 1e-5
"""Minimum improvement of a search step, in nats per word."""
_FIRST_SMOOTHING, _MOST_SMOOTHING = 0.1, 10.0
_STEPS = tuple(np.log(2) * 0.5**halved for halved in range(3))
"""Log steps of the smoothing search (factors of 2 to 1.19); temperature steps are a quarter."""
_DIRECTIONS = np.array([(-1, 1), (0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0)]) * (0.25, 1)
_SMOOTHINGS = (0.0, 0.001, 0.01, 0.05, 0.15, 0.4, 1.0)
"""Candidates in addition to the maximum-likelihood smoothing."""
# The precision of float32: below it a probability is rounding, and log 0 would be infinite.
_SMALLEST = 1e-7
_MAX_CACHED_SENTENCES = 1000
"""Up to this many sentences are scored once; more are scored again at each temperature."""

P = TypeVar("P", bound=ScoredParser)

ParserAt = Callable[[float, float, float], ScoredParser]
"""Makes a parser with given head temperature, label temperature and smoothing."""
Parts = Sequence[tuple[ParserAt, Treebank]]
"""Treebanks, each with its own parser."""


@dataclass(frozen=True)
class Reliability:
    """Calibration of HeadProb (``heads``) and DeprelProb (``labels``; None for an unlabelled parser).

    ``head_loss`` is the mean of -log P(gold head), ``label_loss`` that of -log P(gold label | gold head), in
    nats.
    """

    heads: Calibration
    labels: Calibration | None
    head_loss: float
    label_loss: float


def reliability(parser: ScoredParser, treebank: Treebank, *, bins: int = 10, threads: int = 1) -> Reliability:
    """Compare the parser's probabilities with the gold trees of a treebank."""
    return _reliability(parser, treebank, _parsed_by(parser, treebank, threads)(parser.fitted), bins)


def _reliability(parser: ScoredParser, treebank: Treebank, parses: Parses, bins: int) -> Reliability:
    heads = _calibration([(parses, treebank)], bins=bins)
    labels = _calibration([(parses, treebank)], labels=True, bins=bins) if parser.labels else None
    return Reliability(heads, labels, *_losses([(parses, treebank)]))


def _losses(parsed: Sequence[tuple[Parses, Treebank]]) -> tuple[float, float]:
    """Mean -log P(gold head) and mean -log P(gold label | gold head) over the words of all treebanks."""
    heads, labels = [np.zeros(0, np.float32)], [np.zeros(0, np.float32)]
    for parses, treebank in parsed:
        assert parses.probabilities is not None
        gold = parses.probabilities.gold
        assert gold is not None
        has_head = np.asarray(treebank.heads) >= 0
        heads.append(gold.head[has_head])
        # Labels that the parser does not have (-1) have no probability at any temperature.
        if parses.label_names:
            labels.append(gold.label[has_head & (gold.label >= 0)])
    return _mean_loss(np.concatenate(heads)), _mean_loss(np.concatenate(labels))


def _require_heads(treebank: Treebank) -> None:
    if not (np.asarray(treebank.heads) >= 0).any():
        raise InputError(f"{treebank.source}: has no heads, expected gold trees")


def _parsed_by(parser: ScoredParser, treebank: Treebank, threads: int) -> Callable[[Temperatures], Parses]:
    """A function from temperatures to parses, which scores the sentences each time."""
    _require_heads(treebank)
    options = ParseOptions(confidence=True)
    return lambda temperatures: _at(parser.with_temperatures, temperatures).parses(
        treebank, options=options, gold=True, threads=threads
    )


def _parsed_from(
    parser: ScoredParser, treebank: Treebank, scores: Scores, threads: int
) -> Callable[[Temperatures], Parses]:
    """A function from temperatures to parses from the parser's scores, with or without labels."""
    decoding, names = parser.decoding, scores.labels
    gold = np.ascontiguousarray(treebank.heads, np.int32), label_codes(treebank, names)

    def parsed(temperatures: Temperatures) -> Parses:
        tempered, remaining = scores, temperatures
        # These scores are divided already: only the ratio to the fitted temperatures is left to apply.
        if parser.scores_are_tempered:
            at = parser.fitted
            tempered = scores.tempered(temperatures.heads / at.heads, temperatures.labels / at.labels)
            remaining = Temperatures(smoothing=temperatures.smoothing)
        settings = decode_settings(decoding, remaining, probabilities=True)
        result = decode_scores(tempered, settings, gold=gold, threads=threads)
        return parses_from_native(result, names, probabilities=True, gold=True)

    return parsed


def fit_temperatures(parser: P, treebank: Treebank, *, threads: int = 1, steps: int = 18) -> P:
    """Fit temperatures and smoothing by maximum likelihood of heads, and of labels given heads.

    Scores are divided by a temperature before normalisation (Guo et al. 2017); this changes no tree except
    minimum-risk ones. Labels have a separate temperature, because the margins of labels and heads differ in
    scale. Smoothing covers gold heads that a parser trained on little data rules out; otherwise a few of them
    would raise the temperature for all words.
    """
    best = fit_common_temperatures(
        [(parser.with_temperatures, treebank)], start=parser.fitted, threads=threads, steps=steps
    )
    return _at(parser.with_temperatures, best)


def calibrated(parser: P, treebank: Treebank, *, threads: int = 1) -> P:
    """Fit by maximum likelihood, then match mean confidence and accuracy (``arcwise calibrate``)."""
    likeliest = fit_temperatures(parser, treebank, threads=threads)
    best = match_temperatures([(parser.with_temperatures, treebank)], likeliest.fitted, threads=threads)
    return _at(parser.with_temperatures, best)


def fit_common_temperatures(
    parts: Parts, *, start: Temperatures = Temperatures(), threads: int = 1, steps: int = 18
) -> Temperatures:
    """Fit temperatures and smoothing on several treebanks, each with its own parser.

    ``GraphScorer`` gives arcs unseen in training scores that depend on the temperatures. After a search with
    the scores at ``start``, a second, narrower one therefore scores everything again at each temperature,
    unless the scores of all parsers are simply divided by it.
    """
    low, high = np.full(2, np.log(_LOW)), np.full(2, np.log(_HIGH))
    small = _is_small(parts)
    best = _search(_ParsesAt(parts, start, threads, keep=small), Temperatures(), low, high, steps)
    best = _fit_smoothing(_ParsesAt(parts, best, threads, keep=small), best)
    if all(_at(parser_at, best).scores_are_tempered for parser_at, _ in parts):
        return best
    middle = np.log([best.heads, best.labels])
    low, high = np.maximum(middle - np.log(_NEAR), low), np.minimum(middle + np.log(_NEAR), high)
    # Fewer steps: the interval is a factor of nine wide, not a million.
    return _search(_ParsesAt(parts, best, threads, keep=False), best, low, high, max(steps - 7, 1))


def match_temperatures(
    parts: Parts, start: Temperatures, *, threads: int = 1, steps: int = 8
) -> Temperatures:
    """Find the temperatures at which mean confidence equals accuracy, for heads and for heads with labels.

    The search begins at ``start``; of several smoothings, each with its own temperature, the one with the
    lowest Brier score of heads wins. Maximum likelihood alone leaves a parser underconfident if it is
    occasionally confident and wrong, because one such word outweighs many that are doubted for no reason.
    """
    parts = _with_heads(parts)
    if not parts:
        return start
    parses_at = _ParsesAt(parts, start, threads, keep=_is_small(parts))
    candidates = []
    for smoothing in sorted({start.smoothing, *_SMOOTHINGS}):
        smoothed = replace(start, smoothing=smoothing)

        def excess(temperature: float, smoothed: Temperatures = smoothed) -> float:
            return _calibration(parses_at.heads(replace(smoothed, heads=temperature))).overconfidence

        candidates.append(replace(smoothed, heads=_root(excess, start.heads, steps)))
    best = min(candidates, key=lambda candidate: _calibration(parses_at.heads(candidate)).brier)
    return _match_labels(parses_at, best, steps)


def match_label_temperature(
    parts: Parts, start: Temperatures, *, threads: int = 1, steps: int = 8
) -> Temperatures:
    """Find the label temperature at which the mean confidence of heads with labels equals their accuracy."""
    parts = _with_heads(parts)
    parses_at = _ParsesAt(parts, start, threads, keep=_is_small(parts))
    return _match_labels(parses_at, start, steps) if parts else start


def _is_small(parts: Parts) -> bool:
    # Scores of a small treebank fit into memory, and a search uses them two dozen times.
    return sum(len(treebank) for _, treebank in parts) <= _MAX_CACHED_SENTENCES


def _with_heads(parts: Parts) -> Parts:
    """The parts whose treebank has any heads."""
    return [(parser_at, treebank) for parser_at, treebank in parts if (np.asarray(treebank.heads) >= 0).any()]


def _match_labels(parses_at: _ParsesAt, start: Temperatures, steps: int) -> Temperatures:
    if not parses_at.labelled:
        return start

    def excess(temperature: float) -> float:
        return _calibration(parses_at(replace(start, labels=temperature)), labels=True).overconfidence

    return replace(start, labels=_root(excess, start.labels, steps))


def _root(excess: Callable[[float], float], start: float, steps: int) -> float:
    """Find the root of a function that decreases with the temperature, by bisection of the logarithm.

    Begins in an interval around ``start`` and moves on to the next one if the root is outside.
    """
    reach, width = np.log((_LOW, _HIGH)), 2 * np.log(_NEAR)
    first, way = np.log(start / _NEAR), 0
    while True:
        low, high = first, first + width
        for _ in range(steps):
            middle = (low + high) / 2
            low, high = (middle, high) if excess(float(np.exp(middle))) > 0 else (low, middle)
        # A result at an end of the interval means that the root is outside it.
        turn = -1 if low == first else 1 if high == first + width else 0
        # `turn == -way`: the root lies on the border of two intervals, which would alternate forever.
        if turn == 0 or turn == -way or not reach[0] < first + turn * width < reach[1]:
            return float(np.exp((low + high) / 2))
        first, way = first + turn * width, turn


def _is_by_heads(parser: ScoredParser) -> bool:
    """Whether the best heads depend on the marginals of heads alone, at any label temperature."""
    return bool(parser.labels) and parser.scores_are_tempered and parser.decoding.decode == "mbr"


class _ParsesAt:
    """From temperatures to the parses of all parts. ``keep``: keep the scores at ``start``."""

    def __init__(self, parts: Parts, start: Temperatures, threads: int, *, keep: bool) -> None:
        parsers = [(_at(parser_at, start), treebank) for parser_at, treebank in parts]
        self.labelled = any(parser.labels for parser, _ in parsers)
        for _, treebank in parsers:
            _require_heads(treebank)
        self._parsers, self._threads = parsers, threads
        self._scores = [
            parser.scorer.scores(treebank, trees=parser.decoding.trees, threads=threads)
            for parser, treebank in (parsers if keep else ())
        ]
        self._parsed = self._from(self._scores) if keep else [_parsed_by(*part, threads) for part in parsers]

    def _from(self, scores: Sequence[Scores]) -> list[Callable[[Temperatures], Parses]]:
        parts = zip(self._parsers, scores, strict=True)
        return [_parsed_from(*part, part_scores, self._threads) for part, part_scores in parts]

    @cached_property
    def heads(self) -> _ParsesAt:
        """The same without labels, if that is faster and gives the same heads and head probabilities."""
        if not self._scores or not all(_is_by_heads(parser) for parser, _ in self._parsers):
            return self
        fast = copy(self)
        fast._parsed = self._from([scores.without_labels() for scores in self._scores])
        return fast

    def __call__(self, temperatures: Temperatures) -> list[tuple[Parses, Treebank]]:
        parts = zip(self._parsed, self._parsers, strict=True)
        return [(parsed(temperatures), treebank) for parsed, (_, treebank) in parts]

    def losses(self, temperatures: Temperatures) -> npt.NDArray[np.float64]:
        return np.array(_losses(self(temperatures)))


def _at(parser_at: Callable[[float, float, float], P], temperatures: Temperatures) -> P:
    return parser_at(temperatures.heads, temperatures.labels, temperatures.smoothing)


def _search(
    parses_at: _ParsesAt,
    start: Temperatures,
    low: npt.NDArray[np.float64],
    high: npt.NDArray[np.float64],
    steps: int,
) -> Temperatures:
    """Golden-section search over both log temperatures at once; the losses are independent."""

    def at(logs: npt.NDArray[np.float64]) -> Temperatures:
        heads, labels = (float(t) for t in np.exp(logs))
        # The label loss of an unlabelled parser is constant, and the search would return an arbitrary end.
        return replace(start, heads=heads, labels=labels if parses_at.labelled else 1.0)

    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    left_loss, right_loss = parses_at.losses(at(left)), parses_at.losses(at(right))
    for _ in range(steps):
        # Both searches run in step, element by element, so that one parse serves heads and labels.
        leftwards = left_loss < right_loss
        low, high = np.where(leftwards, low, left), np.where(leftwards, right, high)
        tried = np.where(leftwards, high - _GOLDEN * (high - low), low + _GOLDEN * (high - low))
        tried_loss = parses_at.losses(at(tried))
        left, right = np.where(leftwards, tried, right), np.where(leftwards, left, tried)
        left_loss, right_loss = (
            np.where(leftwards, tried_loss, right_loss),
            np.where(leftwards, left_loss, tried_loss),
        )
    return at((low + high) / 2)


def _fit_smoothing(parses_at: _ParsesAt, start: Temperatures) -> Temperatures:
    """Add smoothing if it lowers the head loss: pattern search with the head temperature, in logs."""

    def at(logs: npt.NDArray[np.float64]) -> Temperatures:
        heads, smoothing = (float(x) for x in np.exp(logs))
        return replace(start, heads=heads, smoothing=min(smoothing, _MOST_SMOOTHING))

    here = np.log([start.heads, _FIRST_SMOOTHING])
    least = parses_at.heads.losses(at(here))[0]
    for step in _STEPS:
        direction, failed = 0, 0
        while failed < len(_DIRECTIONS):
            there = here + step * _DIRECTIONS[direction]
            if (loss := parses_at.heads.losses(at(there))[0]) < least - _GAIN:
                here, least, failed = there, loss, 0  # continue in this direction
            else:
                direction, failed = (direction + 1) % len(_DIRECTIONS), failed + 1
    return at(here) if least < parses_at.heads.losses(start)[0] - _GAIN else start


def temperatures_text(temperatures: Temperatures, error: float, on: str) -> str:
    """Describe fitted temperatures, smoothing and the remaining calibration error."""
    return (
        f"temperature of heads {temperatures.heads:.3g}, of labels {temperatures.labels:.3g}, smoothing "
        f"{temperatures.smoothing:.2g}: "
        f"calibration error of heads {100 * error:.1f} % on {on} ('arcwise calibrate' shows more)"
    )


def confident_parses(parts: Parts, at: Temperatures, threads: int) -> list[tuple[Parses, Treebank]]:
    """Parse each treebank with confidences at these temperatures."""
    options = ParseOptions(confidence=True)
    parsers = [(_at(parser_at, at), treebank) for parser_at, treebank in parts]
    return [(parser.parses(bank, options=options, threads=threads), bank) for parser, bank in parsers]


def head_calibration_error(parts: Sequence[tuple[Parses, Treebank]]) -> float:
    """The expected calibration error of heads over several parses."""
    return _calibration(parts).error


def _calibration(
    parts: Sequence[tuple[Parses, Treebank]], *, labels: bool = False, bins: int = 10
) -> Calibration:
    """The calibration of predicted heads, or of heads with labels, over several parses."""
    confidences, correct = [np.zeros(0)], [np.zeros(0, np.bool_)]
    for parses, treebank in parts:
        probabilities = parses.probabilities
        assert probabilities is not None
        has_head = np.asarray(treebank.heads) >= 0
        is_correct = parses.heads == treebank.heads
        if labels:
            is_correct = is_correct & (parses.label_strings == np.array(treebank.column("deprel"), object))
        confidence = probabilities.label if labels else probabilities.head
        # float64: bins add up many confidences, which the native decoder returns as float32.
        confidences.append(np.asarray(confidence, np.float64)[has_head])
        correct.append(is_correct[has_head])
    return calibration(np.concatenate(confidences), np.concatenate(correct), bins=bins)


def _mean_loss(probabilities: npt.NDArray[np.float32]) -> float:
    if not len(probabilities):
        return 0.0
    return float(-np.log(np.maximum(probabilities, _SMALLEST)).mean()) + 0.0  # turns -0.0 into 0.0


UNCALIBRATED = (
    "confidences are not calibrated: the parser was trained without development data. "
    "Run 'arcwise calibrate', or train with 'arcwise train --dev 5fold', which needs no other data"
)


def confidence_text(info: Mapping[str, Any]) -> str | None:
    """Describe the calibration of a parser from its ``info``; None if it has no confidences.

    >>> confidence_text({"temperature": 1.0}) == UNCALIBRATED
    True
    >>> calibration = {"on": "5fold of the training data", "error": 0.031, "doubts": []}
    >>> confidence_text({"temperature": 0.4, "calibration": calibration})
    'confidences are calibrated on 5fold of the training data (calibration error of heads there 3.1 %)'
    """
    info = info["parser"] if info.get("kind") == "pipeline" else info
    if "temperature" not in info:
        return None
    calibration = info.get("calibration")
    if calibration is None:
        return UNCALIBRATED if info["temperature"] == 1.0 else "confidences are calibrated"
    text = f"confidences are calibrated on {calibration['on']}"
    if calibration["doubts"]:
        return f"{text}, but are unreliable: {'; '.join(calibration['doubts'])}"
    return f"{text} (calibration error of heads there {100 * calibration['error']:.1f} %)"


def confidence_warning(info: Mapping[str, Any]) -> str | None:
    """The description if the confidences are not calibrated or unreliable, else None."""
    text = confidence_text(info)
    return text if text is not None and ("not calibrated" in text or "unreliable" in text) else None
