"""Posterior constraints on the share of arcs of certain types (Gormley & Eisner 2013, section 4.4)."""

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
"""Universal rules of Naseem et al. (2010, table 1), over UPOS and the twelve universal tags."""


@dataclass(frozen=True)
class ArcShare:
    """Constraint: at least ``share`` of all arcs match ``rules``.

    Rules are (head tag, child tag) pairs; root arcs count too.

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
        """Number of matching arcs required in a corpus of this many words.

        Computed from the decimal digits of ``share``: the float 0.55 * 100 is 55.00000000000001, which would
        round up to 56.
        """
        return math.ceil(Fraction(str(self.share)) * words)

    def marked(self, features: Features) -> npt.NDArray[np.uint8]:
        """Mask of the root and child features that the rules match."""
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
        # The decoder returns doubles, though numbers of arcs are whole.
        most = round(native.dmv_decode_batch(marks.astype(np.float64), corpus.batch, 1)[1].sum())
        if most < self.least(corpus.words):
            raise ConstraintError(
                f"share: found {self.share} ({self.least(corpus.words)} of {corpus.words} arcs), "
                f"but parses of this corpus have at most {most} such arcs"
            )


def parse_rules(lines: Iterable[str], *, source: str = "rules") -> frozenset[tuple[str, str]]:
    """Parse rules ``HEAD CHILD [CHILD …]``, one per line; ``ROOT`` is the root, ``#`` starts a comment.

    >>> sorted(parse_rules(["ROOT VERB", "VERB NOUN ADV  # and so on"]))
    [('ROOT', 'VERB'), ('VERB', 'ADV'), ('VERB', 'NOUN')]
    """
    rules: set[tuple[str, str]] = set()
    for number, line in enumerate(lines, 1):
        names = line.partition("#")[0].split()
        if len(names) == 1:
            raise InputError(
                f"{source}, line {number}: {names[0]!r} has no children; write HEAD CHILD [CHILD …]"
            )
        rules |= {(names[0], child) for child in names[1:]}
    if not rules:
        raise InputError(f"{source}: contains no rules; write HEAD CHILD [CHILD …], one rule per line")
    return frozenset(rules)
