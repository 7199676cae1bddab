"""ELAS and EULAS: scores of the enhanced graphs in DEPS, as in the IWPT shared tasks.

Scores equal those of the official scorer (``udtools.udeval``). Bouma et al. 2020, "Overview of the IWPT 2020
shared task on parsing into enhanced Universal Dependencies".
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache

from arcwise.evaluation.words import ROOT, Ints, WordColumns, without_subtype

_OUTSIDE = -9
"""The head of an arc that is not a word of its sentence; such arcs count and are never correct."""

Step = tuple[str, ...]
"""A label, or the labels of a path over collapsed empty nodes: ``conj>obj``."""


def enhanced_counts(
    gold: WordColumns, system: WordColumns, aligned: tuple[Ints, Ints], gold_of_system: Ints
) -> dict[str, tuple[int, int, int]]:
    """(correct, gold, system) arcs of ELAS, which compares full labels, and EULAS, which cuts subtypes.

    aligned: the aligned words of gold and system. Arcs from empty nodes do not count. O(arcs).
    """
    arcs, system_arcs = _arcs(gold), _arcs(system)
    totals = sum(map(len, arcs)), sum(map(len, system_arcs))
    correct = universal = 0
    for g, s in zip(aligned[0].tolist(), aligned[1].tolist(), strict=True):
        if not arcs[g] or not system_arcs[s]:
            continue
        in_gold_words = [(_gold_head(head, gold_of_system), label) for head, label in system_arcs[s]]
        correct += _common(arcs[g], in_gold_words)
        universal += _common(
            *([(head, _universal(label)) for head, label in side] for side in (arcs[g], in_gold_words))
        )
    return {"ELAS": (correct, *totals), "EULAS": (universal, *totals)}


def _common(gold: list[tuple[int, Step]], system: list[tuple[int, Step]]) -> int:
    """The number of pairs of equal arcs, like the official scorer: repeated arcs count repeatedly."""
    counts, system_counts = Counter(gold), Counter(system)
    return sum(count * system_counts[arc] for arc, count in counts.items() if arc[0] != _OUTSIDE)


def _gold_head(head: int, gold_of_system: Ints) -> int:
    return head if head < 0 else int(gold_of_system[head])


def _arcs(words: WordColumns) -> list[list[tuple[int, Step]]]:
    """For every word, the heads of its arcs as words of the treebank, and their labels."""
    strings = words.codebook.strings
    codes = words.coded("deps").tolist()
    starts = words.treebank.sentence_words.tolist()
    arcs: list[list[tuple[int, Step]]] = []
    for code, sentence in zip(codes, words.sentence.tolist(), strict=True):
        first, length = starts[sentence], starts[sentence + 1] - starts[sentence]
        arcs.append(
            [
                (ROOT if head == 0 else first + head - 1 if head <= length else _OUTSIDE, label)
                for head, label in _parsed(strings[code])
            ]
        )
    return arcs


@lru_cache(maxsize=1 << 14)
def _parsed(deps: str) -> tuple[tuple[int, Step], ...]:
    """The heads and labels of DEPS, without those of empty nodes; malformed parts have no head."""
    arcs = []
    for part in deps.split("|") if deps not in ("_", "") else ():
        head, _, label = part.partition(":")
        if "." in head:
            continue
        is_number = head.isdecimal() and len(head) < 10
        arcs.append((int(head) if is_number else 1 << 40, tuple(label.split(">"))))
    return tuple(arcs)


def _universal(label: Step) -> Step:
    return tuple(map(without_subtype, label))
