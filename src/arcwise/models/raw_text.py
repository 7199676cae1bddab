"""Evaluate a pipeline on the raw text of a treebank: scores, and calibration of its confidences."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from arcwise.errors import InputError
from arcwise.evaluation import Options, evaluate, verdicts
from arcwise.evaluation.calibration import Calibration, calibration
from arcwise.learning.folds import data_name
from arcwise.parsing.parser import ParseOptions
from arcwise.parsing.scored import ScoredParser
from arcwise.text.plain_text import plain_text
from arcwise.treebanks import Treebank
from arcwise.treebanks.field_values import pairs

if TYPE_CHECKING:
    from arcwise.pipeline.pipeline import Pipeline

P = TypeVar("P", bound=ScoredParser)

METRICS = (
    "Tokens",
    "Sentences",
    "Words",
    "UPOS",
    "XPOS",
    "UFeats",
    "Lemmas",
    "UAS",
    "LAS",
    "CLAS",
    "MLAS",
    "BLEX",
)
"""The metrics of CoNLL 2018 that a model card lists."""
CONFIDENCES = ("HeadProb", "DeprelProb", "UposProb")
"""The probabilities in MISC: of the head, of head and label, of the tag."""


def raw_text_scores(pipeline: Pipeline, gold: Treebank, *, threads: int = 1) -> dict[str, float]:
    """Return the CoNLL 2018 metrics (F1 in per cent) of a pipeline on the raw text of ``gold``."""
    scores = evaluate(gold, parse_raw_text(pipeline, gold, ParseOptions(), threads)).conll18
    return {name: round(100 * scores[name].f1, 2) for name in METRICS}


def raw_text_calibration(pipeline: Pipeline, gold: Treebank, *, threads: int = 1) -> dict[str, float]:
    """Return the expected calibration error (in per cent) of each confidence on the raw text of ``gold``.

    Counts every word that the pipeline writes: head, label (with its subtype) or tag of a word that ``gold``
    does not have are wrong. A parser without distributions over trees has no calibrated confidences; the
    result is then empty.
    """
    can = pipeline.parser.capabilities
    if not (can.confidence and can.distributions):
        return {}
    return {
        name: round(100 * reliability.error, 2)
        for name, reliability in raw_text_bins(pipeline, gold, threads=threads).items()
    }


def calibrate_on_raw_text(pipeline: Pipeline, gold: Treebank, *, threads: int = 1) -> Pipeline:
    """Fit the parser's temperatures on the raw text of ``gold``; only a ``ScoredParser`` has any.

    At the fitted temperatures, mean confidence equals accuracy, for heads and for heads with labels.
    Temperatures fitted on gold words are too low for raw text: they do not account for wrong tags, words and
    sentence boundaries. Raises ``InputError`` if a word of ``gold`` has no head.
    """
    if not isinstance(pipeline.parser, ScoredParser):
        return pipeline
    if not gold.word_count or (gold.heads < 0).any():
        raise InputError(f"{gold.source}: expected a head for every word")
    parser, at = pipeline.parser, pipeline.parser.fitted

    def with_parser(parser: ScoredParser) -> Pipeline:
        return type(pipeline)(pipeline.tokenizer, pipeline.tagger, parser, card=pipeline.card)

    def bins_at(heads: float, labels: float) -> dict[str, Calibration]:
        return raw_text_bins(
            with_parser(parser.with_temperatures(heads, labels, at.smoothing)), gold, threads=threads
        )

    heads = _matching_temperature(lambda heads: bins_at(heads, at.labels)["HeadProb"], at.heads)
    labels = at.labels
    if parser.labels:
        labels = _matching_temperature(lambda labels: bins_at(heads, labels)["DeprelProb"], at.labels)
    error = bins_at(heads, labels)["HeadProb"].error
    fitted = parser.with_temperatures(heads, labels, at.smoothing)
    return with_parser(with_calibration_report(fitted, f"the raw text of {data_name(gold)}", error))


def with_calibration_report(parser: P, on: str, error: float) -> P:
    """Return the parser with the data it was calibrated on, and the error there, recorded in its model."""
    if not hasattr(parser, "model"):
        return parser
    before = parser.model.report.get("calibration") or {}
    report = {"on": on, "error": round(error, 4), "doubts": before.get("doubts", [])}
    model = replace(parser.model, report={**parser.model.report, "calibration": report})
    # A transformer is large: ``with_model`` shares it.
    make: Callable[[Any], P] = getattr(parser, "with_model", type(parser))
    return make(model)


def _matching_temperature(bins_at: Callable[[float], Calibration], start: float) -> float:
    """Bisect the logarithm of the temperature, up to a factor of ten from ``start``.

    Separate from the search of ``arcwise.parsing.calibration``, because each step parses all of the text.
    """
    low, high = np.log(start / 10), np.log(start * 10)
    for _ in range(9):
        middle = (low + high) / 2
        too_low = bins_at(float(np.exp(middle))).overconfidence > 0
        low, high = (middle, high) if too_low else (low, middle)
    return float(np.exp((low + high) / 2))


def raw_text_bins(
    pipeline: Pipeline, gold: Treebank, *, bins: int = 10, threads: int = 1
) -> dict[str, Calibration]:
    """The reliability of each confidence that the pipeline states for the raw text."""
    system = parse_raw_text(pipeline, gold, ParseOptions(confidence=True), threads)
    words = verdicts(gold, system, Options(subtypes="keep"))
    aligned = words.alignment
    same_tag = np.zeros(len(words.system), bool)
    same_tag[aligned.system] = words.gold.upos[aligned.gold] == words.system.upos[aligned.system]
    right = {
        "HeadProb": words.of_system(words.head_right),
        "DeprelProb": words.of_system(words.arc_right),
        "UposProb": same_tag,
    }
    stated = _stated(system)
    present = {name: ~np.isnan(stated[name]) for name in CONFIDENCES}
    return {
        name: calibration(stated[name][words], right[name][words], bins=bins)
        for name, words in present.items()
        if words.any()
    }


def parse_raw_text(pipeline: Pipeline, gold: Treebank, options: ParseOptions, threads: int) -> Treebank:
    """Return the parse of the raw text of ``gold``."""
    stream = io.BytesIO(plain_text(gold).text.encode())
    pieces = pipeline.analyses(stream, options=options, threads=threads)
    return Treebank(b"".join(piece.treebank.data for piece in pieces), source="<system>")


def _stated(system: Treebank) -> dict[str, npt.NDArray[np.float64]]:
    """The probabilities that each word states in MISC; NaN for a missing one."""
    values = [pairs(misc) for misc in system.column("misc")]
    return {
        name: np.array([float(word.get(name, "nan")) for word in values], np.float64) for name in CONFIDENCES
    }
