"""Which words of two tokenisations of one text are the same: the alignment of the CoNLL 2018 shared task.

Tokens are the same if they cover the same characters. Words of multiword tokens have no characters of their own: in each
*multiword span* (a smallest stretch of text out of which no multiword token of either side sticks), the words of both
sides are matched by a longest common subsequence of their lower-cased forms. Zeman et al. 2018, "CoNLL 2018 shared task",
section 5.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from arcwise.errors import InputError
from arcwise.evaluation.words import Ints, WordColumns

UNALIGNED = -3
"""Stands for the gold word of a system word (or the other way round) that has none."""


@dataclass(frozen=True)
class Alignment:
    """Pairs of words that are the same, in order: gold word ``gold[i]`` is system word ``system[i]``."""

    gold: Ints
    system: Ints
    gold_count: int
    system_count: int

    @cached_property
    def gold_of_system(self) -> Ints:
        """The gold word of every system word, or ``UNALIGNED``."""
        out = np.full(self.system_count, UNALIGNED)
        out[self.system] = self.gold
        return out

    def to_gold(self, heads: Ints) -> Ints:
        """Heads among the system words as heads among the gold words; the root and missing heads stay."""
        if not self.system_count:
            return heads
        known = np.maximum(heads, 0)  # what is looked up for the root and for missing heads is not used
        return np.where(heads >= 0, self.gold_of_system[known], heads)


def align(gold: WordColumns, system: WordColumns) -> Alignment:
    """The words that are the same. O(W) where the tokens are the same, else O(W) plus the squares of multiword spans.

    Raises ``InputError`` if the two texts differ in more than white space.
    """
    _check_texts(gold, system)
    if _same_tokens(gold, system):
        every = np.arange(len(gold))
        return Alignment(every, every, len(gold), len(system))
    pairs = np.array(_Aligner(gold, system).pairs(), np.int64).reshape(-1, 2)
    return Alignment(pairs[:, 0], pairs[:, 1], len(gold), len(system))


def _same_tokens(gold: WordColumns, system: WordColumns) -> bool:
    if not np.array_equal(gold.spans, system.spans):
        return False
    multiword = gold.in_multiword
    return np.array_equal(multiword, system.in_multiword) and (
        not multiword.any() or np.array_equal(gold.matching_form[multiword], system.matching_form[multiword])
    )


def _check_texts(gold: WordColumns, system: WordColumns) -> None:
    ours, theirs = gold.characters, system.characters
    if ours == theirs:
        return
    common = min(len(ours), len(theirs))
    at = next((i for i in range(common) if ours[i] != theirs[i]), common)
    places = [
        f"{words.treebank.source}:{words.line_at(at)} has {words.characters[at : at + 20] or 'no more text'!r}"
        for words in (gold, system)
    ]
    raise InputError(f"the texts of gold and system differ: {places[0]}, {places[1]}; expected the same text")


class _Aligner:
    """Walks through both lists of words at once; ``g`` and ``s`` are the next gold and system word."""

    def __init__(self, gold: WordColumns, system: WordColumns) -> None:
        self.gold, self.system = _Side(gold), _Side(system)

    def pairs(self) -> list[tuple[int, int]]:
        gold, system = self.gold, self.system
        found: list[tuple[int, int]] = []
        g = s = 0
        while g < gold.count and s < system.count:
            if gold.multiword[g] or system.multiword[s]:
                g_first, s_first = self._span_start(g, s)
                g, s = self._span_end(g_first, s_first, gold.multiword[g])
                found += self._common_subsequence(g_first, g, s_first, s)
            elif gold.start[g] == system.start[s] and gold.end[g] == system.end[s]:
                found.append((g, s))
                g, s = g + 1, s + 1
            elif gold.start[g] <= system.start[s]:
                g += 1
            else:
                s += 1
        return found

    def _span_start(self, g: int, s: int) -> tuple[int, int]:
        """The first words of the multiword span: a word that began before the multiword token is left out."""
        gold, system = self.gold, self.system
        if gold.multiword[g]:
            return g, s + (not system.multiword[s] and system.start[s] < gold.start[g])
        return g + (gold.start[g] < system.start[s]), s

    def _span_end(self, g: int, s: int, gold_starts: bool) -> tuple[int, int]:
        """The first words after the multiword span that starts with words ``g`` and ``s``."""
        gold, system = self.gold, self.system
        end = gold.end[g] if gold_starts else system.end[s]
        while not (gold.is_beyond(g, end) and system.is_beyond(s, end)):
            if g < gold.count and (s >= system.count or gold.start[g] <= system.start[s]):
                end = gold.extended(g, end)
                g += 1
            else:
                end = system.extended(s, end)
                s += 1
        return g, s

    def _common_subsequence(self, g0: int, g1: int, s0: int, s1: int) -> list[tuple[int, int]]:
        """A longest common subsequence of the forms of words g0..g1-1 and s0..s1-1."""
        ours, theirs = self.gold.form[g0:g1], self.system.form[s0:s1]
        # longest[g][s] = length for ours[g:] and theirs[s:]
        #               = max(1 + longest[g+1][s+1] if ours[g] = theirs[s], longest[g+1][s], longest[g][s+1])
        longest = [[0] * (len(theirs) + 1) for _ in range(len(ours) + 1)]
        for g in reversed(range(len(ours))):
            for s in reversed(range(len(theirs))):
                both = 1 + longest[g + 1][s + 1] if ours[g] == theirs[s] else 0
                longest[g][s] = max(both, longest[g + 1][s], longest[g][s + 1])
        found: list[tuple[int, int]] = []
        g = s = 0
        while g < len(ours) and s < len(theirs):
            if ours[g] == theirs[s]:
                found.append((g0 + g, s0 + s))
                g, s = g + 1, s + 1
            elif longest[g][s] == longest[g + 1][s]:
                g += 1
            else:
                s += 1
        return found


class _Side:
    """One side's words as plain lists, which are faster to walk through than arrays."""

    def __init__(self, words: WordColumns) -> None:
        self.count = len(words)
        self.start: list[int] = words.spans[:, 0].tolist()
        self.end: list[int] = words.spans[:, 1].tolist()
        self.multiword: list[bool] = words.in_multiword.tolist()
        self.form: list[int] = words.matching_form.tolist()

    def is_beyond(self, word: int, end: int) -> bool:
        """Whether a word is not part of the multiword span that ends at ``end``."""
        if word >= self.count:
            return True
        return self.start[word] >= end if self.multiword[word] else self.end[word] > end

    def extended(self, word: int, end: int) -> int:
        """The end of the multiword span with this word in it."""
        return max(end, self.end[word]) if self.multiword[word] else end
