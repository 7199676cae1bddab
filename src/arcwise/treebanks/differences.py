"""Differences between two versions of a treebank, by sentence, word and column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import zip_longest
from typing import Any

import numpy as np
import numpy.typing as npt

from arcwise.errors import InputError
from arcwise.treebanks.alignment import (
    carried,
    longest_increasing,
    numbered_alike,
    same_rows,
    same_sentences,
    same_shape,
)
from arcwise.treebanks.blocks import FileBlocks, SentenceBlock, key_and_value
from arcwise.treebanks.columns import COLUMNS
from arcwise.treebanks.treebank import Treebank

COMMENTS = "comments"
"""The name of comments among the columns."""


@dataclass(frozen=True)
class FieldDifference:
    """A field that differs.

    ``row``: its ID in A, or in B if A lacks the row. A missing row is reported in the column ``id``, with
    None on the side that lacks it.
    """

    row: str
    column: str
    a: str | None
    b: str | None
    form: str
    row_b: str
    """The ID in B, which differs if words were split, joined, added or removed before it."""


@dataclass(frozen=True)
class CommentDifference:
    """A comment that differs: its key and its values, None where it is missing."""

    key: str
    a: str | None
    b: str | None


@dataclass(frozen=True)
class SentenceDifference:
    """A sentence that differs, with its number in A and B from 0 (None where missing)."""

    a: int | None
    b: int | None
    sent_id: str | None
    text: str
    fields: tuple[FieldDifference, ...] = ()
    comments: tuple[CommentDifference, ...] = ()
    moved: bool = False

    @property
    def number(self) -> int:
        """The number to display: in A, or else in B, from 1."""
        return (self.a if self.a is not None else self.b or 0) + 1

    def to_json(self) -> dict[str, Any]:
        """Return all fields as a JSON object."""
        return asdict(self)


@dataclass(frozen=True)
class SideBySide:
    """Two versions of a treebank with their sentences and words aligned."""

    a: Treebank
    b: Treebank

    @cached_property
    def blocks(self) -> tuple[FileBlocks, FileBlocks]:
        """The sentences of both sides, as blocks."""
        return FileBlocks.of(self.a.data, self.a.layout), FileBlocks.of(self.b.data, self.b.layout)

    @cached_property
    def pairs(self) -> dict[int, int]:
        """Aligned sentences: number in A → number in B."""
        return same_sentences(*self.blocks)

    @cached_property
    def moved(self) -> frozenset[int]:
        """Sentences of A whose position in B differs."""
        places = list(self.pairs)
        stay = longest_increasing(list(self.pairs.values()))
        return frozenset(places) - {places[at] for at in stay}

    @cached_property
    def order(self) -> list[tuple[int | None, int | None]]:
        """All sentences in the order of A; those that only B has follow their predecessor in B."""
        to_a = {b: a for a, b in self.pairs.items()}
        after: dict[int | None, list[int]] = {}
        previous: int | None = None
        for b in range(len(self.blocks[1])):
            if b in to_a:
                previous = to_a[b]
            else:
                after.setdefault(previous, []).append(b)
        out: list[tuple[int | None, int | None]] = [(None, b) for b in after.get(None, [])]
        for a in range(len(self.blocks[0])):
            out.append((a, self.pairs.get(a)))
            out += [(None, b) for b in after.get(a, [])]
        return out

    @cached_property
    def word_pairs(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Aligned words: their indices in A and in B, flat over all sentences."""
        starts = [side.sentence_words.astype(np.int64) for side in (self.a, self.b)]
        in_a: list[npt.NDArray[np.int64]] = [np.zeros(0, np.int64)]
        in_b: list[npt.NDArray[np.int64]] = [np.zeros(0, np.int64)]
        for a, b in self.pairs.items():
            first, other = self.blocks[0][a], self.blocks[1][b]
            # Equal bodies need no alignment, which is most of a treebank.
            if first.body == other.body or (first.is_sound and other.is_sound and same_shape(first, other)):
                places = np.arange(starts[0][a + 1] - starts[0][a])
                images = places
            else:
                numbers = _words_in_common(first, other)
                places, images = np.array(numbers, np.int64).reshape(-1, 2).T
            in_a.append(starts[0][a] + places)
            in_b.append(starts[1][b] + images)
        return np.concatenate(in_a), np.concatenate(in_b)

    def differences(self, columns: Sequence[str] | None = None) -> Iterator[SentenceDifference]:
        """Yield the sentences that differ; see ``differences``."""
        wanted = _checked(columns)
        moved = self.moved if columns is None else frozenset()
        for a, b in self.order:
            if a is None or b is None:
                yield self._described(a, b, (), ())
                continue
            first, other = self.blocks[0][a], self.blocks[1][b]
            if first.lines == other.lines and a not in moved:
                continue
            fields = tuple(_fields(first, other, wanted))
            comments = tuple(_comments(first, other)) if COMMENTS in wanted else ()
            if fields or comments or a in moved:
                yield self._described(a, b, fields, comments)

    def _described(
        self,
        a: int | None,
        b: int | None,
        fields: tuple[FieldDifference, ...],
        comments: tuple[CommentDifference, ...],
    ) -> SentenceDifference:
        sentence = self.a[a] if a is not None else self.b[b or 0]
        return SentenceDifference(a, b, sentence.sent_id, sentence.text, fields, comments, a in self.moved)


