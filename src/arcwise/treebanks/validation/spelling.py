"""Edit distance and similarity of short names."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher
from functools import lru_cache


def edit_distance(a: str, b: str) -> int:
    """Damerau-Levenshtein distance: insertions, deletions, substitutions and swaps of neighbours.

    >>> edit_distance("nsubj", "nsbuj"), edit_distance("amod", "advmod"), edit_distance("", "x")
    (1, 2, 1)
    """
    *_, last_row = _distance_rows(a, b)
    return last_row[-1]


def _distance_rows(a: str, b: str) -> Iterator[list[int]]:
    before: list[int] = []
    last = list(range(len(b) + 1))
    yield last
    for i, letter_a in enumerate(a, 1):
        row = [i]
        for j, letter_b in enumerate(b, 1):
            cost = min(last[j] + 1, row[-1] + 1, last[j - 1] + (letter_a != letter_b))
            if before and j > 1 and letter_a == b[j - 2] and a[i - 2] == letter_b:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        before, last = last, row
        yield row


@lru_cache(maxsize=1 << 14)
def similarity(a: str, b: str) -> float:
    """Similarity from 0 to 1: by edit distance, or by the longest common substring (of 3 letters or more)."""
    by_distance = 1 - edit_distance(a, b) / max(len(a), len(b), 1)
    shared = SequenceMatcher(None, a, b, autojunk=False).find_longest_match(0, len(a), 0, len(b)).size
    return max(by_distance, shared / max(len(b), 4) if shared >= 3 else 0.0)
