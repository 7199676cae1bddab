"""Cross-fitting: detect suspicious annotations with parsers trained on the other sentences."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

from arcwise.annotation.background_job import Report
from arcwise.annotation.training import small_config
from arcwise.engine import Engine, ThisProcess
from arcwise.errors import InputError
from arcwise.graph import GraphConfig, GraphParser
from arcwise.learning.folds import Folds
from arcwise.parsing.calibration import fit_common_temperatures
from arcwise.parsing.parser import ParseOptions
from arcwise.treebanks import Treebank

_LEAST = 1e-9
"""Lower bound of reported probabilities: 0 is reserved for labels that the parser does not know."""


@dataclass(frozen=True)
class SuspiciousWord:
    """An annotated word that parsers trained on other sentences would annotate differently."""

    sentence: int
    word: int
    """1..n."""
    head: int
    label: str
    probability: float
    """Joint probability of the annotated head and label; 0 only if no other sentence has the label."""
    instead_head: int
    instead_label: str
    instead_probability: float
    """The joint probability of the parser's head and label."""


def suspicious_words(
    treebank: Treebank,
    *,
    folds: int = 5,
    below: float = 0.1,
    config: GraphConfig | None = None,
    threads: int = 1,
    report: Callable[[float, str], None] = lambda progress, line: None,
    engine: Engine = ThisProcess(),
) -> list[SuspiciousWord]:
    """Find words whose annotation is improbable for parsers trained on other sentences, least probable first.

    treebank: the sentences with only their decided heads and labels (``only_decided``).
    below: the threshold for the joint probability of head and label (of the head where no label is decided),
        at temperatures fitted on the held-out predictions.
    report: called with the fraction of the work done and a description of the current step.
    engine: where the parsers are trained.
    """
    if len(treebank) < folds:
        raise InputError(f"found {len(treebank)} annotated sentences, expected at least {folds}")
    config = config or small_config(treebank.word_count)
    pairs = Folds(folds).split(treebank)
    trained = engine.map(partial(_trained, config, threads), [others for others, _ in pairs])
    parts = []
    for fold, (_, part) in enumerate(pairs):
        report(0.8 * fold / folds, f"training without fold {fold + 1} of {folds}")
        parts.append((next(trained), part))
    report(0.8, "calibrating")
    # One set of temperatures for all folds, so that their probabilities are comparable.
    temperatures = fit_common_temperatures(
        [(parser.with_temperatures, part) for parser, part in parts], threads=threads, steps=12
    )
    words: list[SuspiciousWord] = []
    for fold, (uncalibrated, part) in enumerate(parts):
        parser = uncalibrated.with_temperatures(
            temperatures.heads, temperatures.labels, temperatures.smoothing
        )
        words += _of_fold(parser, part, fold, folds, below, threads)
    return sorted(words, key=lambda word: (word.probability, word.sentence, word.word))


def _trained(config: GraphConfig, threads: int, others: Treebank) -> GraphParser:
    return GraphParser.train(others, config=config, threads=threads)


def _of_fold(
    parser: GraphParser, part: Treebank, fold: int, folds: int, below: float, threads: int
) -> list[SuspiciousWord]:
    parses = parser.parses(part, options=ParseOptions(confidence=True), gold=True, threads=threads)
    assert parses.probabilities is not None
    gold = parses.probabilities.gold
    assert gold is not None
    labels = part.column("deprel")
    labelled = np.array([label != "_" for label in labels])
    label_probability = np.where(np.asarray(gold.label) < 0.0, 0.0, np.maximum(gold.label, _LEAST))
    probability = np.maximum(gold.head, _LEAST) * np.where(labelled, label_probability, 1.0)
    starts = part.sentence_words.astype(np.int64)
    heads = np.asarray(part.heads)
    words = []
    for w in np.flatnonzero((heads >= 0) & (probability < below)):
        s = int(np.searchsorted(starts, w, "right")) - 1
        parsed_label = str(parses.label_strings[w])
        if (int(parses.heads[w]), parsed_label if labelled[w] else "_") == (int(heads[w]), labels[w]):
            continue  # improbable, but still the most probable
        words.append(
            SuspiciousWord(
                s * folds + fold,  # fold k has the sentences k, k + folds, …
                int(w - starts[s]) + 1,
                int(heads[w]),
                labels[w],
                float(probability[w]),
                int(parses.heads[w]),
                parsed_label,
                float(parses.probabilities.label[w]),
            )
        )
    return words


def error_detection_task(request: Mapping[str, Any], data: bytes, report: Report) -> Mapping[str, Any]:
    """Find the suspicious words of ``data``; a task of ``background_job``."""
    treebank = Treebank(data, source=request["source"])
    words = suspicious_words(
        treebank,
        folds=request["folds"],
        below=request["below"],
        report=lambda progress, line: report({"progress": progress, "message": line}),
    )
    return {"words": [asdict(word) for word in words]}
