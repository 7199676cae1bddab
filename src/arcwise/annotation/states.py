"""What of a sentence is decided: by a person, and not merely proposed by a parser.

A word with a HEAD and no ``HeadProb=`` in MISC has a decided head. A DEPREL without ``DeprelProb=`` is a decided label, whether the head is
known or not. All else is open: unknown, or a parser's proposal that stands in the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from arcwise.treebanks import Sentence, Treebank
from arcwise.treebanks.columns import column_number
from arcwise.treebanks.edits.values import PROPOSED
from arcwise.trees import UNKNOWN, find_cycle

_COLUMNS, _HEAD, _DEPREL = 10, column_number("head"), column_number("deprel")


def is_proposed(misc: str, column: Literal["head", "deprel"]) -> bool:
    """Whether MISC says that a parser proposed what stands in a column.

    >>> is_proposed("SpaceAfter=No|HeadProb=0.7", "head"), is_proposed("HeadProb=0.7", "deprel"), is_proposed("OldHeadProb=1", "head")
    (True, False, False)
    """
    key = f"{PROPOSED[column][0]}="
    return key in misc and any(pair.startswith(key) for pair in misc.split("|"))


@dataclass(frozen=True)
class Decisions:
    """What is decided of one sentence.

    >>> row = "{}\\tw\\t_\\t_\\t_\\t_\\t{}\\t{}\\t_\\t{}\\n"
    >>> rows = row.format(1, 2, "nsubj", "_") + row.format(2, 0, "root", "HeadProb=0.9|DeprelProb=0.8") + "\\n"
    >>> Decisions.of(Treebank.from_string(rows)[0])
    Decisions(heads=(2, -1), labels=('nsubj', '_'))
    """

    heads: tuple[int, ...]
    """The head of each word, -1 where none is decided."""
    labels: tuple[str, ...]
    """The label of each word, ``_`` where none is decided."""

    @classmethod
    def of(cls, sentence: Sentence) -> Decisions:
        """Those that a sentence has."""
        heads = [int(head) for head in sentence.heads[1:]]
        labels = list(sentence.deprels)
        for i, misc in enumerate(sentence.misc):
            if is_proposed(misc, "head"):
                heads[i] = UNKNOWN
            if is_proposed(misc, "deprel"):
                labels[i] = "_"
        return cls(tuple(heads), tuple(labels))

    def __len__(self) -> int:
        """The number of words."""
        return len(self.heads)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is decided."""
        return not any(self.decides(m) for m in range(1, len(self) + 1))

    @property
    def decided_heads(self) -> int:
        """How many words have a decided head."""
        return sum(head >= 0 for head in self.heads)

    def decides(self, word: int) -> bool:
        """Whether head or label of a word (1..n) is decided."""
        return self.heads[word - 1] >= 0 or self.labels[word - 1] != "_"

    def without(self, words: Sequence[int]) -> Decisions:
        """The same with these words open."""
        left = set(words)
        return Decisions(
            tuple(UNKNOWN if m in left else head for m, head in enumerate(self.heads, 1)),
            tuple("_" if m in left else label for m, label in enumerate(self.labels, 1)),
        )

    def like(self, other: Decisions, word: int) -> Decisions:
        """The same, but of one word what ``other`` has."""
        i = word - 1
        return Decisions(
            (*self.heads[:i], other.heads[i], *self.heads[word:]),
            (*self.labels[:i], other.labels[i], *self.labels[word:]),
        )

    def clash(self) -> Clash | None:
        """Heads that no tree can have together: a cycle."""
        cycle = find_cycle(np.array([UNKNOWN, *self.heads], np.int32))
        if not cycle:
            return None
        arcs = [f"{self.heads[m - 1]} → {m}" for m in sorted(cycle)]
        told = f"{', '.join(arcs[:-1])} and {arcs[-1]}"
        return Clash(tuple(sorted(cycle)), f"no tree has the arcs {told} together: they form a cycle")

    def in_bytes(self, block: bytes) -> bytes:
        """The bytes of the sentence with these heads and labels in HEAD and DEPREL of its words; what is not decided is ``_``."""
        lines = block.split(b"\n")
        word = 0
        for place, line in enumerate(lines):
            fields = line.split(b"\t")
            if len(fields) == _COLUMNS and fields[0].isdigit():
                head, label = self.heads[word], self.labels[word]
                fields[_HEAD] = b"_" if head < 0 else str(head).encode()
                fields[_DEPREL] = label.encode("utf-8", "surrogateescape")
                lines[place] = b"\t".join(fields)
                word += 1
        return b"\n".join(lines)


@dataclass(frozen=True)
class Clash:
    """Decisions that no tree allows."""

    words: tuple[int, ...]
    """The words whose heads they are."""
    told: str
    """One sentence."""


def only_decided(sentences: Iterable[Sentence], *, source: str = "<decided>") -> Treebank:
    """The sentences with what is decided alone: HEAD and DEPREL of all else are ``_``. Decisions that form a cycle are left out."""
    return Treebank(
        b"".join(consistent(Decisions.of(own)).in_bytes(own.conllu_bytes) for own in sentences), source=source
    )


def consistent(decisions: Decisions) -> Decisions:
    """The decisions without the heads that clash."""
    clash = decisions.clash()
    while clash is not None:
        decisions = Decisions(decisions.without(clash.words).heads, decisions.labels)
        clash = decisions.clash()
    return decisions
