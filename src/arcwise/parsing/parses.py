"""``Parses``: predicted trees with their probabilities, as arrays."""

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
    """Probabilities of the annotated trees, flat over all words."""

    head: Floats
    """Probability of the annotated head; 0 where it is unknown."""
    label: Floats
    """Probability of the annotated label given that head; -1 if the parser does not score it."""


@dataclass(frozen=True)
class Probabilities:
    """A parser's confidence in its trees, per word or per sentence of the treebank."""

    head: Floats
    """Probability of each word's head."""
    label: Floats
    """Joint probability of each word's head and label (equal to ``head`` for unlabelled parsers)."""
    log_tree: npt.NDArray[np.float64]
    """Log-probability of each sentence's tree, labels summed out."""
    head_entropy: npt.NDArray[np.float64]
    """Entropy of each sentence's tree distribution, labels summed out, in nats."""
    gold: GoldProbabilities | None = None

    def part(self, sentences: slice, words: slice) -> Probabilities:
        """The probabilities of a range of sentences and of their words, copied."""
        return Probabilities(
            # Copies, so that a short part does not keep the arrays of a whole corpus alive.
            self.head[words].copy(),
            self.label[words].copy(),
            self.log_tree[sentences].copy(),
            self.head_entropy[sentences].copy(),
            None if self.gold is None else GoldProbabilities(self.gold.head[words], self.gold.label[words]),
        )


@dataclass(frozen=True)
class Note:
    """A remark on the parse of one sentence, such as constraints that no tree satisfies."""

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
        """The note with sentence numbers shifted by ``first``."""
        return replace(self, sentence=self.sentence + first)


@dataclass(frozen=True)
class Parses:
    """One tree per sentence; ``heads`` and ``labels`` (indices, -1: none) are flat over all words.

    Sentences left unchanged, because no tree satisfies their constraints, have the treebank's heads and
    labels.
    """

    heads: Codes
    labels: Codes
    label_names: tuple[str, ...] = ()
    probabilities: Probabilities | None = None
    alternatives: Sequence[Sequence[Alternative]] | None = None
    """Alternative heads and labels of each word, most probable first; None if not requested."""
    notes: tuple[Note, ...] = ()
    unparsed: tuple[int, ...] = ()
    """The sentences left unchanged."""

    @classmethod
    def joined(cls, parts: Sequence[Parses]) -> Parses:
        """Concatenate the parses of consecutive parts of a text."""
        if len(parts) == 1:
            return parts[0]
        probabilities = [part.probabilities for part in parts if part.probabilities is not None]
        return cls(
            np.concatenate([part.heads for part in parts]),
            np.concatenate([part.labels for part in parts]),
            parts[0].label_names,
            Probabilities(
                np.concatenate([p.head for p in probabilities]),
                np.concatenate([p.label for p in probabilities]),
                np.concatenate([p.log_tree for p in probabilities]),
                np.concatenate([p.head_entropy for p in probabilities]),
            )
            if len(probabilities) == len(parts)
            else None,
            [word for part in parts for word in part.alternatives or ()]
            if all(part.alternatives is not None for part in parts)
            else None,
        )

    def part(self, sentences: slice, words: slice) -> Parses:
        """The parses of a range of sentences and of their words, copied."""
        first = sentences.start
        numbers = range(sentences.start, sentences.stop)
        return Parses(
            self.heads[words].copy(),
            self.labels[words].copy(),
            self.label_names,
            None if self.probabilities is None else self.probabilities.part(sentences, words),
            None if self.alternatives is None else self.alternatives[words],
            tuple(note.numbered_from(-first) for note in self.notes if note.sentence in numbers),
            tuple(number - first for number in self.unparsed if number in numbers),
        )

    @cached_property
    def label_strings(self) -> npt.NDArray[np.object_]:
        """The label of every word, ``_`` where it has none."""
        # Index -1 (no label) selects the last entry, "_".
        return np.array([*self.label_names, "_"], object)[self.labels]


@dataclass(frozen=True)
class TreeProbabilities:
    """Probabilities of the k best trees: per head, per head with label, per tree."""

    head: Floats
    label: Floats
    log_tree: npt.NDArray[np.float64]


@dataclass(frozen=True)
class KBestParses:
    """The k best trees of each sentence, best first, flat over the words of all trees."""

    counts: npt.NDArray[np.int64]
    """Number of trees of each sentence."""
    heads: Codes
    labels: Codes
    scores: npt.NDArray[np.float64]
    label_names: tuple[str, ...] = ()
    probabilities: TreeProbabilities | None = None
    """Their probabilities; None if the parser has none."""
    alternatives: Sequence[Sequence[Alternative]] | None = None
    """Alternatives of each word of the treebank."""
    notes: tuple[Note, ...] = ()
    unparsed: tuple[int, ...] = ()


@dataclass(frozen=True)
class GraphParses:
    """A graph per sentence: (head, word, label index) for each arc."""

    graphs: list[list[tuple[int, int, int]]]
    label_names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Analysis:
    """A parsed treebank, and its parses as arrays; None for k-best trees and graphs."""

    treebank: Treebank
    parses: Parses | None = None
    notes: tuple[Note, ...] = ()
    """Remarks on single sentences, also in their comments (``parse_note``)."""

    def numbered_from(self, first: int) -> Analysis:
        """Shift the sentence numbers of the notes, for a part of a file that begins at ``first``."""
        return replace(self, notes=tuple(note.numbered_from(first) for note in self.notes)) if first else self


def parses_from_native(
    result: Any, label_names: tuple[str, ...], *, probabilities: bool, gold: bool = False
) -> Parses:
    """Convert a result of the native decoder to ``Parses``."""
    if not probabilities:
        return Parses(result.heads, result.labels, label_names)
    confidences = Probabilities(
        result.head_probability,
        result.label_probability,
        result.log_probability,
        result.head_entropy,
        GoldProbabilities(result.asked_head_probability, result.asked_label_probability) if gold else None,
    )
    return Parses(result.heads, result.labels, label_names, confidences)


def k_best_from_native(result: Any, label_names: tuple[str, ...]) -> KBestParses:
    """Convert a result of the native k-best decoder to ``KBestParses``."""
    counts = np.asarray(result.counts, np.int64)
    probabilities = TreeProbabilities(
        result.head_probability, result.label_probability, result.log_probability
    )
    return KBestParses(counts, result.heads, result.labels, result.scores, label_names, probabilities)
