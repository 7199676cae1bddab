"""Treebank statistics: sizes, sentence lengths, labels, and degrees of non-projectivity."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from arcwise.treebanks.files import PathLike
from arcwise.treebanks.rows import NATIVE_KINDS
from arcwise.treebanks.streaming import stream
from arcwise.treebanks.treebank import Treebank
from arcwise.trees import tree_properties

_MULTIWORD, _EMPTY = NATIVE_KINDS.index("multiword"), NATIVE_KINDS.index("empty")
LENGTH_BANDS = ((1, 10), (11, 20), (21, 30), (31, 40), (41, 60), (61, None))
"""Bands of sentence lengths (first, last)."""


@dataclass
class Statistics:
    """Counts over a treebank; ``arcwise.trees`` defines non-projective and crossing arcs.

    Tokens are orthographic: a multiword token counts once, although it covers several (syntactic) words.
    """

    source: str
    sentences: int = 0
    tokens: int = 0
    multiword_tokens: int = 0
    words: int = 0
    empty_nodes: int = 0
    arcs: int = 0
    """Words with a known head, including roots."""
    crossing_arcs: int = 0
    """Arcs that cross another one, including arcs from the root."""
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
    """Length → number of sentences; likewise for depths and gap degrees."""
    depths: Counter[int] = field(default_factory=Counter)
    gap_degrees: Counter[int] = field(default_factory=Counter)

    def add(self, batch: Treebank) -> None:
        """Add the sentences of ``batch`` to the counts."""
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
        has_head = batch.heads >= 0
        sentence = np.repeat(np.arange(len(batch)), batch.sentence_lengths)
        self.arcs += int(has_head.sum())
        self.crossing_arcs += int(trees.crossing_arcs.sum())
        self.non_projective_arcs += int(trees.non_projective_arcs.sum())
        self.non_projective_sentences += int((trees.gap_degree > 0).sum())
        self.non_planar_sentences += int((~trees.planar).sum())
        self.ill_nested_sentences += int((~trees.well_nested).sum())
        self.multi_root_sentences += int((trees.roots > 1).sum())
        self.partial_sentences += len(np.unique(sentence[~has_head]))
        self.gap_degrees.update(trees.gap_degree.tolist())
        self.depths.update(trees.depth.tolist())

    @property
    def crossing_arcs_percent(self) -> float:
        """Percentage of arcs that cross another one."""
        return percent(self.crossing_arcs, self.arcs)

    @property
    def non_projective_arcs_percent(self) -> float:
        """Percentage of non-projective arcs."""
        return percent(self.non_projective_arcs, self.arcs)

    @property
    def non_projective_sentences_percent(self) -> float:
        """Percentage of sentences with a non-projective arc."""
        return percent(self.non_projective_sentences, self.sentences)

    def length_percent(self, first: int, last: int | None) -> float:
        """Percentage of sentences with ``first`` to ``last`` words; None means no upper limit."""
        inside = sum(c for n, c in self.lengths.items() if first <= n and (last is None or n <= last))
        return percent(inside, self.sentences)

    def as_dict(self) -> dict[str, Any]:
        """Return all statistics for JSON, with the number of distinct forms instead of the forms."""
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
    """Compute the statistics of a file, streaming it; memory grows with its vocabulary, not with its length.

    >>> from importlib.resources import files
    >>> sample = statistics(str(files("arcwise") / "data" / "sample-gold.conllu"))
    >>> sample.sentences, sample.tokens, sample.words, sample.non_projective_sentences
    (6, 49, 53, 1)
    """
    return collect(stream(path), source=str(path))


def collect(batches: Iterable[Treebank], *, source: str) -> Statistics:
    """Compute the statistics of several treebanks together."""
    total = Statistics(source)
    for batch in batches:
        total.add(batch)
    return total


def percent(part: int, whole: int) -> float:
    """100 · part / whole, and 0 if ``whole`` is 0."""
    return 100.0 * part / whole if whole else 0.0


def mean(counts: Counter[int]) -> float:
    """The mean of counted values."""
    return sum(value * count for value, count in counts.items()) / max(counts.total(), 1)


def median(counts: Counter[int]) -> float:
    """The median of counted values; the mean of the two middle ones for an even count.

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
    """Mean, median, maximum and the counts themselves."""
    return {
        "mean": mean(counts),
        "median": median(counts),
        "max": max(counts, default=0),
        "counts": {str(value): counts[value] for value in sorted(counts)},
    }
