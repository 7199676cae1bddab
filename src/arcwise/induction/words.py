"""``SeenWords``: which words of a treebank a grammar sees. All of them, or all but punctuation."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from arcwise.evaluation.verdicts import PUNCTUATION_TAGS, is_punctuation
from arcwise.treebanks.treebank import Treebank

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
