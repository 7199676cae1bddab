"""Annotation states: which arcs of a sentence are annotated, and which only proposed by a parser.

A CoNLL-U file records the difference in MISC: a parser writes ``HeadProb=`` and ``DeprelProb=`` with its HEAD
and DEPREL, and an edit removes them. So a HEAD without ``HeadProb=`` is decided, and a DEPREL without
``DeprelProb=`` is a decided label. Only this module interprets these keys; everything else, the page
included, reads ``FieldState`` or ``ArcDecisions``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from arcwise.treebanks import Sentence, Treebank
from arcwise.treebanks.columns import column_number
from arcwise.treebanks.edits.values import SUGGESTION_KEYS
from arcwise.treebanks.field_values import probability
from arcwise.trees import UNKNOWN, find_cycle

_COLUMNS, _HEAD, _DEPREL = 10, column_number("head"), column_number("deprel")
_MISC_PREFIX = {column: f"{SUGGESTION_KEYS[column][0]}=" for column in ("head", "deprel", "upos")}

Column = Literal["head", "deprel", "upos"]


def proposal_text(misc: str, column: Column) -> str | None:
    """The probability of a proposal (HeadProb, DeprelProb, UposProb) as text; None for any other value."""
    key = _MISC_PREFIX[column]
    if key not in misc:  # most words have none, and this runs for every word of a file
        return None
    return next((pair[len(key) :] for pair in misc.split("|") if pair.startswith(key)), None)


def is_proposed(misc: str, column: Column) -> bool:
    """Whether MISC marks the value of a column as a parser's proposal.

    >>> misc = "SpaceAfter=No|HeadProb=0.7"
    >>> is_proposed(misc, "head"), is_proposed(misc, "deprel"), is_proposed("OldHeadProb=1", "head")
    (True, False, False)
    """
    return proposal_text(misc, column) is not None


def proposal_probability(misc: str, column: Column) -> float | None:
    """The probability of a proposal; None if MISC has none, or no number.

    >>> proposal_probability("HeadProb=0.7", "head"), proposal_probability("HeadProb=high", "head")
    (0.7, None)
    """
    # Most words are not proposals: they need no MISC parsed.
    return None if proposal_text(misc, column) is None else probability(misc, SUGGESTION_KEYS[column][0])


FieldState = Literal["decided", "proposed", "open"]
"""A person's decision, a parser's proposal in the file, or no value."""


def field_state(value: str, misc: str, column: Column) -> FieldState:
    """The state of the HEAD, DEPREL or UPOS of a word.

    >>> field_state("3", "_", "head"), field_state("3", "HeadProb=0.7", "head"), field_state("_", "_", "head")
    ('decided', 'proposed', 'open')
    """
    if value == "_":
        return "open"
    return "proposed" if is_proposed(misc, column) else "decided"


def word_state(*fields: FieldState) -> FieldState:
    """The state of a word: that of the first of its fields which is not decided.

    >>> word_state("proposed", "decided"), word_state("decided", "open"), word_state("decided", "decided")
    ('proposed', 'open', 'decided')
    """
    return next((state for state in fields if state != "decided"), "decided")


def word_states(sentence: Sentence, *, tags: bool) -> list[FieldState]:
    """The state of each word of a sentence: the single definition of an annotated word.

    A word is annotated (``decided``) if a person decided its head and its label and, with ``tags``, its UPOS.

    >>> rows = "1\\tHi\\t_\\t_\\t_\\t_\\t0\\troot\\t_\\t_\\n\\n"
    >>> sentence = Treebank.from_string(rows)[0]
    >>> word_states(sentence, tags=False), word_states(sentence, tags=True)
    (['decided'], ['open'])
    """
    columns = zip(sentence.heads[1:], sentence.deprels, sentence.upos, sentence.misc, strict=True)
    return [
        word_state(
            field_state("_" if head < 0 else str(head), misc, "head"),
            field_state(label, misc, "deprel"),
            field_state(upos, misc, "upos") if tags else "decided",
        )
        for head, label, upos, misc in columns
    ]


def first_unfinished(sentence: Sentence, *, tags: bool) -> int | None:
    """The first word (1..n) of a sentence that is not annotated yet (``word_states``); None if all are."""
    states = enumerate(word_states(sentence, tags=tags), 1)
    return next((word for word, state in states if state != "decided"), None)


@dataclass(frozen=True)
class ArcDecisions:
    """The decided heads and labels of one sentence.

    >>> row = "{}\\tw\\t_\\t_\\t_\\t_\\t{}\\t{}\\t_\\t{}\\n"
    >>> rows = row.format(1, 2, "nsubj", "_") + row.format(2, 0, "root", "HeadProb=0.9|DeprelProb=0.8")
    >>> ArcDecisions.of(Treebank.from_string(rows + "\\n")[0])
    ArcDecisions(heads=(2, -1), labels=('nsubj', '_'))
    """

    heads: tuple[int, ...]
    """The head of each word, -1 where none is decided."""
    labels: tuple[str, ...]
    """The label of each word, ``_`` where none is decided."""

    @classmethod
    def of(cls, sentence: Sentence) -> ArcDecisions:
        """The decisions recorded in a sentence."""
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
        """The number of decided heads."""
        return sum(head >= 0 for head in self.heads)

    def decides(self, word: int) -> bool:
        """Whether the head or the label of a word (1..n) is decided."""
        return self.heads[word - 1] >= 0 or self.labels[word - 1] != "_"

    def without(self, words: Sequence[int]) -> ArcDecisions:
        """A copy in which these words are undecided."""
        removed = set(words)
        return ArcDecisions(
            tuple(UNKNOWN if m in removed else head for m, head in enumerate(self.heads, 1)),
            tuple("_" if m in removed else label for m, label in enumerate(self.labels, 1)),
        )

    def like(self, template: ArcDecisions, word: int) -> ArcDecisions:
        """A copy with the decision of ``template`` for one word."""
        i = word - 1
        return ArcDecisions(
            (*self.heads[:i], template.heads[i], *self.heads[word:]),
            (*self.labels[:i], template.labels[i], *self.labels[word:]),
        )

    def conflict(self) -> DecisionConflict | None:
        """A cycle of decided heads, which no tree can contain; None if there is none."""
        cycle = find_cycle(np.array([UNKNOWN, *self.heads], np.int32))
        if not cycle:
            return None
        arcs = [f"{self.heads[m - 1]} → {m}" for m in sorted(cycle)]
        listed = f"{', '.join(arcs[:-1])} and {arcs[-1]}"
        return DecisionConflict(
            tuple(sorted(cycle)), f"the arcs {listed} form a cycle, which no tree can have"
        )

    def in_bytes(self, block: bytes) -> bytes:
        """The sentence with these heads and labels in HEAD and DEPREL, and ``_`` for undecided ones."""
        # On bytes, without parsing: this runs for every suggestion, and all other bytes stay the same.
        lines = block.split(b"\n")
        word = 0
        for place, line in enumerate(lines):
            fields = line.split(b"\t")
            if len(fields) == _COLUMNS and fields[0].isdigit():
                head, label = self.heads[word], self.labels[word]
                fields[_HEAD] = b"_" if head < 0 else str(head).encode()
                # surrogateescape, so that labels of files with invalid UTF-8 survive.
                fields[_DEPREL] = label.encode("utf-8", "surrogateescape")
                lines[place] = b"\t".join(fields)
                word += 1
        return b"\n".join(lines)


@dataclass(frozen=True)
class DecisionConflict:
    """Decisions that no tree can satisfy together."""

    words: tuple[int, ...]
    """The words whose heads form the cycle."""
    message: str


def only_decided(sentences: Iterable[Sentence], *, source: str = "<decided>") -> Treebank:
    """The sentences with only their decided heads and labels, without decisions that form cycles."""
    blocks = (consistent(ArcDecisions.of(sentence)).in_bytes(sentence.conllu_bytes) for sentence in sentences)
    return Treebank(b"".join(blocks), source=source)


def consistent(decisions: ArcDecisions) -> ArcDecisions:
    """The decisions without the heads that form cycles; their labels stay."""
    conflict = decisions.conflict()
    while conflict is not None:  # there may be several cycles
        decisions = ArcDecisions(decisions.without(conflict.words).heads, decisions.labels)
        conflict = decisions.conflict()
    return decisions
