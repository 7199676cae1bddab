"""Development data: a treebank or folds of the training data, and warnings about them."""

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
"""Sizes, in sentences, of treebanks that ``"auto"`` cross-validates."""
TINY_DEV = 500
"""Development data with fewer words are too small for model selection."""
OVERLAP = 0.1
"""Fraction of development words in sentences also in the training data above which to warn."""


@dataclass(frozen=True)
class Folds:
    """Cross-validation with ``count`` folds of the training data.

    The held-out parses select epoch, decoder and temperatures; the final parser is trained on all the data.

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
        """Parse ``5fold``; None for other text, which is then the name of a file."""
        match = re.fullmatch(r"(\d{1,9})-?folds?", text)
        return None if match is None else cls(int(match[1]))

    def split(self, treebank: Treebank) -> list[tuple[Treebank, Treebank]]:
        """(other folds, held-out fold) for each fold; sentence i is in fold i mod ``count``."""
        if len(treebank) < self.count:
            raise InputError(
                f"{treebank.source}: has {len(treebank)} sentences, expected at least {self.count} for {self}"
            )
        return [split_fold(treebank, self.count, fold) for fold in range(self.count)]


def split_fold(treebank: Treebank, count: int, fold: int) -> tuple[Treebank, Treebank]:
    """The sentences outside and inside fold ``fold`` of ``count``: sentence i is in i mod ``count``."""
    parts: tuple[list[Sentence], list[Sentence]] = ([], [])
    for number, sentence in enumerate(treebank):
        # Every count-th sentence, not blocks: treebanks are often sorted by genre.
        parts[number % count == fold].append(sentence)
    others, part = (Treebank.from_sentences(chosen, source=treebank.source) for chosen in parts)
    return others, part


Development = Treebank | Folds | str | None
"""Development data: a treebank, folds of the training data (``"5fold"``), ``"auto"``, or None."""


def development(train: Treebank, dev: Development) -> Treebank | Folds | None:
    """Resolve ``"5fold"``, ``"auto"`` (folds for a small treebank) and ``"none"``."""
    if not isinstance(dev, str):
        return dev
    if dev == "none":
        return None
    if dev == "auto":
        # Five more trainings of a large treebank take long, and folds of a tiny one have too few sentences.
        return Folds() if SMALLEST <= len(train) <= SMALL else None
    folds = Folds.parse(dev)
    if folds is None:
        raise OptionError("dev", f"found {dev!r}, expected a treebank, auto, none, or folds such as 5fold")
    return folds


def warnings(train: Treebank, dev: Treebank | Folds | None) -> list[str]:
    """Warnings about development data that make model selection and calibration unreliable."""
    if dev is None:
        return [
            "no development data: confidences are not calibrated and the last epoch is kept "
            "(pass a treebank, or 5fold, as development data)"
        ]
    if isinstance(dev, Folds):
        return []
    lines = []
    overlap = shared_words(train, dev)
    if overlap > OVERLAP:
        lines.append(
            f"{100 * overlap:.0f} % of the words of the development data are in sentences that are also in "
            "the training data: scores and confidences will be overestimated (use other data, or 5fold)"
        )
    if dev.word_count < TINY_DEV:
        lines.append(
            f"the development data have only {dev.word_count} words, too few to select on (use more, or "
            "5fold)"
        )
    return lines


def report_warnings(train: Treebank, dev: Treebank | Folds | None, progress: Progress) -> list[str]:
    """Report ``warnings`` on the progress display and return them."""
    lines = warnings(train, dev)
    for line in lines:
        progress.say(f"warning: {line}")
    return lines


def data_name(treebank: Treebank) -> str:
    """The file name and folder of a treebank; models are shared, so the full path stays private."""
    return "/".join(Path(treebank.source).parts[-2:])


def calibration_report(dev: Treebank | Folds, error: float, doubts: Sequence[str]) -> dict[str, Any]:
    """The calibration entry of a model's report: data, calibration error and ``warnings``."""
    on = f"{dev} of the training data" if isinstance(dev, Folds) else data_name(dev)
    return {"on": on, "error": round(error, 4), "doubts": list(doubts)}


def shared_words(train: Treebank, dev: Treebank) -> float:
    """The fraction of the words of ``dev`` in sentences that also occur in ``train``.

    >>> row = "1\\t{}\\t_\\tX\\t_\\t_\\t0\\troot\\t_\\t_\\n\\n"
    >>> dev = Treebank.from_string(row.format("Yes") + row.format("No"))
    >>> shared_words(Treebank.from_string(row.format("Yes")), dev)
    0.5
    """
    train_forms = set(_forms(train))
    lengths = dev.sentence_lengths
    same = np.fromiter((forms in train_forms for forms in _forms(dev)), np.bool_, len(dev))
    return float(lengths[same].sum() / max(lengths.sum(), 1))


def _forms(treebank: Treebank) -> list[tuple[str, ...]]:
    forms, starts = treebank.column("form"), treebank.sentence_words.tolist()
    return [tuple(forms[a:b]) for a, b in pairwise(starts)]
