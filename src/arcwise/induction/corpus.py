"""``TagSentences``: what a grammar is induced from, sentences as sequences of tags."""

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

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.tags, self.sentences)

    @classmethod
    def from_tags(
        cls, sentences: Iterable[Sequence[str]], *, tags: Sequence[str] | None = None
    ) -> TagSentences:
        """Tag strings; the alphabet is ``tags``, or all tags found, sorted."""
        found = [list(s) for s in sentences]
        if not found or not all(found):
            raise InputError(
                "sentences: found none, or one without a word, expected at least one word in each"
            )
        alphabet = tuple(tags) if tags is not None else tuple(sorted({t for s in found for t in s}))
        numbers = {tag: i for i, tag in enumerate(alphabet)}
        unknown = sorted({t for s in found for t in s} - numbers.keys())
        if unknown:
            raise InputError(f"tags: found {unknown[0]!r}, expected one of {', '.join(alphabet)}")
        return cls(alphabet, tuple(tuple(numbers[t] for t in s) for s in found))

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
        """The tags of a column, of the sentences with at most ``max_length`` words; ``without_punctuation`` it is not there at all.

        Sentences of punctuation alone are left out with it. A column without a single tag is an error.
        """
        column_number(column)
        words = treebank.column(column)
        chosen = SeenWords.of(treebank, without_punctuation=without_punctuation)
        if words and all(tag == "_" for tag in words):
            raise InputError(
                f"{treebank.source}: the column {column} has no tags ('_' for every word), and a grammar sees nothing but tags"
            )
        sentences = [
            [words[a + i] for i in np.flatnonzero(chosen.seen[a:b])]
            for (a, b), length in zip(pairwise(chosen.starts.tolist()), chosen.lengths, strict=True)
            if length and (max_length is None or length <= max_length)
        ]
        if not sentences:
            raise InputError(
                f"max-length: found no sentence of at most {max_length} words in {treebank.source}"
                if max_length is not None
                else f"{treebank.source}: found no sentence"
            )
        return cls.from_tags(sentences, tags=tags)

    def first(self, count: int) -> TagSentences:
        """The first ``count`` sentences, with the tags that occur in them; 0: all."""
        if not count or count >= len(self):
            return self
        return TagSentences.from_tags(self.strings[:count])

    @property
    def strings(self) -> list[list[str]]:
        """The sentences as tags."""
        return [[self.tags[t] for t in s] for s in self.sentences]

    def __len__(self) -> int:
        return len(self.sentences)

    @property
    def words(self) -> int:
        """The number of words."""
        return sum(map(len, self.sentences))

    @cached_property
    def starts(self) -> npt.NDArray[np.int64]:
        """Shape (S+1,): where each sentence starts in arrays that are flat over all words."""
        return np.concatenate([[0], np.cumsum([len(s) for s in self.sentences])]).astype(np.int64)

    @cached_property
    def batch(self) -> native.TagCorpus:
        """For the kernels."""
        return self._batch(self.sentences, [1.0] * len(self))

    @cached_property
    def kinds(self) -> tuple[tuple[tuple[int, ...], int], ...]:
        """The different sentences with how often each occurs, in order of first occurrence."""
        counts: dict[tuple[int, ...], int] = {}
        for s in self.sentences:
            counts[s] = counts.get(s, 0) + 1
        return tuple(counts.items())

    @cached_property
    def batch_of_kinds(self) -> native.TagCorpus:
        """For the kernels, each different sentence once, weighted by how often it occurs."""
        return self._batch([s for s, _ in self.kinds], [float(w) for _, w in self.kinds])

    def _batch(self, sentences: Sequence[Sequence[int]], weights: Sequence[float]) -> native.TagCorpus:
        flat = np.array([t for s in sentences for t in s], np.int32)
        starts = np.concatenate([[0], np.cumsum([len(s) for s in sentences])]).astype(np.int64)
        return native.TagCorpus(tag_count=len(self.tags), tags=flat, starts=starts, weights=np.array(weights))


Mask = npt.NDArray[np.bool_]
Heads = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class SeenWords:
    """``seen``: one flag per word, flat over all sentences; sentence s is ``starts[s] .. starts[s+1]-1``."""

    seen: Mask
    starts: npt.NDArray[np.int64]

    @classmethod
    def of(cls, treebank: Treebank, *, without_punctuation: bool = False) -> SeenWords:
        """All words, or those that are no punctuation, told as ``arcwise evaluate`` tells it: by UPOS, or where there is none by the form."""
        seen = np.ones(treebank.word_count, bool)
        if without_punctuation:
            pairs = zip(treebank.column("upos"), treebank.column("form"), strict=True)
            seen[:] = [
                not (tag in PUNCTUATION_TAGS or (tag == "_" and is_punctuation(form))) for tag, form in pairs
            ]
        return cls(seen, treebank.sentence_words.astype(np.int64))

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """How many words of each sentence are seen."""
        before = np.concatenate([[0], np.cumsum(self.seen)])
        lengths: npt.NDArray[np.int64] = np.diff(before[self.starts])
        return lengths

    def whole(self, heads: Heads) -> Heads:
        """Heads of the words that are seen (flat, numbered among themselves) as heads of all words.

        The others hang on the nearest word before them that is seen, or the first after them: such arcs cross no other. In a sentence
        without a word that is seen the first is the root of the others.
        """
        if self.seen.all():
            return heads
        out = np.empty(len(self.seen), np.int32)
        taken = 0
        for a, b in pairwise(self.starts.tolist()):
            places = np.flatnonzero(self.seen[a:b]) + 1
            own = heads[taken : taken + len(places)]
            taken += len(places)
            if not len(places):
                out[a:b] = [0] + [1] * (b - a - 1)
                continue
            numbers = np.arange(1, b - a + 1)
            before = np.maximum(np.searchsorted(places, numbers, side="right") - 1, 0)
            out[a:b] = places[before]
            out[a + places - 1] = np.where(own > 0, places[np.maximum(own, 1) - 1], 0)
        return out
