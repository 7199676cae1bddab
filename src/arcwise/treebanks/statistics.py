"""What a treebank holds: sizes, lengths, labels, and how far its trees are from projective."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from arcwise.treebanks.files import PathLike
from arcwise.treebanks.streaming import stream
from arcwise.treebanks.treebank import Treebank
from arcwise.trees import tree_properties

_MULTIWORD, _EMPTY = 1, 2  # RowKind in native/kernels/treebanks/treebank_layout.hpp
LENGTH_BANDS = ((1, 10), (11, 20), (21, 30), (31, 40), (41, 60), (61, None))
"""Sentence lengths that are counted together, first and last."""


@dataclass
class Statistics:
    """Counts over one treebank; the shares are in percent. Non-projective and crossing as in ``arcwise.trees``.

    Tokens are written words: a multiword token counts once, though it is several (syntactic) words.
    """

    source: str
    sentences: int = 0
    tokens: int = 0
    multiword_tokens: int = 0
    words: int = 0
    empty_nodes: int = 0
    arcs: int = 0
    """Words whose head is known; arcs from the root included."""
    crossing_arcs: int = 0
    """Arcs that cross another, arcs from the root included."""
    non_projective_arcs: int = 0
    non_projective_sentences: int = 0
    non_planar_sentences: int = 0
    ill_nested_sentences: int = 0
    multi_root_sentences: int = 0
    partial_sentences: int = 0
    """Sentences with a word whose head is unknown."""
    forms: Counter[str] = field(default_factory=Counter)
    labels: Counter[str] = field(default_factory=Counter)
    tags: Counter[str] = field(default_factory=Counter)
    lengths: Counter[int] = field(default_factory=Counter)
    """Words of a sentence → number of sentences; the same for the next two."""
    depths: Counter[int] = field(default_factory=Counter)
    gap_degrees: Counter[int] = field(default_factory=Counter)

    def add(self, batch: Treebank) -> None:
        """Count the sentences of ``batch`` too."""
        self._add_rows(batch)
        self._add_trees(batch)
        self.forms.update(batch.column("form"))
        self.labels.update(batch.column("deprel"))
        self.tags.update(batch.column("upos"))

    def _add_rows(self, batch: Treebank) -> None:
        layout = batch.layout
        multiword = np.flatnonzero(layout.row_kinds == _MULTIWORD)
        marks = layout.marks.reshape(layout.row_count, -1) if layout.row_count else layout.marks
        joined = 0
        for row in multiword:
            first, _, last = batch.data[marks[row, 0] : marks[row, 1] - 1].partition(b"-")
            joined += int(last) - int(first) + 1
        self.sentences += len(batch)
        self.words += batch.word_count
        self.multiword_tokens += len(multiword)
        self.tokens += batch.word_count - joined + len(multiword)
        self.empty_nodes += int(np.count_nonzero(layout.row_kinds == _EMPTY))
        self.lengths.update(batch.sentence_lengths.tolist())

    def _add_trees(self, batch: Treebank) -> None:
        trees = tree_properties(batch.heads, batch.sentence_words)
        known = batch.heads >= 0
        sentence = np.repeat(np.arange(len(batch)), batch.sentence_lengths)
        self.arcs += int(known.sum())
        self.crossing_arcs += int(trees.crossing_arcs.sum())
        self.non_projective_arcs += int(trees.non_projective_arcs.sum())
        self.non_projective_sentences += int((trees.gap_degree > 0).sum())
        self.non_planar_sentences += int((~trees.planar).sum())
        self.ill_nested_sentences += int((~trees.well_nested).sum())
        self.multi_root_sentences += int((trees.roots > 1).sum())
        self.partial_sentences += len(np.unique(sentence[~known]))
        self.gap_degrees.update(trees.gap_degree.tolist())
        self.depths.update(trees.depth.tolist())

    @property
    def crossing_arcs_percent(self) -> float:
        """Share of arcs that cross another."""
        return percent(self.crossing_arcs, self.arcs)

    @property
    def non_projective_arcs_percent(self) -> float:
        """Share of arcs that are non-projective."""
        return percent(self.non_projective_arcs, self.arcs)

    @property
    def non_projective_sentences_percent(self) -> float:
        """Share of sentences with a non-projective arc."""
        return percent(self.non_projective_sentences, self.sentences)

    def length_percent(self, first: int, last: int | None) -> float:
        """Share of sentences with ``first`` to ``last`` words; None is without limit."""
        inside = sum(c for n, c in self.lengths.items() if first <= n and (last is None or n <= last))
        return percent(inside, self.sentences)

    def as_dict(self) -> dict[str, Any]:
        """Everything but the forms themselves, for JSON."""
        names = [name for name, value in vars(self).items() if isinstance(value, (int, str))]
        return {
            **{("file" if name == "source" else name): getattr(self, name) for name in names},
            "forms": len(self.forms),
            "crossing_arcs_percent": self.crossing_arcs_percent,
            "non_projective_arcs_percent": self.non_projective_arcs_percent,
            "non_projective_sentences_percent": self.non_projective_sentences_percent,
            "labels": dict(self.labels.most_common()),
            "tags": dict(self.tags.most_common()),
            "length": summary(self.lengths),
            "depth": summary(self.depths),
            "gap_degree": summary(self.gap_degrees),
        }


def statistics(path: PathLike) -> Statistics:
    """Read a file piece by piece and count: memory grows with its vocabulary, not with its length.

    >>> from importlib.resources import files
    >>> sample = statistics(str(files("arcwise") / "data" / "sample-gold.conllu"))
    >>> sample.sentences, sample.tokens, sample.words, sample.non_projective_sentences
    (6, 49, 53, 1)
    """
    return collect(stream(path), source=str(path))


def collect(batches: Iterable[Treebank], *, source: str) -> Statistics:
    """The statistics of several treebanks together."""
    found = Statistics(source)
    for batch in batches:
        found.add(batch)
    return found


def percent(part: int, whole: int) -> float:
    """100 · part / whole, 0 where there is nothing."""
    return 100.0 * part / whole if whole else 0.0


def mean(counts: Counter[int]) -> float:
    """The mean of values counted."""
    return sum(value * count for value, count in counts.items()) / max(counts.total(), 1)


def median(counts: Counter[int]) -> float:
    """The median of values counted, the mean of the two middle ones where their number is even.

    >>> median(Counter([1, 2, 2, 9])), median(Counter([1, 4]))
    (2.0, 2.5)
    """
    values = sorted(counts)
    ends = np.cumsum([counts[v] for v in values])
    if not len(ends):
        return 0.0
    middle = ((ends[-1] - 1) // 2, ends[-1] // 2)
    low, high = (values[int(np.searchsorted(ends, place, side="right"))] for place in middle)
    return (low + high) / 2


def summary(counts: Counter[int]) -> dict[str, Any]:
    """Mean, median, largest value, and the number of each."""
    return {
        "mean": mean(counts),
        "median": median(counts),
        "max": max(counts, default=0),
        "counts": {str(value): counts[value] for value in sorted(counts)},
    }
