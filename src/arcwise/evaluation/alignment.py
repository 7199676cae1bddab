"""Word alignment of two tokenisations of one text, as in the CoNLL 2018 shared task.

Tokens are aligned if they cover the same characters. Words of multiword tokens have no characters of their
own: in each *multiword span* (a smallest stretch of text that no multiword token of either side crosses),
the words of both sides are aligned by a longest common subsequence of their lower-cased forms. Zeman et al.
2018, "CoNLL 2018 shared task", section 5.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from arcwise.errors import InputError
from arcwise.evaluation.words import Ints, WordColumns

UNALIGNED = -3
"""Index of the gold word of a system word that is not aligned."""


@dataclass(frozen=True)
class Alignment:
    """Pairs of aligned words, in order: gold word ``gold[i]`` is system word ``system[i]``."""

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
        """Map heads from system words to gold words; the root and missing heads stay."""
        if not self.system_count:
            return heads
        indices = np.maximum(heads, 0)  # negative codes (root, missing) are looked up too, but not used
        return np.where(heads >= 0, self.gold_of_system[indices], heads)


def align(gold: WordColumns, system: WordColumns) -> Alignment:
    """Align words. O(W) if the tokens are the same, else O(W) plus the squared lengths of multiword spans.

    Raises ``InputError`` if the texts differ in more than whitespace.
    """
    _check_texts(gold, system)
    if _same_tokens(gold, system):
        # The usual case, gold tokenisation: the alignment is the identity.
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
    a, b = gold.characters, system.characters
    if a == b:
        return
    common = min(len(a), len(b))
    at = next((i for i in range(common) if a[i] != b[i]), common)
    places = [
        f"{words.treebank.source}:{words.line_at(at)} has {words.characters[at : at + 20] or 'the end'!r}"
        for words in (gold, system)
    ]
    raise InputError(f"the texts of gold and system differ: {places[0]}, {places[1]}")


class _Aligner:
    """Walks through gold and system words in parallel; ``g`` and ``s`` are the next word of each."""

    def __init__(self, gold: WordColumns, system: WordColumns) -> None:
        self.gold, self.system = _Side(gold), _Side(system)

    def pairs(self) -> list[tuple[int, int]]:
        gold, system = self.gold, self.system
        aligned: list[tuple[int, int]] = []
        g = s = 0
        while g < gold.count and s < system.count:
            if gold.multiword[g] or system.multiword[s]:
                g_first, s_first = self._span_start(g, s)
                g_next, s_next = self._span_end(g_first, s_first, gold.multiword[g])
                aligned += self._common_subsequence(g_first, g_next, s_first, s_next)
                if (g_next, s_next) == (g, s):
                    # A broken multiword range may cover no characters: pass its word, or this never ends.
                    g_next, s_next = (g + 1, s) if gold.multiword[g] else (g, s + 1)
                g, s = g_next, s_next
            elif gold.start[g] == system.start[s] and gold.end[g] == system.end[s]:
                aligned.append((g, s))
                g, s = g + 1, s + 1
            elif gold.start[g] <= system.start[s]:
                g += 1
            else:
                s += 1
        return aligned

    def _span_start(self, g: int, s: int) -> tuple[int, int]:
        """The first words of the multiword span, without a word that starts before the multiword token."""
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
        gold_forms, system_forms = self.gold.form[g0:g1], self.system.form[s0:s1]
        # longest[g][s] = length for gold_forms[g:] and system_forms[s:]
        #               = max(1 + longest[g+1][s+1] if both forms are equal, longest[g+1][s], longest[g][s+1])
        longest = [[0] * (len(system_forms) + 1) for _ in range(len(gold_forms) + 1)]
        for g in reversed(range(len(gold_forms))):
            for s in reversed(range(len(system_forms))):
                both = 1 + longest[g + 1][s + 1] if gold_forms[g] == system_forms[s] else 0
                longest[g][s] = max(both, longest[g + 1][s], longest[g][s + 1])
        pairs: list[tuple[int, int]] = []
        g = s = 0
        while g < len(gold_forms) and s < len(system_forms):
            if gold_forms[g] == system_forms[s]:
                pairs.append((g0 + g, s0 + s))
                g, s = g + 1, s + 1
            elif longest[g][s] == longest[g + 1][s]:
                g += 1
            else:
                s += 1
        return pairs


class _Side:
    """Words of one side as plain lists, which are faster to index one by one than arrays."""

    def __init__(self, words: WordColumns) -> None:
        self.count = len(words)
        self.start: list[int] = words.spans[:, 0].tolist()
        self.end: list[int] = words.spans[:, 1].tolist()
        self.multiword: list[bool] = words.in_multiword.tolist()
        self.form: list[int] = words.matching_form.tolist()

    def is_beyond(self, word: int, end: int) -> bool:
        """Whether a word lies beyond the multiword span that ends at ``end``."""
        if word >= self.count:
            return True
        return self.start[word] >= end if self.multiword[word] else self.end[word] > end

    def extended(self, word: int, end: int) -> int:
        """The end of the multiword span after adding the word."""
        return max(end, self.end[word]) if self.multiword[word] else end
