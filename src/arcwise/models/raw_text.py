"""How a pipeline does on the raw text of a treebank: scores, and calibration of its confidences."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from arcwise.evaluation import Options, evaluate, verdicts
from arcwise.evaluation.calibration import calibration
from arcwise.parsing.parser import ParseOptions
from arcwise.text.plain_text import plain_text
from arcwise.treebanks import Treebank
from arcwise.treebanks.field_values import pairs

if TYPE_CHECKING:
    from arcwise.pipeline.pipeline import Pipeline

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
    errors = {}
    for name in CONFIDENCES:
        present = ~np.isnan(stated[name])
        if present.any():
            error = calibration(stated[name][present], right[name][present]).error
            errors[name] = round(100 * error, 2)
    return errors


def parse_raw_text(pipeline: Pipeline, gold: Treebank, options: ParseOptions, threads: int) -> Treebank:
    """Return what a pipeline makes of the raw text of ``gold``."""
    stream = io.BytesIO(plain_text(gold).text.encode())
    pieces = pipeline.analyses(stream, options=options, threads=threads)
    return Treebank(b"".join(piece.treebank.data for piece in pieces), source="<system>")


def _stated(system: Treebank) -> dict[str, npt.NDArray[np.float64]]:
    """The probabilities that each word states in MISC; NaN for a missing one."""
    values = [pairs(misc) for misc in system.column("misc")]
    return {
        name: np.array([float(word.get(name, "nan")) for word in values], np.float64) for name in CONFIDENCES
    }
