"""Pairs of releases of the same sentences: what maintainers of a treebank corrected between them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from arcwise.treebanks import Treebank
from benchmarks.planted_errors import with_planted_errors

PLANTED = 0.01
"""Share of the words that get a wrong head, and of those that get a wrong label."""


@dataclass(frozen=True)
class Pair:
    """Two releases; ``new`` None: train, dev and test of the folder of treebanks."""

    name: str
    old: str
    new: str | None
    free: bool
    """Whether a model trained on it may be shipped: the licence has no non-commercial clause."""
    measured: int | None = None
    """Figures are those of this many last sentences (dev + test); None: all."""

    def older(self, revisions: Path) -> Treebank:
        """The older release, in which errors are searched for."""
        return Treebank.read(revisions / self.name / f"{self.old}.conllu.xz")

    def newer(self, revisions: Path, treebanks: Path) -> Treebank:
        """The newer release."""
        if self.new is not None:
            return Treebank.read(revisions / self.name / f"{self.new}.conllu.xz")
        parts = [
            Treebank.read(treebanks / self.name / f"{part}.conllu.xz") for part in ("train", "dev", "test")
        ]
        return Treebank.from_sentences(sentence for part in parts for sentence in part)

    def planted(self, revisions: Path, treebanks: Path) -> Treebank:
        """The newer release with planted errors."""
        return with_planted_errors(self.newer(revisions, treebanks), PLANTED)[0]


PAIRS = (
    Pair("English-EWT", "r2.8", None, free=True, measured=2001 + 2077),
    Pair("Danish-DDT", "r2.10", "r2.17", free=True),
    Pair("Swedish-Talbanken", "r2.5", "r2.16", free=True),
    Pair("English-GUM", "r2.8", "r2.16", free=False),
    Pair("Turkish-IMST", "r2.8", None, free=False),
)
