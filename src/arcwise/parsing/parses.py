"""``Parses``: the trees that a parser found, with their probabilities, as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from arcwise.inference import Alternative
from arcwise.treebanks import Sentence, Treebank

Codes = npt.NDArray[np.int32]
Floats = npt.NDArray[np.floating[Any]]


@dataclass(frozen=True)
class GoldProbabilities:
    """Probabilities of trees that were asked about (those of an annotation), flat over all words."""

    head: Floats
    """Of the head; 0 where it is unknown."""
    label: Floats
    """Of the label given that head; -1 where the parser does not consider such an arc or label."""


@dataclass(frozen=True)
class Probabilities:
    """How sure a parser is of its trees. Words and sentences are those of the treebank."""

    head: Floats
    """Of each word's head."""
    label: Floats
    """Of each word's head and label together (the same as ``head`` where there are no labels)."""
    log_tree: npt.NDArray[np.float64]
    """The logarithm of the probability of each sentence's tree, its labels left open."""
    head_entropy: npt.NDArray[np.float64]
    """How unsure the parser is of each sentence's tree, labels left open, in nats."""
    gold: GoldProbabilities | None = None

    def part(self, sentences: slice, words: slice) -> Probabilities:
        """Those of some sentences that stand together, and of their words; the arrays are copies."""
        return Probabilities(
            self.head[words].copy(),
            self.label[words].copy(),
            self.log_tree[sentences].copy(),
            self.head_entropy[sentences].copy(),
            None if self.gold is None else GoldProbabilities(self.gold.head[words], self.gold.label[words]),
        )


@dataclass(frozen=True)
class Note:
    """Something to know about the parse of one sentence: what a person decided made its tree, or made it impossible."""

    sentence: int
    source: str
    """The file."""
    sent_id: str | None
    text: str

    def __str__(self) -> str:
        return f"{self.source} ({self.sent_id or f'sentence {self.sentence + 1}'}): {self.text}"

    @classmethod
    def of(cls, sentence: Sentence, text: str) -> Note:
        """A note about a sentence."""
        return cls(sentence.number, sentence.treebank.source, sentence.sent_id, text)

    def numbered_from(self, first: int) -> Note:
        """The same where sentence 0 has the number ``first``."""
        return replace(self, sentence=self.sentence + first)


@dataclass(frozen=True)
class Parses:
    """One tree a sentence. ``heads`` and ``labels`` (numbers into ``label_names``, -1: none) are flat over all words.

    Of a sentence that was left as it is, because what it keeps fits no tree, they are those of the treebank.
    """

    heads: Codes
    labels: Codes
    label_names: tuple[str, ...] = ()
    probabilities: Probabilities | None = None
    alternatives: Sequence[Sequence[Alternative]] | None = None
    """Of each word: the heads and labels that it may have, most probable first; None if not asked for."""
    notes: tuple[Note, ...] = ()
    unparsed: tuple[int, ...] = ()
    """The sentences that were left as they are."""

    @classmethod
    def joined(cls, parts: Sequence[Parses]) -> Parses:
        """The parses of pieces of a text, as one."""
        if len(parts) == 1:
            return parts[0]
        known = [part.probabilities for part in parts if part.probabilities is not None]
        return cls(
            np.concatenate([part.heads for part in parts]),
            np.concatenate([part.labels for part in parts]),
            parts[0].label_names,
            Probabilities(
                np.concatenate([p.head for p in known]),
                np.concatenate([p.label for p in known]),
                np.concatenate([p.log_tree for p in known]),
                np.concatenate([p.head_entropy for p in known]),
            )
            if len(known) == len(parts)
            else None,
            [own for part in parts for own in part.alternatives or ()]
            if all(part.alternatives is not None for part in parts)
            else None,
        )

    def part(self, sentences: slice, words: slice) -> Parses:
        """The parses of some sentences that stand together, and of their words; the arrays are copies."""
        found, first = self.probabilities, sentences.start
        numbers = range(sentences.start, sentences.stop)
        return Parses(
            self.heads[words].copy(),
            self.labels[words].copy(),
            self.label_names,
            None if found is None else found.part(sentences, words),
            None if self.alternatives is None else self.alternatives[words],
            tuple(note.numbered_from(-first) for note in self.notes if note.sentence in numbers),
            tuple(number - first for number in self.unparsed if number in numbers),
        )

    @cached_property
    def label_strings(self) -> npt.NDArray[np.object_]:
        """The label of every word, ``_`` where it has none."""
        return np.array([*self.label_names, "_"], object)[self.labels]


@dataclass(frozen=True)
class TreeProbabilities:
    """How probable the k best trees are: each head, each head with its label, each tree (labels left open)."""

    head: Floats
    label: Floats
    log_tree: npt.NDArray[np.float64]


@dataclass(frozen=True)
class KBestParses:
    """The best trees of each sentence, best first, one after the other: heads and labels are flat over the words of all of them."""

    counts: npt.NDArray[np.int64]
    """How many trees each sentence has."""
    heads: Codes
    labels: Codes
    scores: npt.NDArray[np.float64]
    label_names: tuple[str, ...] = ()
    probabilities: TreeProbabilities | None = None
    """How probable they are; None if the parser does not say."""
    alternatives: Sequence[Sequence[Alternative]] | None = None
    """Of each word of the treebank."""
    notes: tuple[Note, ...] = ()
    unparsed: tuple[int, ...] = ()


@dataclass(frozen=True)
class GraphParses:
    """A graph for each sentence: (head, word, number of the label) of each arc."""

    graphs: list[list[tuple[int, int, int]]]
    label_names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Analysis:
    """A treebank, and the parses that were written into it; None where there is not one tree a sentence (k best, graphs)."""

    treebank: Treebank
    parses: Parses | None = None
    notes: tuple[Note, ...] = ()
    """What there is to know about single sentences; the same is in their comments (``parse_note``)."""

    def numbered_from(self, first: int) -> Analysis:
        """The same of a piece of a file whose first sentence has the number ``first``: notes name sentences as the file has them."""
        return replace(self, notes=tuple(note.numbered_from(first) for note in self.notes)) if first else self


def parses_from_native(
    result: Any, label_names: tuple[str, ...], *, probabilities: bool, gold: bool = False
) -> Parses:
    """``Parses`` from what the native decoder gave."""
    found = None
    if probabilities:
        found = Probabilities(
            result.head_probability,
            result.label_probability,
            result.log_probability,
            result.head_entropy,
            GoldProbabilities(result.asked_head_probability, result.asked_label_probability)
            if gold
            else None,
        )
    return Parses(result.heads, result.labels, label_names, found)


def k_best_from_native(result: Any, label_names: tuple[str, ...]) -> KBestParses:
    """``KBestParses`` from what the native decoder gave."""
    counts = np.asarray(result.counts, np.int64)
    found = TreeProbabilities(result.head_probability, result.label_probability, result.log_probability)
    return KBestParses(counts, result.heads, result.labels, result.scores, label_names, found)
