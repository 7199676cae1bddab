"""``SoftTargets``: a teacher's probabilities of heads and labels, sparse, flat over words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from arcwise.inference.labels import codes_of
from arcwise.parsing.parses import Codes

MIN_LABEL_SHARE, MIN_LABEL_PROBABILITY = 0.01, 0.001
"""Less probable labels, relative to their arc or absolutely, are dropped (but not the best)."""
_CHUNK_WORDS = 20_000
"""Words processed at a time, which bounds the memory of sorting and merging."""

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]


@dataclass(frozen=True)
class SoftTargets:
    """The arcs into word w (of all words of a treebank) are those from ``starts[w]`` to ``starts[w + 1]``.

    >>> heads, labels = np.array([2, 0], np.int32), np.array([1, 0], np.int32)
    >>> gold = SoftTargets.from_trees(heads, labels, ("root", "nsubj"))
    >>> gold.starts.tolist(), gold.heads.tolist(), gold.probabilities.tolist()
    ([0, 1, 2], [2, 0], [1.0, 1.0])
    """

    starts: Indices
    heads: Codes
    labels: Codes
    """Indices into ``label_names``; -1 for unlabelled arcs."""
    probabilities: Floats
    """Probability of each arc with its label; they sum to 1 over the arcs of a word, if it has any."""
    label_names: tuple[str, ...] = ()

    def __len__(self) -> int:
        """The number of words."""
        return len(self.starts) - 1

    @classmethod
    def from_arcs(
        cls,
        words: Indices,
        heads: Codes,
        labels: Codes,
        probabilities: Floats,
        count: int,
        names: Sequence[str],
    ) -> SoftTargets:
        """Build the targets of ``count`` words from unordered arcs: merge duplicates, normalise."""
        order = np.lexsort((labels, heads, words))
        words, heads, labels, probabilities = words[order], heads[order], labels[order], probabilities[order]
        first = np.ones(len(words), np.bool_)
        first[1:] = (np.diff(words) != 0) | (np.diff(heads) != 0) | (np.diff(labels) != 0)
        if not first.all():
            probabilities = np.add.reduceat(probabilities, np.flatnonzero(first))
            words, heads, labels = words[first], heads[first], labels[first]
        totals = np.bincount(words, probabilities, count)
        starts = np.concatenate([[0], np.cumsum(np.bincount(words, minlength=count))]).astype(np.int64)
        return cls(
            starts,
            heads.astype(np.int32),
            labels.astype(np.int32),
            probabilities / totals[words],
            tuple(names),
        )

    @classmethod
    def empty(cls, count: int, names: Sequence[str]) -> SoftTargets:
        """Targets of ``count`` words without any arc."""
        none = np.zeros(0, np.int32)
        return cls(np.zeros(count + 1, np.int64), none, none, np.zeros(0), tuple(names))

    @classmethod
    def from_trees(cls, heads: Codes, labels: Codes, names: Sequence[str]) -> SoftTargets:
        """Hard targets: one arc for each word whose head (and label, if there are labels) is known."""
        annotated = (heads >= 0) & ((labels >= 0) | (not names))
        codes = labels[annotated] if names else np.full(int(annotated.sum()), -1, np.int32)
        return cls.from_arcs(
            np.flatnonzero(annotated), heads[annotated], codes, np.ones(len(codes)), len(heads), names
        )

    @classmethod
    def from_marginals(
        cls, marginals: Sequence[npt.NDArray[Any]], names: Sequence[str], *, least: float
    ) -> SoftTargets:
        """Sparsify one array of marginals per sentence, (n+1, n+1) or with L labels (L, n+1, n+1).

        Heads below the probability ``least`` are dropped, except the most probable one of each word.
        Improbable labels (``MIN_LABEL_SHARE``, ``MIN_LABEL_PROBABILITY``) pass their mass to the other labels
        of their arc, so that the head marginals do not change.
        """
        parts, done = [], 0
        for sentence_marginals in marginals:
            dense = np.asarray(sentence_marginals, np.float64)
            dense = (dense if names else dense[None])[:, :, 1:]
            arcs = dense.sum(0)
            n = arcs.shape[1]
            kept_heads = (arcs >= least) & (arcs > 0)
            kept_heads[arcs.argmax(0), np.arange(n)] = True
            floor = np.maximum(MIN_LABEL_SHARE * arcs, MIN_LABEL_PROBABILITY)
            kept_labels = (dense >= floor) | (dense == dense.max(0))
            sparse = np.where(kept_labels & kept_heads, dense, 0.0)
            sparse *= arcs / np.where(kept_heads, sparse.sum(0), 1.0)
            label, head, word = np.nonzero(sparse)
            parts.append((word + done, head, label if names else label - 1, sparse[label, head, word]))
            done += n
        columns = (
            [np.concatenate(column) for column in zip(*parts, strict=True)] if parts else [np.zeros(0)] * 4
        )
        words, heads, labels, probabilities = columns
        return cls.from_arcs(
            words.astype(np.int64),
            heads.astype(np.int32),
            labels.astype(np.int32),
            probabilities,
            done,
            names,
        )

    @classmethod
    def concatenate(cls, parts: Sequence[SoftTargets]) -> SoftTargets:
        """The targets of several treebanks in a row, with the label names of the first."""
        ends = np.cumsum([0, *(len(part.heads) for part in parts)])
        starts = [part.starts[:-1] + end for part, end in zip(parts, ends[:-1], strict=True)]
        return cls(
            np.concatenate([*starts, ends[-1:]]).astype(np.int64),
            np.concatenate([part.heads for part in parts]),
            np.concatenate([part.labels for part in parts]),
            np.concatenate([part.probabilities for part in parts]),
            parts[0].label_names,
        )

    @property
    def words(self) -> Indices:
        """The word of each arc."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    def select_words(self, words: Indices) -> SoftTargets:
        """The targets of these words, in this order."""
        counts = np.diff(self.starts)[words]
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        at = np.arange(starts[-1]) - np.repeat(starts[:-1], counts) + np.repeat(self.starts[words], counts)
        return replace(
            self,
            starts=starts,
            heads=self.heads[at],
            labels=self.labels[at],
            probabilities=self.probabilities[at],
        )

    def prune(self, least: float) -> SoftTargets:
        """Drop labelled arcs below the probability ``least``, except the most probable one of each word."""
        words = self.words
        highest = np.zeros(len(self))
        np.maximum.at(highest, words, self.probabilities)
        return self._filter(self.probabilities >= np.minimum(least, highest)[words])

    def without_words(self, words: npt.NDArray[np.bool_]) -> SoftTargets:
        """Drop all targets of the words marked True."""
        return self._filter(~words[self.words])

    def with_labels(self, names: Sequence[str]) -> SoftTargets:
        """The same targets in another label set; no names: labels are summed out.

        A label missing from ``names`` passes its mass to the other labels of its arc; an arc that loses all
        its labels passes it to the other arcs of the word.
        """
        names = tuple(names)
        if names == self.label_names:
            return self
        return SoftTargets.concatenate([part._with_labels(names) for part in self._chunks()])

    def _with_labels(self, names: tuple[str, ...]) -> SoftTargets:
        words, probabilities = self.words, self.probabilities
        if not names:
            unlabelled = np.full(len(self.heads), -1, np.int32)
            return self.from_arcs(words, self.heads, unlabelled, probabilities, len(self), names)
        codes = codes_of(self.label_names, names)[self.labels]
        kept = codes >= 0
        arc = np.cumsum((np.diff(words, prepend=-1) != 0) | (np.diff(self.heads, prepend=-1) != 0)) - 1
        before = np.bincount(arc, probabilities).astype(np.float64)
        after = np.bincount(arc, probabilities * kept).astype(np.float64)
        factor = np.divide(before, after, out=np.ones_like(before), where=after > 0)
        probabilities = (probabilities * factor[arc])[kept]
        return self.from_arcs(words[kept], self.heads[kept], codes[kept], probabilities, len(self), names)

    def interpolate(self, others: SoftTargets, weight: Floats) -> SoftTargets:
        """Mix ``weight`` (per word) of ``others`` with the rest of these targets, which have the same labels.

        A word with targets on one side only takes those.
        """
        ends = np.cumsum([0, *(len(part) for part in self._chunks())])
        parts = zip(self._chunks(), others._chunks(), np.split(weight, ends[1:-1]), strict=True)
        return SoftTargets.concatenate([first._interpolate(second, part) for first, second, part in parts])

    def _interpolate(self, others: SoftTargets, weight: Floats) -> SoftTargets:
        words, other_words = self.words, others.words
        has_arcs, others_have = np.diff(self.starts) > 0, np.diff(others.starts) > 0
        weight = np.where(others_have, np.where(has_arcs, weight, 1.0), 0.0)
        probabilities = np.concatenate(
            [self.probabilities * (1 - weight)[words], others.probabilities * weight[other_words]]
        )
        kept = probabilities > 0
        return self.from_arcs(
            np.concatenate([words, other_words])[kept],
            np.concatenate([self.heads, others.heads])[kept],
            np.concatenate([self.labels, others.labels])[kept],
            probabilities[kept],
            len(self),
            self.label_names,
        )

    def _filter(self, kept: npt.NDArray[np.bool_]) -> SoftTargets:
        """Keep the arcs marked True and normalise each word to 1 again."""
        words = self.words[kept]
        counts = np.bincount(words, minlength=len(self))
        totals = np.bincount(words, self.probabilities[kept], len(self))
        return replace(
            self,
            starts=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            heads=self.heads[kept],
            labels=self.labels[kept],
            probabilities=self.probabilities[kept] / totals[words],
        )

    def _chunks(self) -> list[SoftTargets]:
        first = range(0, max(len(self), 1), _CHUNK_WORDS)
        return [self.select_words(np.arange(at, min(at + _CHUNK_WORDS, len(self)))) for at in first]
