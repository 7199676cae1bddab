"""The text that a treebank is about, and where in it each surface token stands."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import TYPE_CHECKING, NamedTuple

from arcwise.treebanks.field_values import pairs, unescaped

if TYPE_CHECKING:
    from arcwise.treebanks.sentence import Sentence
    from arcwise.treebanks.treebank import Treebank

_ROW_WORD, _ROW_MULTIWORD = 0, 1


class SurfaceRow(NamedTuple):
    """A row of a sentence that is a token of the text: a multiword token, or a word outside of one."""

    fields: tuple[str, ...]
    first: int
    last: int
    """Its words, 1..n, the last one included."""


Place = tuple[int, int]
"""Where a token starts and ends in a text, in characters (code points)."""


@dataclass(frozen=True)
class Surface:
    """A text, and the places of its tokens.

    Where every token says its own place (``TokenRange`` in MISC, as tokenizers write it), these are the places, and ``start`` is where the
    text begins; so a piece of a longer text keeps the places that it had there. Otherwise the text is put together from SpacesAfter, or
    else from ``# text``, or else from SpaceAfter=No; a paragraph or document starts after a blank line.
    """

    text: str
    start: int
    places: list[list[Place]]
    """Of each sentence, of each of its tokens."""

    @classmethod
    def of(cls, treebank: Treebank) -> Surface:
        """The text of a treebank.

        >>> from arcwise.treebanks import Treebank
        >>> rows = "1\\tHi\\t_\\t_\\t_\\t_\\t_\\t_\\t_\\tSpaceAfter=No\\n2\\t!\\t_\\t_\\t_\\t_\\t_\\t_\\t_\\t_\\n\\n"
        >>> Surface.of(Treebank.from_string(rows * 2))
        Surface(text='Hi! Hi!', start=0, places=[[(0, 2), (2, 3)], [(4, 6), (6, 7)]])
        """
        sentences = list(treebank)
        rows = [sentence.token_rows for sentence in sentences]
        told = _told_places(rows)
        return _rebuilt(sentences, rows) if told is None else _as_told(rows, told)


def surface_rows(sentence: Sentence) -> list[SurfaceRow]:
    """The tokens of the text that a sentence consists of; empty nodes are none."""
    rows = sentence.rows
    layout = sentence.treebank.layout
    first = int(layout.sentence_rows[sentence.number])
    found: list[SurfaceRow] = []
    inside = word = 0
    for fields, kind in zip(rows, layout.row_kinds[first : first + len(rows)].tolist(), strict=True):
        if kind == _ROW_MULTIWORD:
            start, _, end = fields[0].partition("-")
            inside = int(end)
            found.append(SurfaceRow(fields, int(start), inside))
        elif kind == _ROW_WORD:
            word += 1
            if word > inside:
                found.append(SurfaceRow(fields, word, word))
    return found


def space_after(misc: str) -> str | None:
    """The white space that MISC tells after a token; None if it tells none, which means a space."""
    if "Space" not in misc:
        return None
    told = pairs(misc)
    if "SpacesAfter" in told:
        return unescaped(told["SpacesAfter"])
    return "" if told.get("SpaceAfter") == "No" else None


def _before(row: SurfaceRow) -> str:
    """The white space that MISC tells before a token."""
    misc = row.fields[9]
    return unescaped(pairs(misc).get("SpacesBefore", "")) if "SpacesBefore=" in misc else ""


# ---- places that the tokens tell


def _told_places(rows: Sequence[Sequence[SurfaceRow]]) -> list[list[Place]] | None:
    """The places that all tokens tell; None if one does not, or if they are not in order."""
    found: list[list[Place]] = []
    for sentence in rows:
        own = [_told_place(row.fields[9]) for row in sentence]
        complete = [place for place in own if place is not None]
        if len(complete) < len(own):
            return None
        found.append(complete)
    flat = list(chain.from_iterable(found))
    in_order = all(start <= end for start, end in flat) and all(a[1] <= b[0] for a, b in pairwise(flat))
    return found if flat and in_order else None


_RANGE = re.compile(r"(?:.*\|)?TokenRange=(\d+):(\d+)(?:\||$)")


def _told_place(misc: str) -> Place | None:
    """
    >>> _told_place("SpaceAfter=No|TokenRange=3:5|A=b"), _told_place("OldTokenRange=3:5")
    ((3, 5), None)
    """
    found = _RANGE.match(misc)
    return None if found is None else (int(found[1]), int(found[2]))


def _as_told(rows: Sequence[Sequence[SurfaceRow]], places: list[list[Place]]) -> Surface:
    flat = list(chain.from_iterable(rows))
    ends = list(chain.from_iterable(places))
    before = _before(flat[0])
    before = before[max(0, len(before) - ends[0][0]) :]
    pieces = [before]
    for number, (row, (start, end)) in enumerate(zip(flat, ends, strict=True)):
        after = space_after(row.fields[9])
        pieces.append(_fitted(row.fields[1], end - start))
        if number + 1 < len(ends):
            gap = (" " if after is None else after) + _before(flat[number + 1])
            pieces.append(_fitted(gap, ends[number + 1][0] - end))
        else:
            pieces.append(" " if after is None else after)
    return Surface("".join(pieces), ends[0][0] - len(before), places)


def _fitted(text: str, length: int) -> str:
    return text[:length].ljust(length)


# ---- places in a text that is put together


def _rebuilt(sentences: Sequence[Sentence], rows: Sequence[Sequence[SurfaceRow]]) -> Surface:
    pieces: list[str] = []
    places: list[list[Place]] = []
    at = 0
    gap: str | None = _before(rows[0][0]) if rows and rows[0] else ""
    for number, (sentence, own) in enumerate(zip(sentences, rows, strict=True)):
        lines = sentence.comment_lines
        if number and gap is None:
            starts_paragraph = any(line.startswith(("newdoc", "newpar")) for line in lines)
            gap = "\n\n" if starts_paragraph else " "
        found: list[Place] = []
        for row, after in zip(own, _gaps(lines, own), strict=True):
            pieces += [gap or "", row.fields[1]]
            start = at + len(gap or "")
            at = start + len(row.fields[1])
            found.append((start, at))
            gap = after
        places.append(found)
    pieces.append(gap or "")
    return Surface("".join(pieces), 0, places)


def _gaps(comment_lines: Sequence[str], rows: Sequence[SurfaceRow]) -> Iterator[str | None]:
    """The white space after each token; None after the last one if it is not told, and a space after others."""
    text = next((line.partition("=")[2].strip() for line in comment_lines if line.startswith("text =")), None)
    told = None if text is None else _gaps_in(text, rows)
    for number, row in enumerate(rows):
        after = space_after(row.fields[9])
        if number + 1 == len(rows) or "SpacesAfter=" in row.fields[9]:
            yield after
        elif told is not None:
            yield told[number]
        else:
            yield " " if after is None else after


def _gaps_in(text: str, rows: Sequence[SurfaceRow]) -> list[str] | None:
    """The white space between the tokens in a text; None if it has other tokens."""
    found: list[str] = []
    at = 0
    for row in rows:
        form = row.fields[1]
        if not text.startswith(form, at):
            return None
        at += len(form)
        end = at
        while end < len(text) and text[end].isspace():
            end += 1
        found.append(text[at:end])
        at = end
    return found if at == len(text) else None
