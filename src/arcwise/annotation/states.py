"""What of a sentence is decided: by a person, and not merely proposed by a parser.

A word with a HEAD and no ``HeadProb=`` in MISC has a decided head. A DEPREL without ``DeprelProb=`` is a decided label, whether the head is
known or not. All else is open: unknown, or a parser's proposal that stands in the file.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from arcwise.treebanks import Sentence, Treebank
from arcwise.trees import UNKNOWN, find_cycle

if TYPE_CHECKING:
    from collections.abc import Sequence

Heads = npt.NDArray[np.int32]


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
            if "Prob=" in misc:
                keys = {pair.partition("=")[0] for pair in misc.split("|")}
                heads[i] = UNKNOWN if "HeadProb" in keys else heads[i]
                labels[i] = "_" if "DeprelProb" in keys else labels[i]
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

    def clash(self) -> Clash | None:
        """Heads that no tree can have together: a cycle, or a head that is no other word of the sentence."""
        n = len(self)
        for m, head in enumerate(self.heads, 1):
            if head == m or head > n:
                return Clash((m,), f"word {m} has the head {head}, expected another word of the sentence")
        cycle = find_cycle(np.array([UNKNOWN, *self.heads], np.int32))
        if not cycle:
            return None
        arcs = " and ".join(f"{self.heads[m - 1]} → {m}" for m in sorted(cycle))
        return Clash(tuple(sorted(cycle)), f"no tree has the arcs {arcs} together: they form a cycle")


@dataclass(frozen=True)
class Clash:
    """Decisions that no tree allows."""

    words: tuple[int, ...]
    """The words whose heads they are."""
    told: str
    """One sentence."""


def only_decided(treebank: Treebank) -> Treebank:
    """The treebank with what is decided alone: HEAD and DEPREL of all else are ``_``."""
    raise NotImplementedError
