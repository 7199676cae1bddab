"""What a learner's process does: train a parser, or a pipeline, on what is decided, and write it beside the file."""

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
"""The key of a model's header that says that a learner wrote it; its value has the history of trainings."""
FOLDS = "5fold"
HONEST = "log-linear"
"""The trainer below ten sentences, where there is nothing to fit confidences on: its probabilities are about right as they are."""
TAGGED = 0.9
"""A part of a treebank counts as tagged if this share of its words has a UPOS."""

TABLES = ((1_500, 18, 20), (10_000, 20, 22))
"""(words, arc_bits, row_bits): up to so many words of training data the table of weights has this size."""

Sees = Literal["words", "tags", "pipeline"]
"""What the parser that is trained sees: words alone; words and the tags of the file; words and tags, which a tagger fills in."""


def decided_part(sentences: Sequence[Sentence]) -> Treebank:
    """The sentences that have a decided head, with what is decided alone."""
    known = [own for own in sentences if ArcDecisions.of(own).decided_heads]
    if not known:
        raise InputError("found no decided head, expected some to learn from")
    return only_decided(known)


def what_it_sees(decided: Treebank, whole: Treebank) -> Sees:
    """Words alone, if what is decided has no tags; with a tagger, if what is to be parsed lacks them."""
    if _tagged_share(decided) < TAGGED:
        return "words"
    return "tags" if _tagged_share(whole) >= TAGGED else "pipeline"


def _tagged_share(treebank: Treebank) -> float:
    tags = treebank.column("upos")
    return sum(tag != "_" for tag in tags) / max(len(tags), 1)


def small_config(words: int) -> GraphConfig:
    """The configuration for a treebank of so many words: a smaller table for little data, which is as good and several times quicker."""
    for most, arc_bits, row_bits in TABLES:
        if words <= most:
            return GraphConfig(arc_bits=arc_bits, row_bits=row_bits)
    return GraphConfig()


def train(decided: Treebank, sees: Sees, *, progress: Progress | None = None) -> Parser:
    """The parser that a learner makes: graph-based; from ten sentences on, what is chosen and how sure it is comes from cross-validation; below, from a trainer
    whose probabilities are honest by themselves."""
    dev = FOLDS if len(decided) >= SMALLEST else None
    config = small_config(decided.word_count)
    if dev is None:
        config = config.for_trainer(HONEST)
    if sees == "pipeline":
        options = {"trainer": config.trainer, "arc_bits": config.arc_bits, "row_bits": config.row_bits}
        return train_pipeline(decided, dev, parser=options, progress=progress)
    return GraphParser.train(decided, dev, config=config, progress=progress)


def own_header(path: Path) -> Mapping[str, Any] | None:
    """What a learner noted in the model at ``path``; None if nothing is there. ``InputError`` if something is that no learner wrote."""
    if not path.exists() and not path.is_symlink():
        return None
    try:
        found = read_model(path).header.get(MARK)
    except ModelError:
        found = None
    if not isinstance(found, Mapping):
        raise InputError(
            f"{path}: is there and was not written by 'arcwise annotate', expected no file, or a model of its own"
        )
    return found


def train_task(request: Mapping[str, Any], data: bytes, tell: Report) -> Mapping[str, Any]:
    """Train on ``data`` (what is decided), write the model to ``request["model"]``; the new line of the history."""
    path = Path(request["model"])
    own_header(path)
    decided = Treebank(data, source=request["source"])
    started = time.monotonic()
    with _Told(tell, folds=len(decided) >= SMALLEST) as progress:
        model = train(decided, request["sees"], progress=progress)
    line = history_line(model, decided, time.monotonic() - started)
    before = own_header(path) or {}
    packed = model.pack("float32")
    history = [*before.get("history", []), line]
    write_model(path, replace(packed, header={**packed.header, MARK: {"history": history}}))
    return {"trained": line}


def history_line(model: Parser, decided: Treebank, seconds: float) -> dict[str, Any]:
    """How much was learned from, how good the result is by cross-validation, when, in how many seconds."""
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


class _Told(Progress):
    """Progress as messages: the share that is done, and the line that says what is being done."""

    def __init__(self, tell: Report, *, folds: bool) -> None:
        super().__init__(shown=False)
        self._tell, self._folds, self._done = tell, folds, 0.0

    def say(self, line: str) -> None:
        """A line that a training says."""
        fold = re.match(r"fold (\d+) of (\d+)", line)
        if fold:
            self._done = 0.05 + 0.45 * (int(fold[1]) - 1) / int(fold[2])
        elif line.startswith("LAS of the held-out parts"):
            self._done = 0.5
        elif line.startswith("chosen"):
            self._done = 0.7
        elif line.startswith("training on all"):
            self._done = 0.85
        self._tell({"progress": round(self._done, 3), "told": line})

    @contextmanager
    def epoch(self, number: int, epochs: int, sentences: int) -> Iterator[Any]:
        """One pass over the sentences."""
        first = max(self._done, 0.85 if self._folds else 0.05)

        def advance(done: int) -> None:
            return None

        yield advance
        self._done = first + (0.99 - first) / (epochs - number + 1)
        self._tell({"progress": round(self._done, 3), "told": f"epoch {number} of {epochs}"})
