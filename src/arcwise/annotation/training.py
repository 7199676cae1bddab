"""Tasks of a child process: training on the annotation, and error detection by cross-fitting."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Literal

from arcwise.annotation.background_job import Report
from arcwise.annotation.states import ArcDecisions, only_decided
from arcwise.annotation.tag_accuracy import TagAccuracy
from arcwise.errors import InputError, ModelError
from arcwise.graph import GraphConfig, GraphParser
from arcwise.learning.folds import SMALLEST
from arcwise.learning.model_file import read_model, write_model
from arcwise.learning.progress import Progress
from arcwise.models.train_pipeline import train_pipeline
from arcwise.parsing.parser import Parser
from arcwise.pipeline.pipeline import tree_parser
from arcwise.treebanks import Sentence, Treebank

MARK = "annotate"
"""The key of the model header that marks a model trained here and holds the history of trainings."""
FOLDS = "5fold"
TRAINER = "log-linear"
"""Its confidences are better than those of margin-based trainers, and it learns from partial trees."""
TAGGED = 0.9
"""Fraction of words with a UPOS from which a treebank counts as tagged."""

TABLES = ((1_500, 18, 20), (10_000, 20, 22))
"""(words, arc_bits, row_bits): weight-table size for training data of up to this many words."""

Sees = Literal["words", "tags", "pipeline"]
"""Input of the trained parser: words only; words and the file's tags; words and tags from a tagger."""


def decided_part(sentences: Sequence[Sentence]) -> Treebank:
    """The sentences with at least one decided head, reduced to their decisions."""
    annotated = [sentence for sentence in sentences if ArcDecisions.of(sentence).decided_heads]
    if not annotated:
        raise InputError("no head is annotated; annotate some sentences before training")
    return only_decided(annotated)


def visible_columns(decided: Treebank, whole: Treebank) -> Sees:
    """Words only if the annotated sentences have no tags; a pipeline if other sentences lack them."""
    if _tagged_share(decided) < TAGGED:
        return "words"
    return "tags" if _tagged_share(whole) >= TAGGED else "pipeline"


def _tagged_share(treebank: Treebank) -> float:
    tags = treebank.column("upos")
    return sum(tag != "_" for tag in tags) / max(len(tags), 1)


def small_config(words: int) -> GraphConfig:
    """The configuration for this many words: small tables are as accurate on little data, and faster."""
    for most, arc_bits, row_bits in TABLES:
        if words <= most:
            return GraphConfig(trainer=TRAINER, arc_bits=arc_bits, row_bits=row_bits)
    return GraphConfig(trainer=TRAINER)


def train(decided: Treebank, sees: Sees, *, progress: Progress | None = None) -> Parser:
    """Train a graph-based parser or a pipeline with it.

    From ten sentences on, cross-validation selects and calibrates the model.
    """
    dev = FOLDS if len(decided) >= SMALLEST else None
    config = small_config(decided.word_count)
    if sees == "pipeline":
        options = {"trainer": config.trainer, "arc_bits": config.arc_bits, "row_bits": config.row_bits}
        return train_pipeline(decided, dev, parser=options, progress=progress)
    return GraphParser.train(decided, dev, config=config, progress=progress)


def trainer_header(path: Path) -> Mapping[str, Any] | None:
    """The trainer's entry in the header of a model; None without a file.

    Raises ``InputError`` for a file that was not written here.
    """
    # is_symlink: exists() is False for a dangling link.
    if not path.exists() and not path.is_symlink():
        return None
    try:
        header = read_model(path).header.get(MARK)
    except ModelError:
        header = None
    if not isinstance(header, Mapping):
        raise InputError(f"{path}: was not written by 'arcwise annotate'; rename or delete it to train here")
    return header


def train_task(request: Mapping[str, Any], data: bytes, report: Report) -> Mapping[str, Any]:
    """Train on ``data`` and write the model to ``request["model"]``; returns the new entry of the history."""
    path = Path(request["model"])
    trainer_header(path)
    decided = Treebank(data, source=request["source"])
    started = time.monotonic()
    with _ReportedProgress(report, folds=len(decided) >= SMALLEST) as progress:
        model = train(decided, request["sees"], progress=progress)
    tags = None
    if request["sees"] == "pipeline" and len(decided) >= SMALLEST:
        report({"progress": 0.99, "message": "measuring the accuracy of tags"})
        tags = TagAccuracy.cross_validated(decided).to_json()
    record = history_record(model, decided, time.monotonic() - started)
    before = trainer_header(path) or {}  # read again: the file may have changed during the training
    packed = model.pack("float32")
    history = [*before.get("history", []), record]
    write_model(path, replace(packed, header={**packed.header, MARK: {"history": history, "tags": tags}}))
    return {"trained": record}


def history_record(model: Parser, decided: Treebank, seconds: float) -> dict[str, Any]:
    """The history entry of a training: data, cross-validated accuracy, time and duration."""
    parser = tree_parser(model)
    report = parser.info
    return {
        "sentences": len(decided),
        "words": int((decided.heads >= 0).sum()),
        "uas": report.get("dev_uas"),
        "las": report.get("dev_las"),
        "ece": (report.get("calibration") or {}).get("error"),
        "seconds": round(seconds, 2),
        "when": datetime.now(timezone.utc).isoformat(timespec="seconds"),
    }


class _ReportedProgress(Progress):
    """Progress as messages: the fraction done and a description of the current step."""

    def __init__(self, report: Report, *, folds: bool) -> None:
        super().__init__(shown=False)
        self._report, self._folds, self._done = report, folds, 0.0

    def say(self, line: str) -> None:
        """Estimate the progress from a log line of the training."""
        # Trainers report their steps as log lines only; an unknown line leaves the estimate as it is.
        fold = re.match(r"fold (\d+) of (\d+)", line)
        if fold:
            self._done = 0.05 + 0.45 * (int(fold[1]) - 1) / int(fold[2])
        elif line.startswith("held-out LAS by epoch"):
            self._done = 0.5
        elif line.startswith("chosen"):
            self._done = 0.7
        elif line.startswith("training on all"):
            self._done = 0.85
        self._report({"progress": round(self._done, 3), "message": line})

    @contextmanager
    def epoch(self, number: int, epochs: int, sentences: int) -> Iterator[Any]:
        """One epoch."""
        first = max(self._done, 0.85 if self._folds else 0.05)

        def advance(done: int) -> None:
            return None

        yield advance
        self._done = first + (0.99 - first) / (epochs - number + 1)
        self._report({"progress": round(self._done, 3), "message": f"epoch {number} of {epochs}"})


_LEAST = 1e-9
"""Lower bound of reported probabilities: 0 is reserved for labels that the parser does not know."""
