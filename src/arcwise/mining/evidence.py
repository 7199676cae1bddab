"""``ParserEvidence``: a parser's probabilities of the annotation of sentences it was not trained on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int32]
Strings = npt.NDArray[np.object_]

PROPOSALS = 3
"""Alternatives kept for each word and parser."""


def universal(label: str) -> str:
    """A label without its subtype.

    >>> universal("nsubj:pass")
    'nsubj'
    """
    return label.split(":", 1)[0]


@dataclass(frozen=True)
class ParserEvidence:
    """Probabilities of the annotation, flat over all words; NaN where a parser has none.

    Labels are compared without their subtypes, because these differ between releases and languages.
    """

    arc: Floats
    """P(annotated head and universal label); of the head alone where the label is ``_``."""
    head: Floats
    """P(annotated head)."""
    label: Floats
    """P(annotated universal label), heads summed out."""
    other_label: Strings
    """The most probable other universal label."""
    other_label_probability: Floats
    conditional: Floats
    """P(annotated head and universal label | all other annotated arcs); NaN for parsers without scores."""
    best_tree: Floats
    """Of the best trees with and without the annotated arc, the share of the first: 1 / (1 + exp(-gap))."""
    proposed_heads: Codes
    """Shape (W, PROPOSALS): alternatives to the annotated arc, most probable first; -1 if there are fewer."""
    proposed_labels: Strings
    proposed: Floats
    """P(proposed head and label)."""

    @classmethod
    def empty(cls, words: int) -> ParserEvidence:
        """No evidence."""
        nothing = np.full(words, np.nan)
        return cls(
            arc=nothing,
            head=nothing.copy(),
            label=nothing.copy(),
            other_label=np.full(words, "_", object),
            other_label_probability=nothing.copy(),
            conditional=nothing.copy(),
            best_tree=nothing.copy(),
            proposed_heads=np.full((words, PROPOSALS), -1, np.int32),
            proposed_labels=np.full((words, PROPOSALS), "_", object),
            proposed=np.zeros((words, PROPOSALS)),
        )

    @classmethod
    def joined(cls, parts: Sequence[ParserEvidence]) -> ParserEvidence:
        """Concatenate the evidence about consecutive sentences."""
        if not parts:
            return cls.empty(0)
        return cls(
            **{field.name: np.concatenate([getattr(p, field.name) for p in parts]) for field in fields(cls)}
        )

    def put(self, words: npt.NDArray[np.int64], part: ParserEvidence) -> None:
        """Store the evidence about some of the words; used while the folds are collected."""
        for field in fields(self):
            getattr(self, field.name)[words] = getattr(part, field.name)


@dataclass(frozen=True)
class ArcTable:
    """Probabilities of the (head, label) pairs of every word of one sentence.

    ``probabilities``: shape (L, n+1, n), for the words 1..n. ``labels``: L names. ``heads`` and
    ``annotated``: the annotation of the words 1..n (-1 and ``_`` where it is missing).
    """

    probabilities: Floats
    labels: Sequence[str]
    heads: Codes
    annotated: Sequence[str]

    def evidence(self, conditional: Floats | None = None, gap: Floats | None = None) -> ParserEvidence:
        """The evidence about the sentence; ``gap``: that of the best trees with and without each arc."""
        same = self.same_label()
        head, arc = self.annotated_arcs()
        by_label = self.probabilities.sum(axis=1)
        label = np.where(self.unlabelled, np.nan, (by_label * same).sum(axis=0))
        other, other_probability = self._best_other(by_label, same)
        unknown = np.where(self.heads >= 0, 0.0, np.nan)
        return ParserEvidence(
            arc,
            head,
            label + unknown,
            other,
            other_probability + unknown,
            (np.full(len(head), np.nan) if conditional is None else conditional) + unknown,
            (np.full(len(head), np.nan) if gap is None else 1 / (1 + np.exp(-gap))) + unknown,
            *self.alternatives(same),
        )

    def annotated_arcs(self) -> tuple[Floats, Floats]:
        """P(annotated head), and P(annotated head and universal label); NaN where no head is annotated."""
        at_head = self.probabilities[:, np.maximum(self.heads, 0), np.arange(len(self.heads))]
        head = at_head.sum(axis=0)
        arc = np.where(self.unlabelled, head, (at_head * self.same_label()).sum(axis=0))
        unknown = np.where(self.heads >= 0, 0.0, np.nan)
        return head + unknown, arc + unknown

    @property
    def unlabelled(self) -> npt.NDArray[np.bool_]:
        """Words without a label."""
        return np.array([label == "_" for label in self.annotated], np.bool_)

    def same_label(self) -> npt.NDArray[np.bool_]:
        """Shape (L, n): whether the universal label of a row is that of a word."""
        rows = np.array([universal(label) for label in self.labels], object)
        columns = np.array([universal(label) for label in self.annotated], object)
        return np.asarray(rows[:, None] == columns[None, :], np.bool_)

    def _best_other(self, by_label: Floats, same: npt.NDArray[np.bool_]) -> tuple[Strings, Floats]:
        names = [universal(label) for label in self.labels]
        kinds = list(dict.fromkeys(names))
        rows = np.array([kinds.index(name) for name in names])
        summed = np.zeros((len(kinds), by_label.shape[1]))
        np.add.at(summed, rows, np.where(same, 0.0, by_label))
        best = summed.argmax(axis=0)
        return np.array(kinds, object)[best], summed[best, np.arange(by_label.shape[1])]

    def alternatives(self, same: npt.NDArray[np.bool_]) -> tuple[Codes, Strings, Floats]:
        """The most probable pairs of head and label that differ from the annotation."""
        p = self.probabilities.copy()
        n = p.shape[2]
        words, heads = np.arange(n), np.maximum(self.heads, 0)
        p[:, heads, words] = np.where(same | self.unlabelled, 0.0, p[:, heads, words])
        flat = p.reshape(-1, n)
        count = min(PROPOSALS, len(flat))
        top = np.argpartition(-flat, count - 1, axis=0)[:count]
        top = np.take_along_axis(top, np.argsort(-np.take_along_axis(flat, top, 0), axis=0, kind="stable"), 0)
        values = np.take_along_axis(flat, top, 0).T
        codes, chosen_heads = np.divmod(top.T, p.shape[1])
        proposals = np.full((n, PROPOSALS), -1, np.int32)
        names = np.full((n, PROPOSALS), "_", object)
        probabilities = np.zeros((n, PROPOSALS))
        some = values > 0
        proposals[:, :count] = np.where(some, chosen_heads, -1)
        names[:, :count] = np.where(some, np.array(self.labels, object)[codes], "_")
        probabilities[:, :count] = values
        return proposals, names, probabilities
