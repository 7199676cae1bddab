"""The text of a treebank, and the position of each token in it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import TYPE_CHECKING

from arcwise.treebanks.field_values import pairs, unescaped
from arcwise.treebanks.rows import TokenRow, gaps_in_text

if TYPE_CHECKING:
    from arcwise.treebanks.sentence import Sentence
    from arcwise.treebanks.treebank import Treebank

Place = tuple[int, int]
"""Start and end of a token in a text, in characters (code points)."""

_RANGE = re.compile(r"(?:.*\|)?TokenRange=(\d+):(\d+)(?:\||$)")


@dataclass(frozen=True)
class Surface:
    """A text, and the places of its tokens.

    If every token states its place (``TokenRange`` in MISC, as tokenizers write it), these places are used
    and ``start`` is where the text begins, so that a part of a longer text keeps its places there. Otherwise
    the text is rebuilt from SpacesAfter, else from ``# text``, else from SpaceAfter=No; a blank line precedes
    each paragraph and document.
    """

    text: str
    start: int
    places: list[list[Place]]
    """One list per sentence, with one place per token."""

    @classmethod
    def of(cls, treebank: Treebank) -> Surface:
        """Read or rebuild the text of a treebank.

        >>> from arcwise.treebanks import Treebank
        >>> empty = "\\t_" * 7
        >>> rows = f"1\\tHi{empty}\\tSpaceAfter=No\\n2\\t!{empty}\\t_\\n\\n"
        >>> Surface.of(Treebank.from_string(rows * 2))
        Surface(text='Hi! Hi!', start=0, places=[[(0, 2), (2, 3)], [(4, 6), (6, 7)]])
        """
        sentences = list(treebank)
        rows = [sentence.token_rows for sentence in sentences]
        places = _stated_places(rows)
        return _rebuild(sentences, rows) if places is None else _from_places(rows, places)


def space_after(misc: str) -> str | None:
    """The white space that MISC states after a token; None if it states nothing, which means a space."""
    if "Space" not in misc:
        return None
    attributes = pairs(misc)
    if "SpacesAfter" in attributes:
        return unescaped(attributes["SpacesAfter"])
    return "" if attributes.get("SpaceAfter") == "No" else None


def _space_before(row: TokenRow) -> str:
    """The white space that MISC states before a token."""
    misc = row.fields[9]
    return unescaped(pairs(misc).get("SpacesBefore", "")) if "SpacesBefore=" in misc else ""


def stated_places(sentence: Sentence) -> list[Place] | None:
    """The places that the tokens of one sentence state; None if one of them states none."""
    places = [_stated_place(token.fields[9]) for token in sentence.token_rows]
    stated = [place for place in places if place is not None]
    return stated if len(stated) == len(places) else None


def _stated_places(rows: Sequence[Sequence[TokenRow]]) -> list[list[Place]] | None:
    """The places stated by all tokens; None if a token states none, or if they are not in order."""
    places: list[list[Place]] = []
    for tokens in rows:
        sentence_places: list[Place] = []
        for token in tokens:
            place = _stated_place(token.fields[9])
            if place is None:
                return None
            sentence_places.append(place)
        places.append(sentence_places)
    flat = list(chain.from_iterable(places))
    in_order = all(start <= end for start, end in flat) and all(a[1] <= b[0] for a, b in pairwise(flat))
    return places if flat and in_order else None


def _stated_place(misc: str) -> Place | None:
    """
    >>> _stated_place("SpaceAfter=No|TokenRange=3:5|A=b"), _stated_place("OldTokenRange=3:5")
    ((3, 5), None)
    """
    match = _RANGE.match(misc)
    return None if match is None else (int(match[1]), int(match[2]))


def _from_places(rows: Sequence[Sequence[TokenRow]], places: list[list[Place]]) -> Surface:
    tokens = list(chain.from_iterable(rows))
    flat = list(chain.from_iterable(places))
    before = _space_before(tokens[0])
    before = before[max(0, len(before) - flat[0][0]) :]
    pieces = [before]
    for number, (token, (start, end)) in enumerate(zip(tokens, flat, strict=True)):
        after = space_after(token.fields[9])
        pieces.append(_fit(token.fields[1], end - start))
        if number + 1 < len(flat):
            gap = (" " if after is None else after) + _space_before(tokens[number + 1])
            pieces.append(_fit(gap, flat[number + 1][0] - end))
        else:
            pieces.append(" " if after is None else after)
    return Surface("".join(pieces), flat[0][0] - len(before), places)


def _fit(text: str, length: int) -> str:
    return text[:length].ljust(length)


def _rebuild(sentences: Sequence[Sentence], rows: Sequence[Sequence[TokenRow]]) -> Surface:
    pieces: list[str] = []
    places: list[list[Place]] = []
    at = 0
    gap: str | None = _space_before(rows[0][0]) if rows and rows[0] else ""
    for number, (sentence, tokens) in enumerate(zip(sentences, rows, strict=True)):
        comments = sentence.comment_lines
        if number and gap is None:
            starts_paragraph = any(line.startswith(("newdoc", "newpar")) for line in comments)
            gap = "\n\n" if starts_paragraph else " "
        sentence_places: list[Place] = []
        for token, after in zip(tokens, _gaps(comments, tokens), strict=True):
            pieces += [gap or "", token.fields[1]]
            start = at + len(gap or "")
            at = start + len(token.fields[1])
            sentence_places.append((start, at))
            gap = after
        places.append(sentence_places)
    pieces.append(gap or "")
    return Surface("".join(pieces), 0, places)


def _gaps(comment_lines: Sequence[str], tokens: Sequence[TokenRow]) -> Iterator[str | None]:
    """The white space after each token, by default a space; None after the last if nothing states it."""
    text = next((line.partition("=")[2].strip() for line in comment_lines if line.startswith("text =")), None)
    gaps = None if text is None else gaps_in_text(text, [token.fields[1] for token in tokens])
    for number, token in enumerate(tokens):
        after = space_after(token.fields[9])
        if number + 1 == len(tokens) or "SpacesAfter=" in token.fields[9]:
            yield after
        elif gaps is not None:
            yield gaps[number]
        else:
            yield " " if after is None else after
