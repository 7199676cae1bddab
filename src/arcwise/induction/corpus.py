"""``TagSentences``: the training data of grammar induction, sentences as tag sequences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.errors import InputError
from arcwise.evaluation.verdicts import PUNCTUATION_TAGS, is_punctuation
from arcwise.treebanks.columns import column_number
from arcwise.treebanks.treebank import Treebank


@dataclass(frozen=True)
class TagSentences:
    """Sentences as tag numbers over a fixed alphabet ``tags``.

    >>> corpus = TagSentences.from_tags([["DET", "NOUN", "VERB"], ["NOUN", "VERB"]])
    >>> corpus.tags, corpus.sentences
    (('DET', 'NOUN', 'VERB'), ((0, 1, 2), (1, 2)))
    """

    tags: tuple[str, ...]
    sentences: tuple[tuple[int, ...], ...]

    def __reduce__(self) -> tuple[Any, ...]:  # without the cached native batches, which cannot be pickled
        return type(self), (self.tags, self.sentences)

    @classmethod
    def from_tags(
        cls, sentences: Iterable[Sequence[str]], *, tags: Sequence[str] | None = None
    ) -> TagSentences:
        """Create from tag strings; the alphabet is ``tags``, or all tags that occur, sorted."""
        strings = [list(s) for s in sentences]
        if not strings or not all(strings):
            raise InputError("sentences: found none, or one without a word; each needs at least one word")
        alphabet = tuple(tags) if tags is not None else tuple(sorted({t for s in strings for t in s}))
        numbers = {tag: i for i, tag in enumerate(alphabet)}
        unknown = sorted({t for s in strings for t in s} - numbers.keys())
        if unknown:
            raise InputError(f"tags: found {unknown[0]!r}, expected one of {', '.join(alphabet)}")
        return cls(alphabet, tuple(tuple(numbers[t] for t in s) for s in strings))

    @classmethod
    def from_treebank(
        cls,
        treebank: Treebank,
        *,
        column: str = "upos",
        max_length: int | None = None,
        tags: Sequence[str] | None = None,
        without_punctuation: bool = False,
    ) -> TagSentences:
        """Take the tags of a column, from sentences of at most ``max_length`` words.

        ``without_punctuation`` removes punctuation, and sentences that consist of nothing else. A column
        without any tag raises ``InputError``.
        """
        column_number(column)
        words = treebank.column(column)
        visible = VisibleWords.of(treebank, without_punctuation=without_punctuation)
        if words and all(tag == "_" for tag in words):
            raise InputError(
                f"{treebank.source}: the column {column} has no tags ('_' for every word); "
                "tag the corpus first"
            )
        sentences = [
            [words[a + i] for i in np.flatnonzero(visible.mask[a:b])]
            for (a, b), length in zip(pairwise(visible.starts.tolist()), visible.lengths, strict=True)
            if length and (max_length is None or length <= max_length)
        ]
        if not sentences:
            raise InputError(
                f"max-length: {treebank.source} has no sentence of at most {max_length} words"
                if max_length is not None
                else f"{treebank.source}: has no sentences"
            )
        return cls.from_tags(sentences, tags=tags)

    def first(self, count: int) -> TagSentences:
        """The first ``count`` sentences (0: all), over the tags that occur in them."""
        if not count or count >= len(self):
            return self
        return TagSentences.from_tags(self.strings[:count])

    @property
    def strings(self) -> list[list[str]]:
        """The sentences as tag strings."""
        return [[self.tags[t] for t in s] for s in self.sentences]

    def __len__(self) -> int:
        return len(self.sentences)

    @property
    def words(self) -> int:
        """Number of words."""
        return sum(map(len, self.sentences))

    @cached_property
    def starts(self) -> npt.NDArray[np.int64]:
        """Shape (S+1,): start of each sentence in arrays that are flat over all words."""
        return np.concatenate([[0], np.cumsum([len(s) for s in self.sentences])]).astype(np.int64)

    @cached_property
    def batch(self) -> native.TagCorpus:
        """The corpus for the native kernels."""
        return self._batch(self.sentences, [1.0] * len(self))

    @cached_property
    def kinds(self) -> tuple[tuple[tuple[int, ...], int], ...]:
        """Distinct sentences with their frequencies, in order of first occurrence."""
        counts: dict[tuple[int, ...], int] = {}
        for s in self.sentences:
            counts[s] = counts.get(s, 0) + 1
        return tuple(counts.items())

    @cached_property
    def batch_of_kinds(self) -> native.TagCorpus:
        """The distinct sentences for the native kernels, weighted by frequency."""
        return self._batch([s for s, _ in self.kinds], [float(w) for _, w in self.kinds])

    def _batch(self, sentences: Sequence[Sequence[int]], weights: Sequence[float]) -> native.TagCorpus:
        flat = np.array([t for s in sentences for t in s], np.int32)
        starts = np.concatenate([[0], np.cumsum([len(s) for s in sentences])]).astype(np.int64)
        return native.TagCorpus(tag_count=len(self.tags), tags=flat, starts=starts, weights=np.array(weights))


Mask = npt.NDArray[np.bool_]
Heads = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class VisibleWords:
    """The words of a treebank that a grammar sees: all, or all but punctuation.

    ``mask`` has one flag per word, flat over all sentences; sentence s is ``starts[s] .. starts[s+1]-1``.
    """

    mask: Mask
    starts: npt.NDArray[np.int64]

    @classmethod
    def of(cls, treebank: Treebank, *, without_punctuation: bool = False) -> VisibleWords:
        """Select all words, or all but punctuation (by UPOS, else by form, as in ``arcwise evaluate``)."""
        mask = np.ones(treebank.word_count, bool)
        if without_punctuation:
            pairs = zip(treebank.column("upos"), treebank.column("form"), strict=True)
            mask[:] = [
                not (tag in PUNCTUATION_TAGS or (tag == "_" and is_punctuation(form))) for tag, form in pairs
            ]
        return cls(mask, treebank.sentence_words.astype(np.int64))

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Number of visible words of each sentence."""
        before = np.concatenate([[0], np.cumsum(self.mask)])
        lengths: npt.NDArray[np.int64] = np.diff(before[self.starts])
        return lengths

    def expand(self, heads: Heads) -> Heads:
        """Extend heads of the visible words (flat, numbered among themselves) to all words.

        The other words attach to the nearest visible word before them, or else to the first one after them,
        so that their arcs cross no others. In a sentence without visible words the first word heads the
        others.
        """
        if self.mask.all():
            return heads
        out = np.empty(len(self.mask), np.int32)
        taken = 0
        for a, b in pairwise(self.starts.tolist()):
            places = np.flatnonzero(self.mask[a:b]) + 1
            sentence_heads = heads[taken : taken + len(places)]
            taken += len(places)
            if not len(places):
                out[a:b] = [0] + [1] * (b - a - 1)
                continue
            numbers = np.arange(1, b - a + 1)
            before = np.maximum(np.searchsorted(places, numbers, side="right") - 1, 0)
            out[a:b] = places[before]
            out[a + places - 1] = np.where(sentence_heads > 0, places[np.maximum(sentence_heads, 1) - 1], 0)
        return out
