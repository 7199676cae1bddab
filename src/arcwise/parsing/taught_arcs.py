"""``TaughtArcs``: how probable a teacher finds each head and label of each word, sparse, flat over all words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from arcwise.parsing.parses import Codes

LEAST_LABEL, LEAST_SHARE = 0.01, 0.001
"""The share of its arc, and the probability, that a label needs to be told beside the arc's most probable one."""
_CHUNK = 20_000
"""So many words are worked at together, to spare memory."""

Shares = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class TaughtArcs:
    """The arcs into word w (of all words of a treebank) are those from ``starts[w]`` to ``starts[w + 1]``.

    >>> gold = TaughtArcs.of_trees(np.array([2, 0], np.int32), np.array([1, 0], np.int32), ("root", "nsubj"))
    >>> gold.starts.tolist(), gold.heads.tolist(), gold.shares.tolist()
    ([0, 1, 2], [2, 0], [1.0, 1.0])
    """

    starts: Numbers
    heads: Codes
    labels: Codes
    """Numbers into ``label_names``; -1 where there are no labels."""
    shares: Shares
    """Probabilities; those of a word add up to 1 (or there are none)."""
    label_names: tuple[str, ...] = ()

    def __len__(self) -> int:
        """The number of words."""
        return len(self.starts) - 1

    # ---- where they come from

    @classmethod
    def gathered(
        cls, words: Numbers, heads: Codes, labels: Codes, shares: Shares, count: int, names: Sequence[str]
    ) -> TaughtArcs:
        """From arcs in any order into ``count`` words: those of the same word, head and label become one, those of a word add up
        to 1."""
        order = np.lexsort((labels, heads, words))
        words, heads, labels, shares = words[order], heads[order], labels[order], shares[order]
        first = np.ones(len(words), np.bool_)
        first[1:] = (np.diff(words) != 0) | (np.diff(heads) != 0) | (np.diff(labels) != 0)
        if not first.all():
            shares = np.add.reduceat(shares, np.flatnonzero(first))
            words, heads, labels = words[first], heads[first], labels[first]
        totals = np.bincount(words, shares, count)
        starts = np.concatenate([[0], np.cumsum(np.bincount(words, minlength=count))]).astype(np.int64)
        return cls(
            starts, heads.astype(np.int32), labels.astype(np.int32), shares / totals[words], tuple(names)
        )

    @classmethod
    def nothing(cls, count: int, names: Sequence[str]) -> TaughtArcs:
        """Of so many words nothing is said."""
        none = np.zeros(0, np.int32)
        return cls(np.zeros(count + 1, np.int64), none, none, np.zeros(0), tuple(names))

    @classmethod
    def of_trees(cls, heads: Codes, labels: Codes, names: Sequence[str]) -> TaughtArcs:
        """One arc for each word whose head is known, and whose label is, if there are labels."""
        known = (heads >= 0) & ((labels >= 0) | (not names))
        codes = labels[known] if names else np.full(int(known.sum()), -1, np.int32)
        return cls.gathered(
            np.flatnonzero(known), heads[known], codes, np.ones(len(codes)), len(heads), names
        )

    @classmethod
    def of_marginals(
        cls, marginals: Sequence[npt.NDArray[Any]], names: Sequence[str], *, least: float
    ) -> TaughtArcs:
        """From one array a sentence, (n+1, n+1) or with L labels (L, n+1, n+1). Heads below the probability ``least`` are left out, but for
        the most probable one of each word; improbable labels (``LEAST_LABEL``, ``LEAST_SHARE``) leave what they have to the others of
        their arc, so that what is said of heads stays as it is."""
        parts, done = [], 0
        for own in marginals:
            dense = np.asarray(own, np.float64)
            dense = (dense if names else dense[None])[:, :, 1:]
            arcs = dense.sum(0)
            n = arcs.shape[1]
            wanted = (arcs >= least) & (arcs > 0)
            wanted[arcs.argmax(0), np.arange(n)] = True
            told = (dense >= np.maximum(LEAST_LABEL * arcs, LEAST_SHARE)) | (dense == dense.max(0))
            shares = np.where(told & wanted, dense, 0.0)
            shares *= arcs / np.where(wanted, shares.sum(0), 1.0)
            label, head, word = np.nonzero(shares)
            parts.append((word + done, head, label if names else label - 1, shares[label, head, word]))
            done += n
        columns = (
            [np.concatenate(column) for column in zip(*parts, strict=True)] if parts else [np.zeros(0)] * 4
        )
        words, heads, labels, shares = columns
        return cls.gathered(
            words.astype(np.int64), heads.astype(np.int32), labels.astype(np.int32), shares, done, names
        )

    @classmethod
    def joined(cls, parts: Sequence[TaughtArcs]) -> TaughtArcs:
        """Those of one treebank after the other, with the labels of the first."""
        ends = np.cumsum([0, *(len(part.heads) for part in parts)])
        starts = [part.starts[:-1] + end for part, end in zip(parts, ends[:-1], strict=True)]
        return cls(
            np.concatenate([*starts, ends[-1:]]).astype(np.int64),
            np.concatenate([part.heads for part in parts]),
            np.concatenate([part.labels for part in parts]),
            np.concatenate([part.shares for part in parts]),
            parts[0].label_names,
        )

    # ---- what becomes of them

    @property
    def words(self) -> Numbers:
        """The word of each arc."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    def of_words(self, chosen: Numbers) -> TaughtArcs:
        """Those of these words, in this order."""
        counts = np.diff(self.starts)[chosen]
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        at = np.arange(starts[-1]) - np.repeat(starts[:-1], counts) + np.repeat(self.starts[chosen], counts)
        return replace(
            self, starts=starts, heads=self.heads[at], labels=self.labels[at], shares=self.shares[at]
        )

    def above(self, least: float) -> TaughtArcs:
        """Without the arcs, each with its label, below the probability ``least``, but for the most probable one of each word."""
        words = self.words
        highest = np.zeros(len(self))
        np.maximum.at(highest, words, self.shares)
        return self._kept(self.shares >= np.minimum(least, highest)[words])

    def without_words(self, chosen: npt.NDArray[np.bool_]) -> TaughtArcs:
        """Nothing is said of the words that are chosen."""
        return self._kept(~chosen[self.words])

    def in_labels(self, names: Sequence[str]) -> TaughtArcs:
        """The same in another alphabet of labels. Labels that it lacks leave what they have to the other labels of their arcs, and arcs that
        lose all of theirs to the others of the word; no names: labels are summed out."""
        names = tuple(names)
        if names == self.label_names:
            return self
        return TaughtArcs.joined([part._recoded(names) for part in self._chunks()])

    def _recoded(self, names: tuple[str, ...]) -> TaughtArcs:
        words, codes, shares = self.words, np.full(len(self.heads), -1, np.int32), self.shares
        if names:
            known = {name: code for code, name in enumerate(names)}
            codes = np.array([known.get(name, -1) for name in self.label_names], np.int32)[self.labels]
            kept = codes >= 0
            arc = np.cumsum((np.diff(words, prepend=-1) != 0) | (np.diff(self.heads, prepend=-1) != 0)) - 1
            before, after = (np.bincount(arc, own).astype(np.float64) for own in (shares, shares * kept))
            grown = np.divide(before, after, out=np.ones_like(before), where=after > 0)
            shares = (shares * grown[arc])[kept]
            words, heads, codes = words[kept], self.heads[kept], codes[kept]
            return self.gathered(words, heads, codes, shares, len(self), names)
        return self.gathered(words, self.heads, codes, shares, len(self), names)

    def mixed(self, others: TaughtArcs, share: Shares) -> TaughtArcs:
        """``share`` (of each word) of the others and the rest of these; of a word that one of the two lacks, the other alone. Both
        have the same labels."""
        ends = np.cumsum([0, *(len(part) for part in self._chunks())])
        parts = zip(self._chunks(), others._chunks(), np.split(share, ends[1:-1]), strict=True)
        return TaughtArcs.joined([own._mixed(other, part) for own, other, part in parts])

    def _mixed(self, others: TaughtArcs, share: Shares) -> TaughtArcs:
        own, theirs = self.words, others.words
        has_own, has_theirs = np.diff(self.starts) > 0, np.diff(others.starts) > 0
        part = np.where(has_theirs, np.where(has_own, share, 1.0), 0.0)
        shares = np.concatenate([self.shares * (1 - part)[own], others.shares * part[theirs]])
        kept = shares > 0
        return self.gathered(
            np.concatenate([own, theirs])[kept],
            np.concatenate([self.heads, others.heads])[kept],
            np.concatenate([self.labels, others.labels])[kept],
            shares[kept],
            len(self),
            self.label_names,
        )

    def _kept(self, which: npt.NDArray[np.bool_]) -> TaughtArcs:
        """Those of its arcs, those of a word with the shares of all."""
        words = self.words[which]
        counts = np.bincount(words, minlength=len(self))
        totals = np.bincount(words, self.shares[which], len(self))
        return replace(
            self,
            starts=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            heads=self.heads[which],
            labels=self.labels[which],
            shares=self.shares[which] / totals[words],
        )

    def _chunks(self) -> list[TaughtArcs]:
        """Some words at a time."""
        first = range(0, max(len(self), 1), _CHUNK)
        return [self.of_words(np.arange(at, min(at + _CHUNK, len(self)))) for at in first]
