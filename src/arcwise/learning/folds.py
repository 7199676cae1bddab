"""Development data: a treebank of its own, or the training data themselves by cross-validation; and what is wrong with them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from arcwise.errors import InputError, OptionError
from arcwise.learning.progress import Progress
from arcwise.treebanks import Sentence, Treebank

SMALLEST, SMALL = 10, 1000
"""Sentences of a treebank that counts as small: without development data it is cross-validated by ``automatic``."""
TINY_DEV = 500
"""Words of development data under which choices are chance."""
OVERLAP = 0.1
"""The share of the words of the development data, in sentences that the training data have too, that is worth a warning."""


@dataclass(frozen=True)
class Folds:
    """Cross-validation: each of ``count`` parts of the training data is parsed by a parser trained on the others.

    What these parses tell chooses epoch, decoder and temperatures; the parser is then trained on everything.

    >>> Folds.parse("5fold")
    Folds(count=5)
    """

    count: int = 5

    MOST = 20

    def __post_init__(self) -> None:
        if not 2 <= self.count <= self.MOST:
            raise OptionError("dev", f"found {self}, expected 2fold to {self.MOST}fold")

    def __str__(self) -> str:
        return f"{self.count}fold"

    @classmethod
    def parse(cls, text: str) -> Folds | None:
        """``5fold`` → five folds; None if the text is no such word (it is then the name of a file)."""
        found = re.fullmatch(r"(\d{1,9})-?folds?", text)
        return None if found is None else cls(int(found[1]))

    def split(self, treebank: Treebank) -> list[tuple[Treebank, Treebank]]:
        """(the others, the part) for each part; sentence i is in part i mod ``count``."""
        if len(treebank) < self.count:
            raise InputError(
                f"{treebank.source}: has {len(treebank)} sentences, expected at least {self.count} for {self}"
            )
        return [split_fold(treebank, self.count, fold) for fold in range(self.count)]


def split_fold(treebank: Treebank, count: int, fold: int) -> tuple[Treebank, Treebank]:
    """The sentences outside part ``fold`` of ``count`` and those in it; sentence i is in part i mod ``count``."""
    parts: tuple[list[Sentence], list[Sentence]] = ([], [])
    for number, sentence in enumerate(treebank):
        parts[number % count == fold].append(sentence)
    others, part = (Treebank.from_sentences(chosen, source=treebank.source) for chosen in parts)
    return others, part


Development = Treebank | Folds | str | None
"""What the choices of training are made on: a treebank, folds of the training data (``"5fold"``), what suits (``"auto"``), nothing."""


def development(train: Treebank, dev: Development) -> Treebank | Folds | None:
    """``dev`` itself; ``"5fold"`` becomes folds, ``"auto"`` folds of a small treebank and nothing of others, ``"none"`` nothing."""
    if not isinstance(dev, str):
        return dev
    if dev == "none":
        return None
    if dev == "auto":
        return Folds() if SMALLEST <= len(train) <= SMALL else None
    folds = Folds.parse(dev)
    if folds is None:
        raise OptionError("dev", f"found {dev!r}, expected a treebank, auto, none, or folds such as 5fold")
    return folds


def warnings(train: Treebank, dev: Treebank | Folds | None) -> list[str]:
    """What makes the choices and confidences of a training doubtful, a line each."""
    if dev is None:
        return [
            "no development data: confidences are not calibrated and the last epoch is kept "
            "(a treebank of its own, or 5fold, as development data helps)"
        ]
    if isinstance(dev, Folds):
        return []
    found = []
    overlap = shared_words(train, dev)
    if overlap > OVERLAP:
        found.append(
            f"{100 * overlap:.0f} % of the words of the development data are in sentences that are also in the training data: "
            "what is chosen on them, and confidences, are too sure (use other data, or 5fold)"
        )
    if dev.word_count < TINY_DEV:
        found.append(
            f"the development data have only {dev.word_count} words: what is chosen on them is chance (use more, or 5fold)"
        )
    return found


def report_warnings(train: Treebank, dev: Treebank | Folds | None, progress: Progress) -> list[str]:
    """``warnings``, each said."""
    found = warnings(train, dev)
    for line in found:
        progress.say(f"warning: {line}")
    return found


def data_name(treebank: Treebank) -> str:
    """The name of a treebank's file and folder: a model is not to tell where on somebody's disk they were."""
    return "/".join(Path(treebank.source).parts[-2:])


def calibration_report(dev: Treebank | Folds, error: float, doubts: Sequence[str]) -> dict[str, Any]:
    """What a model tells of its confidences: on which data they were fitted, with which calibration error, and what is wrong
    (``warnings``)."""
    on = f"{dev} of the training data" if isinstance(dev, Folds) else data_name(dev)
    return {"on": on, "error": round(error, 4), "doubts": list(doubts)}


def shared_words(train: Treebank, dev: Treebank) -> float:
    """The share of the words of ``dev`` that are in sentences whose words are those of a sentence of ``train``.

    >>> row = "1\\t{}\\t_\\tX\\t_\\t_\\t0\\troot\\t_\\t_\\n\\n"
    >>> shared_words(Treebank.from_string(row.format("Yes")), Treebank.from_string(row.format("Yes") + row.format("No")))
    0.5
    """
    known = set(_forms(train))
    lengths = dev.sentence_lengths
    same = np.fromiter((forms in known for forms in _forms(dev)), np.bool_, len(dev))
    return float(lengths[same].sum() / max(lengths.sum(), 1))


def _forms(treebank: Treebank) -> list[tuple[str, ...]]:
    forms, starts = treebank.column("form"), treebank.sentence_words.tolist()
    return [tuple(forms[a:b]) for a, b in pairwise(starts)]
