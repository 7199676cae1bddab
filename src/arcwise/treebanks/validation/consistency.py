"""Find words that are annotated in different ways in the same context, and forms with several lemmas.

Variation nuclei after Dickinson & Meurers, "Detecting errors in part-of-speech annotation" (EACL 2003), and
Boyd, Dickinson & Meurers, "On detecting errors in dependency treebanks" (2008).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from arcwise.errors import InputError
from arcwise.treebanks.columns import column_number
from arcwise.treebanks.treebank import Treebank
from arcwise.trees import UNKNOWN

Positions = npt.NDArray[np.int64]
Kind = Literal["arc", "upos", "lemma"]
KINDS: tuple[Kind, ...] = ("arc", "upos", "lemma")
NO_ARC = "no arc"
_MISSING = "_"


@dataclass(frozen=True, order=True)
class Occurrence:
    """Some words of a sentence: the treebank and the sentence (from 0), the first and last word (from 1)."""

    treebank: int
    sentence: int
    first: int
    last: int


@dataclass(frozen=True)
class Variant:
    """One of the analyses, with its occurrences."""

    analysis: str
    """``York > compound New`` (head > label dependent), ``no arc``, a tag or a lemma."""
    occurrences: tuple[Occurrence, ...]


@dataclass(frozen=True)
class Inconsistency:
    """The same words with several analyses, the most frequent first."""

    kind: Kind
    words: tuple[str, ...]
    """``arc``: the forms from head to dependent; ``upos``: one form; ``lemma``: a form and its UPOS."""
    variants: tuple[Variant, ...]
    before: tuple[str, ...] = ()
    """The forms of the context on the left, fewer at the start of a sentence."""
    after: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """The number of occurrences."""
        return sum(len(variant.occurrences) for variant in self.variants)

    def to_json(self) -> dict[str, Any]:
        """As a JSON object, with sentences as numbers from 0."""
        return {
            "kind": self.kind,
            "words": list(self.words),
            "before": list(self.before),
            "after": list(self.after),
            "variants": [
                {
                    "analysis": variant.analysis,
                    "occurrences": [vars(occurrence) for occurrence in variant.occurrences],
                }
                for variant in self.variants
            ],
        }


def find_inconsistencies(
    treebanks: Treebank | Sequence[Treebank],
    *,
    kinds: Sequence[Kind] = KINDS,
    context: int = 1,
    longest: int = 10,
) -> list[Inconsistency]:
    r"""Find the inconsistencies of a treebank, or of several together; the most lopsided ones come first.

    ``arc``: two words that are joined by an arc in one place and otherwise, or not, in another, although all
    forms from one to the other are the same, and ``context`` more on both sides (the edge of a sentence
    counts as a form). ``upos``: a form with several tags in the same context. ``lemma``: a form and UPOS with
    several lemmas anywhere. ``longest`` bounds the number of forms from head to dependent. Words that are not
    annotated yet are left out. O(n log n) for each length; lengths end with the longest repetition.

    >>> def sentence(head, label):
    ...     rows = [f"1 New new ADJ _ _ {head} {label} _ _", "2 York York PROPN _ _ 0 root _ _"]
    ...     return "\n".join(rows).replace(" ", "\t") + "\n\n"
    >>> treebank = Treebank.from_string(sentence(2, "amod") * 3 + sentence(2, "compound"))
    >>> (found,) = find_inconsistencies(treebank)
    >>> [(variant.analysis, len(variant.occurrences)) for variant in found.variants]
    [('York > amod New', 3), ('York > compound New', 1)]
    """
    if context < 0 or longest < 2:
        raise InputError(f"context, longest: found {context}, {longest}, expected at least 0, 2")
    for kind in kinds:
        if kind not in KINDS:
            raise InputError(f"kinds: found {kind!r}, expected {', '.join(KINDS)}")
    words = _Words([treebanks] if isinstance(treebanks, Treebank) else treebanks)
    inconsistencies: list[Inconsistency] = []
    if "arc" in kinds or "upos" in kinds:
        for length, starts, groups in _repeated(words, context, longest):
            if length == 1 and "upos" in kinds:
                inconsistencies += _varying(words, "upos", starts, 1, groups, words.upos[starts], context)
            elif length > 1 and "arc" in kinds:
                inconsistencies += _varying(
                    words, "arc", starts, length, groups, words.arcs(starts, length), context
                )
    if "lemma" in kinds:
        inconsistencies += _lemmas(words)
    return sorted(inconsistencies, key=_rank)


def _rank(item: Inconsistency) -> tuple[int, float, int, tuple[str, ...]]:
    """Arcs, tags, lemmas; first where nearly all occurrences agree, because the others are likely errors."""
    largest = len(item.variants[0].occurrences)
    return KINDS.index(item.kind), -largest / item.count, -item.count, item.words


class _Words:
    """All words of some treebanks, with codes for their fields that are the same in all of them."""

    def __init__(self, treebanks: Sequence[Treebank]) -> None:
        self.strings: dict[str, list[str]] = {}
        self.forms, self.upos, self.lemmas, self.labels = (
            self._column(treebanks, name) for name in ("form", "upos", "lemma", "deprel")
        )
        lengths = [tb.sentence_lengths.astype(np.int64) for tb in treebanks]
        self.treebank = np.repeat(np.arange(len(treebanks)), [int(of_one.sum()) for of_one in lengths])
        self.number = np.concatenate([np.zeros(0, np.int64), *(np.arange(len(n)).repeat(n) for n in lengths)])
        every = np.concatenate([np.zeros(0, np.int64), *lengths])
        ends = np.cumsum(every)
        self.first = np.repeat(ends - every, every)
        self.end = np.repeat(ends, every)
        self.sentence = np.repeat(np.arange(len(every)), every)
        heads = np.concatenate([np.zeros(0, np.int64), *(tb.heads.astype(np.int64) for tb in treebanks)])
        valid = (heads >= 0) & (heads <= self.end - self.first)
        self.is_open = ~valid | (heads == UNKNOWN) | (self.labels == self.code("deprel", _MISSING))
        # The position of the head; -1 for the root and where it is open.
        self.heads = np.where(valid & (heads > 0), self.first + heads - 1, -1)

    def _column(self, treebanks: Sequence[Treebank], name: str) -> Positions:
        numbers: dict[str, int] = {}
        parts = [np.zeros(0, np.int64)]
        for treebank in treebanks:
            layout = treebank.layout
            codes, strings = layout.column_codes(treebank.data, layout.word_rows, column_number(name))
            table = np.array([numbers.setdefault(s, len(numbers)) for s in strings], np.int64)
            parts.append(table[codes] if len(table) else codes.astype(np.int64))
        self.strings[name] = list(numbers)
        return np.concatenate(parts)

    def code(self, name: str, value: str) -> int:
        strings = self.strings[name]
        return strings.index(value) if value in strings else -1

    def arcs(self, starts: Positions, length: int) -> Positions:
        """The arc between the first and last of some words: 0 for none, -1 where it is not annotated."""
        left, right = starts, starts + length - 1
        codes = np.zeros(len(starts), np.int64)
        codes = np.where(self.heads[left] == right, 2 + 2 * self.labels[left], codes)
        codes = np.where(self.heads[right] == left, 1 + 2 * self.labels[right], codes)
        return np.where(self.is_open[left] | self.is_open[right], -1, codes)

    def analysis(self, kind: Kind, code: int, start: int, length: int) -> str:
        """The text of a code of an analysis."""
        if kind != "arc":
            return self.strings[kind][code]
        if not code:
            return NO_ARC
        forms = self.strings["form"]
        left, right = forms[self.forms[start]], forms[self.forms[start + length - 1]]
        label = self.strings["deprel"][(code - 1) // 2]
        return f"{left} > {label} {right}" if code % 2 else f"{right} > {label} {left}"

    def forms_around(
        self, start: int, length: int, context: int
    ) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
        """The forms before some words, theirs, and those after them."""
        low, high = max(start - context, int(self.first[start])), int(self.end[start])
        stop = start + length
        parts = (low, start), (start, stop), (stop, min(stop + context, high))
        before, inside, after = (
            tuple(self.strings["form"][code] for code in self.forms[a:b].tolist()) for a, b in parts
        )
        return before, inside, after

    def occurrence(self, start: int, length: int) -> Occurrence:
        first = start - int(self.first[start]) + 1
        return Occurrence(int(self.treebank[start]), int(self.number[start]), first, first + length - 1)


def _repeated(words: _Words, context: int, longest: int) -> Iterator[tuple[int, Positions, Positions]]:
    """For each length, the starts of all words that are repeated with their context, and their groups."""
    # Edges of sentences are tokens 0, as many on each side as the context has words.
    position = np.arange(len(words.forms)) + context * (2 * words.sentence + 1)
    sentences = int(words.sentence[-1]) + 1 if len(words.sentence) else 0
    size = len(position) + 2 * context * sentences
    tokens, word_at = np.zeros(size, np.int64), np.full(size, -1)
    tokens[position], word_at[position] = words.forms + 1, np.arange(len(position))
    ends = np.zeros(size, np.int64)  # behind the last token of the sentence, edges included
    for edge in range(-context, 1):
        ends[position + edge] = words.end + context * (2 * words.sentence + 2)
    starts = np.flatnonzero(ends)
    groups = np.zeros(len(starts), np.int64)
    for length in range(1, longest + 2 * context + 1):
        # A repeated n-gram starts with a repeated (n-1)-gram: only these are extended.
        inside = starts + length <= ends[starts]
        starts, groups = starts[inside], groups[inside]
        keys = groups * (len(words.strings["form"]) + 1) + tokens[starts + length - 1]
        _, groups, counts = np.unique(keys, return_inverse=True, return_counts=True)
        repeated = counts[groups] > 1
        starts, groups = starts[repeated], groups[repeated]
        if not len(starts):
            return
        if length > 2 * context:
            yield length - 2 * context, word_at[starts + context], groups


def _varying(
    words: _Words,
    kind: Kind,
    starts: Positions,
    length: int,
    groups: Positions,
    codes: Positions,
    context: int,
) -> Iterator[Inconsistency]:
    """The groups with several codes; -1 and the tag ``_`` are not analyses."""
    annotated = codes >= 0 if kind == "arc" else codes != words.code(kind, _MISSING)
    starts, groups, codes = starts[annotated], groups[annotated], codes[annotated]
    pairs = np.unique(np.stack([groups, codes]), axis=1) if len(groups) else np.zeros((2, 0), np.int64)
    distinct, counts = np.unique(pairs[0], return_counts=True)
    varies = np.isin(groups, distinct[counts > 1])
    order = np.lexsort((starts[varies], groups[varies]))
    rows = zip(
        groups[varies][order].tolist(),
        starts[varies][order].tolist(),
        codes[varies][order].tolist(),
        strict=True,
    )
    for _, group in groupby(rows, key=lambda row: row[0]):
        by_code: dict[int, list[int]] = {}
        for _, start, code in group:
            by_code.setdefault(code, []).append(start)
        first = next(iter(by_code.values()))[0]
        before, shown, after = words.forms_around(first, length, context)
        if kind == "lemma":
            shown = (*shown, words.strings["upos"][words.upos[first]])
        yield Inconsistency(kind, shown, _variants(words, kind, by_code, length), before, after)


def _variants(words: _Words, kind: Kind, by_code: dict[int, list[int]], length: int) -> tuple[Variant, ...]:
    variants = [
        Variant(
            words.analysis(kind, code, starts[0], length),
            tuple(words.occurrence(start, length) for start in starts),
        )
        for code, starts in by_code.items()
    ]
    return tuple(sorted(variants, key=lambda variant: (-len(variant.occurrences), variant.analysis)))


def _lemmas(words: _Words) -> Iterator[Inconsistency]:
    groups = words.forms * max(len(words.strings["upos"]), 1) + words.upos
    tagged = np.flatnonzero(words.upos != words.code("upos", _MISSING))
    return _varying(words, "lemma", tagged, 1, groups[tagged], words.lemmas[tagged], 0)
