"""Variation nuclei: the same words, annotated differently (Dickinson & Meurers 2003, Boyd et al. 2008)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from arcwise.mining.crossfit import Crossfitted
from arcwise.mining.signal import Measurement, Vote
from arcwise.mining.words import FlatWords

SPAN = 5
"""Words in the longest nucleus."""
NONE = ""
"""The annotation of a pair of words without an arc between them."""
_LISTED = 3
_LEAST_PLACES = 2
"""Places with another annotation below which a nucleus is no reason worth reading."""
_SMOOTHING = 0.5

Key = tuple[str, ...]


@dataclass(frozen=True)
class Nucleus:
    """The places of one sequence of words whose first and last word are linked somewhere.

    ``counts``: annotation of the two words → number of places. An annotation is ``<label`` (the first word
    depends on the last), ``>label`` (the last depends on the first) or ``NONE``.
    """

    counts: Mapping[str, int]
    places: Sequence[tuple[int, int]]
    """Flat indices of the first and the last word of each place."""

    def against(self, annotation: str) -> tuple[str, int, int]:
        """The most frequent other annotation, its count, and the count of this one elsewhere."""
        others = [(count, other) for other, count in self.counts.items() if other != annotation]
        count, other = max(others, default=(0, NONE))
        return other, count, self.counts[annotation] - 1


def spans(words: FlatWords, level: str) -> Iterator[tuple[Key, int, int]]:
    """Every pair of words at most ``SPAN`` apart, with the sequence from one to the other.

    level: ``form`` (lower-case forms), ``lemma``, or ``ends`` (lemmas of the two words, tags in between).
    """
    units = words.lower if level == "form" else words.lemmas
    tags = words.upos
    starts = words.starts.tolist()
    for first, last in pairwise(starts):
        for a in range(first, last):
            for b in range(a + 1, min(a + SPAN, last)):
                if level == "ends":
                    yield (units[a], *tags[a : b + 1], units[b]), a, b
                else:
                    yield tuple(units[a : b + 1]), a, b


def annotation(heads: Sequence[int], labels: Sequence[str], a: int, b: int) -> str:
    """The annotation of a pair of words; see ``Nucleus``. ``heads``: flat indices."""
    if heads[a] == b:
        return f"<{labels[a]}"
    if heads[b] == a:
        return f">{labels[b]}"
    return NONE


def nuclei(words: FlatWords, level: str) -> dict[Key, Nucleus]:
    """The sequences that occur at least twice, with different annotations."""
    # A list: an element of an array is a slow number.
    heads, labels = words.head_index.tolist(), words.labels
    linked: set[Key] = set()
    for key, a, b in spans(words, level):
        if heads[a] == b or heads[b] == a:
            linked.add(key)
    places: dict[Key, list[tuple[int, int]]] = defaultdict(list)
    for key, a, b in spans(words, level):
        if key in linked:
            places[key].append((a, b))
    result = {}
    for key, pairs in places.items():
        if len(pairs) < 2:
            continue
        counts = Counter(annotation(heads, labels, a, b) for a, b in pairs)
        if len(counts) > 1:
            result[key] = Nucleus(counts, pairs)
    return result


@dataclass(frozen=True)
class _Strongest:
    """The nucleus that speaks most clearly against the annotation of a word."""

    score: float
    level: str
    key: Key
    other: str
    count: int
    partner: int


LEVELS = ("form", "lemma", "ends")


def variation(words: FlatWords, crossfitted: Crossfitted) -> Measurement:
    """The same sequence of words, annotated differently elsewhere."""
    annotated, heads = words.heads >= 0, words.head_index.tolist()
    columns = {}
    best: dict[int, _Strongest] = {}
    tables = {level: nuclei(words, level) for level in LEVELS}
    for level, table in tables.items():
        column = np.full(len(words), np.nan)
        for key, nucleus in table.items():
            for a, b in nucleus.places:
                here = annotation(heads, words.labels, a, b)
                other, count, same = nucleus.against(here)
                score = float(np.log((count + _SMOOTHING) / (same + _SMOOTHING)))
                for word, partner in _doubted(here, other, a, b):
                    if annotated[word] and not score <= column[word]:
                        column[word] = score
                    if score > 0 and (word not in best or score > best[word].score):
                        best[word] = _Strongest(score, level, key, other, count, partner)
        columns[level] = column
    score = np.fmax.reduce(np.stack(list(columns.values())), axis=0)

    def reasons(word: int) -> list[str]:
        strongest = best.get(word)
        if strongest is None or strongest.count < _LEAST_PLACES:
            return []
        nucleus = tables[strongest.level][strongest.key]
        elsewhere = sorted(
            {
                words.name(int(words.sentence[a]))
                for a, b in nucleus.places
                if annotation(heads, words.labels, a, b) == strongest.other
            }
        )
        what = f"have {strongest.other[1:]}" if strongest.other else "have no arc between these words"
        return [
            f"of {len(nucleus.places)} places with “{_shown(strongest)}” {strongest.count} {what} "
            f"({', '.join(elsewhere[:_LISTED])}{', …' if len(elsewhere) > _LISTED else ''})"
        ]

    def votes(word: int) -> list[Vote]:
        strongest = best.get(word)
        # An arc in the other direction would be a proposal for the other word.
        if (
            strongest is None
            or not strongest.other
            or (strongest.other[0] == "<") != (word < strongest.partner)
        ):
            return []
        share = strongest.count / len(tables[strongest.level][strongest.key].places)
        return [Vote("arc", int(words.position[strongest.partner]), strongest.other[1:], 0.5 * share)]

    return Measurement(score, columns, reasons, votes)


def _doubted(here: str, other: str, a: int, b: int) -> list[tuple[int, int]]:
    """The words (each with the other end) that a different annotation elsewhere puts in doubt."""
    dependents = {annotated[0] for annotated in (here, other) if annotated}
    return [pair for sign, pair in (("<", (a, b)), (">", (b, a))) if sign in dependents]


def _shown(strongest: _Strongest) -> str:
    """The words of a nucleus; with tags for those in between where only tags are compared."""
    if strongest.level != "ends":
        return " ".join(strongest.key)
    first, _, *between, _, last = strongest.key
    return " ".join([first, *between, last])
