"""Posterior constraints: a share of the arcs of a corpus must be of given types (Gormley & Eisner 2013, 4.4)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.errors import ConstraintError, InputError
from arcwise.induction.corpus import TagSentences
from arcwise.induction.dmv import Features

ROOT = "ROOT"

UNIVERSAL_RULES: frozenset[tuple[str, str]] = frozenset(
    (head, child)
    for head, children in {
        ROOT: "AUX VERB",
        "VERB": "NOUN PROPN PRON ADV VERB",
        "AUX": "NOUN PROPN PRON ADV VERB",
        "NOUN": "ADJ DET NOUN PROPN NUM",
        "PROPN": "ADJ DET NOUN PROPN NUM",
        "ADP": "NOUN PROPN",
        "ADJ": "ADV",
    }.items()
    for child in children.split()
)
"""The universal rules of Naseem et al. 2010 (their table 1), over UPOS and the twelve universal tags."""


@dataclass(frozen=True)
class ArcShare:
    """At least ``share`` of all arcs, root arcs included, are of the types ``rules``: (head tag, child tag) pairs.

    >>> ArcShare(frozenset({("ROOT", "VERB"), ("VERB", "NOUN")}), 0.75).least(words=10)
    8
    """

    rules: frozenset[tuple[str, str]] = UNIVERSAL_RULES
    share: float = 0.75

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1:
            raise InputError(f"share: found {self.share}, expected a number from 0 to 1")
        object.__setattr__(self, "rules", frozenset((str(h), str(c)) for h, c in self.rules))

    def least(self, words: int) -> int:
        """How many arcs of a corpus of that many words must be of the types."""
        return math.ceil(Fraction(str(self.share)) * words)

    def marked(self, features: Features) -> npt.NDArray[np.uint8]:
        """1 for the root and child features that the rules name."""
        marks = np.zeros(features.count, np.uint8)
        numbers = {t: i for i, t in enumerate(features.tags)}
        for head, child in self.rules:
            if child not in numbers:
                continue
            if head == ROOT:
                marks[numbers[child]] = 1
            elif head in numbers:
                for side in (0, 1):
                    marks[features.child(side, numbers[head], numbers[child])] = 1
        return marks

    def check(self, corpus: TagSentences) -> None:
        """Raise ``ConstraintError`` if no parses of the corpus satisfy the constraint."""
        marks = self.marked(Features(corpus.tags))
        most = round(native.dmv_decode_batch(marks.astype(np.float64), corpus.batch, 1)[1].sum())
        if most < self.least(corpus.words):
            raise ConstraintError(
                f"share: found {self.share} ({self.least(corpus.words)} of {corpus.words} arcs), but the corpus has "
                f"parses with at most {most} such arcs"
            )


def parse_rules(lines: Iterable[str], *, source: str = "rules") -> frozenset[tuple[str, str]]:
    """Rules written ``HEAD CHILD [CHILD …]``, one line each, ``ROOT`` for the root; ``#`` starts a comment.

    >>> sorted(parse_rules(["ROOT VERB", "VERB NOUN ADV  # and so on"]))
    [('ROOT', 'VERB'), ('VERB', 'ADV'), ('VERB', 'NOUN')]
    """
    rules: set[tuple[str, str]] = set()
    for number, line in enumerate(lines, 1):
        names = line.partition("#")[0].split()
        if len(names) == 1:
            raise InputError(
                f"{source}, line {number}: found {names[0]!r} alone, expected a head and its children"
            )
        rules |= {(names[0], child) for child in names[1:]}
    if not rules:
        raise InputError(f"{source}: found no rule, expected lines of a head and its children")
    return frozenset(rules)