def differences(
    a: Treebank, b: Treebank, *, columns: Sequence[str] | None = None
) -> list[SentenceDifference]:
    r"""Return the sentences in which two versions of a treebank differ, in the order of ``a``.

    Sentences are aligned by sent_id, else by words (``alignment.same_sentences``); words by position, or by
    form where some were split, joined, added or removed.

    columns: the columns to compare, possibly with ``comments``; by default everything, including moved
    sentences. Sentences that one side lacks are always reported.

    >>> row = "1\tHi\t_\t{}\t_\t_\t0\troot\t_\t_\n\n"
    >>> a, b = (Treebank.from_string(row.format(tag)) for tag in ("INTJ", "X"))
    >>> [(f.row, f.column, f.a, f.b) for f in differences(a, b)[0].fields]
    [('1', 'upos', 'INTJ', 'X')]
    """
    return list(SideBySide(a, b).differences(columns))


def totals(sentences: Sequence[SentenceDifference]) -> dict[str, int]:
    """Count differing fields by column (``id``: missing rows) and comments, most frequent first."""
    counts = Counter(f.column for sentence in sentences for f in sentence.fields)
    counts[COMMENTS] = sum(len(sentence.comments) for sentence in sentences)
    return {name: count for name, count in counts.most_common() if count}


def _checked(columns: Sequence[str] | None) -> frozenset[str]:
    allowed = (*COLUMNS, COMMENTS)
    for name in columns or ():
        if name not in allowed:
            raise InputError(f"columns: found {name!r}, expected some of {', '.join(allowed)}")
    return frozenset(allowed if columns is None else columns)


def _fields(a: SentenceBlock, b: SentenceBlock, wanted: frozenset[str]) -> Iterator[FieldDifference]:
    if not (a.is_sound and b.is_sound):
        yield from _broken_rows(a, b)
        return
    to_b = same_rows(a, b)
    in_place = numbered_alike(a, to_b)
    aligned = set(to_b.values())
    added: dict[bytes | None, list[bytes]] = {}
    previous: bytes | None = None
    for row in b.rows:
        if row[0] in aligned:
            previous = row[0]
        else:
            added.setdefault(previous, []).append(row[0])
    yield from _added(b, added.get(None, []), wanted)
    for row in a.rows:
        image = to_b.get(row[0])
        if image is None:
            if "id" in wanted:
                yield FieldDifference(_text(row[0]), "id", _text(row[0]), None, _text(row[1]), "")
            continue
        other = b.by_id[image]
        if row != other:
            for number in range(1, len(COLUMNS)):
                value = row[number] if in_place else carried(row[number], COLUMNS[number], to_b)
                if COLUMNS[number] in wanted and value != other[number]:
                    yield FieldDifference(
                        _text(row[0]),
                        COLUMNS[number],
                        _text(row[number]),
                        _text(other[number]),
                        _text(row[1]),
                        _text(image),
                    )
        yield from _added(b, added.get(image, []), wanted)


def _added(b: SentenceBlock, rows: Sequence[bytes], wanted: frozenset[str]) -> Iterator[FieldDifference]:
    if "id" in wanted:
        for row in rows:
            yield FieldDifference(_text(row), "id", None, _text(row), _text(b.by_id[row][1]), _text(row))


def _broken_rows(a: SentenceBlock, b: SentenceBlock) -> Iterator[FieldDifference]:
    """Compare whole lines where rows do not have ten fields and unique IDs."""
    for number, (x, y) in enumerate(zip_longest(a.rows, b.rows), 1):
        if x != y:
            ours, theirs = (None if row is None else _text(b"\t".join(row)) for row in (x, y))
            yield FieldDifference(str(number), "id", ours, theirs, "", str(number))


def _comments(a: SentenceBlock, b: SentenceBlock) -> Iterator[CommentDifference]:
    """Compare comments by key; those with a repeated key one by one."""
    if a.comments == b.comments:
        return
    values = [_by_key(block) for block in (a, b)]
    for key in {**values[0], **values[1]}:
        ours, theirs = values[0].get(key, []), values[1].get(key, [])
        if len(ours) == len(theirs) == 1:
            pairs: list[tuple[bytes | None, bytes | None]] = [(ours[0], theirs[0])]
        else:
            left, right = Counter(ours) - Counter(theirs), Counter(theirs) - Counter(ours)
            pairs = [(value, None) for value in left.elements()]
            pairs += [(None, value) for value in right.elements()]
        for x, y in pairs:
            if x != y:
                yield CommentDifference(
                    _text(key), None if x is None else _text(x), None if y is None else _text(y)
                )


def _by_key(block: SentenceBlock) -> dict[bytes, list[bytes]]:
    values: dict[bytes, list[bytes]] = {}
    for line in block.comments:
        key, value = key_and_value(line)
        values.setdefault(key, []).append(value)
    return values


def _words_in_common(a: SentenceBlock, b: SentenceBlock) -> list[tuple[int, int]]:
    """Indices of aligned words in both versions, from 0."""
    if not (a.is_sound and b.is_sound):
        return []
    to = same_rows(a, b)
    place = {row[0]: at for at, row in enumerate(b.words)}
    return [(at, place[to[row[0]]]) for at, row in enumerate(a.words) if to.get(row[0]) in place]


def _text(value: bytes) -> str:
    return value.decode("utf-8", "replace")
