"""Cross-fitting: what parsers that never saw a sentence say of its annotation."""

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
"""What is less probable is told as this: 0 says that a parser does not know the label."""


@dataclass(frozen=True)
class SuspiciousWord:
    """A decided word that parsers trained on other sentences would annotate otherwise."""

    sentence: int
    word: int
    """1..n."""
    head: int
    label: str
    probability: float
    """Of what the file says: its head and label together. 0 where no other sentence has the label, and only there."""
    instead_head: int
    instead_label: str
    instead_probability: float
    """What the parser says, and how surely."""


def suspicious_words(
    treebank: Treebank,
    *,
    folds: int = 5,
    below: float = 0.1,
    config: GraphConfig | None = None,
    threads: int = 1,
    tell: Callable[[float, str], None] = lambda share, line: None,
    engine: Engine = ThisProcess(),
) -> list[SuspiciousWord]:
    """The words whose decided head and label (or head, where no label is decided) together have a probability under ``below``, least
    probable first: for parsers that were trained on other sentences, with temperatures fitted on what these parsers say.

    The treebank has what is decided alone (``only_decided``). ``tell``: how far it is; ``engine``: where the parsers are trained.
    """
    if len(treebank) < folds:
        raise InputError(f"found {len(treebank)} sentences, expected at least {folds} to cross-fit")
    config = config or small_config(treebank.word_count)
    pairs = Folds(folds).split(treebank)
    trained = engine.map(partial(_trained, config, threads), [others for others, _ in pairs])
    parts = []
    for fold, (_, part) in enumerate(pairs):
        tell(0.8 * fold / folds, f"a parser that never saw part {fold + 1} of {folds}")
        parts.append((next(trained), part))
    tell(0.8, "fitting confidences")
    found = fit_common_temperatures(
        [(own.with_temperatures, part) for own, part in parts], threads=threads, steps=12
    )
    every: list[SuspiciousWord] = []
    for fold, (own, part) in enumerate(parts):
        parser = own.with_temperatures(found.heads, found.labels, found.smoothing)
        every += _of_part(parser, part, fold, folds, below, threads)
    return sorted(every, key=lambda doubt: (doubt.probability, doubt.sentence, doubt.word))


def _trained(config: GraphConfig, threads: int, others: Treebank) -> GraphParser:
    return GraphParser.train(others, config=config, threads=threads)


def _of_part(
    parser: GraphParser, part: Treebank, fold: int, folds: int, below: float, threads: int
) -> list[SuspiciousWord]:
    parses = parser.parses(part, options=ParseOptions(confidence=True), gold=True, threads=threads)
    assert parses.probabilities is not None
    gold = parses.probabilities.gold
    assert gold is not None
    labels = part.column("deprel")
    labelled = np.array([label != "_" for label in labels])
    known = np.where(np.asarray(gold.label) < 0.0, 0.0, np.maximum(gold.label, _LEAST))
    own = np.maximum(gold.head, _LEAST) * np.where(labelled, known, 1.0)
    starts = part.sentence_words.astype(np.int64)
    heads = np.asarray(part.heads)
    found = []
    for w in np.flatnonzero((heads >= 0) & (own < below)):
        s = int(np.searchsorted(starts, w, "right")) - 1
        said = str(parses.label_strings[w])
        if (int(parses.heads[w]), said if labelled[w] else "_") == (int(heads[w]), labels[w]):
            continue  # improbable, and yet nothing is more probable
        found.append(
            SuspiciousWord(
                s * folds + fold,
                int(w - starts[s]) + 1,
                int(heads[w]),
                labels[w],
                float(own[w]),
                int(parses.heads[w]),
                said,
                float(parses.probabilities.label[w]),
            )
        )
    return found


def error_detection_task(request: Mapping[str, Any], data: bytes, tell: Report) -> Mapping[str, Any]:
    """The doubts of ``data``, for ``annotation.background_job``."""
    treebank = Treebank(data, source=request["source"])
    found = suspicious_words(
        treebank,
        folds=request["folds"],
        below=request["below"],
        tell=lambda share, line: tell({"progress": share, "told": line}),
    )
    return {"doubts": [asdict(doubt) for doubt in found]}
