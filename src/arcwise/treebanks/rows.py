"""The row model: kinds of rows, which rows are tokens of the text, and the text that tokens spell.

Readers differ in what they keep: ``Sentence.rows`` has plain fields, validation needs line numbers, editing
needs line ends. All of them classify IDs, find tokens and join text by the functions here.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

from arcwise.treebanks.columns import COLUMNS, column_number, field_bytes
from arcwise.treebanks.field_values import pair_parts

ID, FORM, LEMMA, UPOS, XPOS, FEATS, HEAD, DEPREL, DEPS, MISC = range(len(COLUMNS))
NO_SPACE = "SpaceAfter=No"
BOM = codecs.BOM_UTF8

RowKind = Literal["word", "multiword", "empty", "broken", "comment"]
NATIVE_KINDS: tuple[RowKind, ...] = ("word", "multiword", "empty")
"""The kinds by their number in ``TreebankLayout.row_kinds``, where a broken ID counts as a word."""

_WORD = re.compile(r"[1-9][0-9]*", re.ASCII)
_MULTIWORD = re.compile(r"[1-9][0-9]*-[1-9][0-9]*", re.ASCII)
_EMPTY = re.compile(r"[0-9]+\.[1-9][0-9]*", re.ASCII)


@lru_cache(maxsize=1 << 12)  # the same few hundred IDs begin the rows of every sentence
def row_kind(identifier: str) -> RowKind:
    """Classify an ID.

    >>> [row_kind(identifier) for identifier in ("3", "3-4", "8.1", "03")]
    ['word', 'multiword', 'empty', 'broken']
    """
    if _WORD.fullmatch(identifier):
        return "word"
    if _MULTIWORD.fullmatch(identifier):
        return "multiword"
    return "empty" if _EMPTY.fullmatch(identifier) else "broken"


@dataclass(slots=True, eq=False)
class Row:
    """One row of a sentence, with its fields as text.

    Rows are compared by identity, since editing moves them.

    line: its line in the file, from 1 (0 if unknown). end: its line end.
    """

    kind: RowKind
    fields: list[str]
    line: int = 0
    end: str = ""

    @property
    def id(self) -> str:
        """The ID, as in the file; empty for a new row until the sentence is renumbered."""
        return self.fields[0]

    @property
    def span(self) -> tuple[int, int]:
        """First and last word (of a word: twice its number); both numbers of an empty node."""
        first, _, last = self.fields[0].replace(".", "-").partition("-")
        return int(first), int(last or first)

    def __getitem__(self, column: str) -> str:
        return self.fields[column_number(column)]

    def __setitem__(self, column: str, value: str) -> None:
        self.fields[column_number(column)] = field_bytes(value, column).decode("utf-8", "surrogateescape")

    @property
    def misc(self) -> list[str]:
        """The attributes of MISC, each ``Key=Value``."""
        return pair_parts(self.fields[MISC])

    def set_misc(self, parts: Iterable[str]) -> None:
        """Replace the attributes of MISC."""
        self.fields[MISC] = "|".join(parts) or "_"

    def drop_misc(self, *keys: str) -> None:
        """Remove attributes from MISC by key; MISC keeps its exact text if it has none of them."""
        kept = [part for part in self.misc if part.partition("=")[0] not in keys]
        if len(kept) < len(self.misc):
            self.set_misc(kept)

    @property
    def glued(self) -> bool:
        """Whether MISC has SpaceAfter=No."""
        return is_glued(self.fields[MISC])

    @glued.setter
    def glued(self, value: bool) -> None:
        if value != self.glued:
            self.set_misc([*self.misc, NO_SPACE] if value else [p for p in self.misc if p != NO_SPACE])

    def blank(self, form: str = "_") -> Row:
        """Return a new word with the same line end and no annotation but its form."""
        row = Row("word", [""] + ["_"] * (len(COLUMNS) - 1), end=self.end)
        row["form"] = form
        return row


class TokenRow(NamedTuple):
    """A row that is a token of the text: a multiword token, or a word outside of one."""

    fields: tuple[str, ...]
    first: int
    last: int
    """Its first and last word, from 1; both inclusive."""


def token_spans(kinds: Iterable[str], ids: Iterable[str]) -> list[tuple[int, int, int]]:
    """Find the rows that are tokens of the text: (index of the row, first word, last word).

    Words are counted, so that a broken ID does not change which word a row is.

    >>> token_spans(["multiword", "word", "word", "empty", "word"], ["1-2", "1", "2", "2.1", "3"])
    [(0, 1, 2), (4, 3, 3)]
    """
    spans: list[tuple[int, int, int]] = []
    word = covered = 0
    for index, (kind, identifier) in enumerate(zip(kinds, ids, strict=True)):
        if kind == "multiword":
            first, _, last = identifier.partition("-")
            covered = int(last)
            spans.append((index, int(first), covered))
        elif kind == "word":
            word += 1
            if word > covered:
                spans.append((index, word, word))
    return spans


def token_rows(rows: Sequence[Row]) -> list[Row]:
    """The rows that are tokens of the text."""
    kinds = [row.kind for row in rows]
    if kinds.count("word") == len(kinds):  # most sentences have neither multiword tokens nor empty nodes
        return list(rows)
    return [rows[index] for index, _, _ in token_spans(kinds, [row.fields[0] for row in rows])]


def is_glued(misc: str) -> bool:
    """Whether MISC says that no space follows the token."""
    return NO_SPACE in misc and NO_SPACE in misc.split("|")  # the substring test skips most fields cheaply


def joined_text(tokens: Iterable[Sequence[str]]) -> str:
    """The text that the fields of tokens spell: their forms, with a space except after SpaceAfter=No."""
    return "".join(
        fields[FORM] if is_glued(fields[MISC]) else fields[FORM] + " " for fields in tokens
    ).rstrip()


def gaps_in_text(text: str, forms: Iterable[str], *, whole: bool = True) -> list[str] | None:
    """The white space after each token in a text.

    None if the text does not start with, or is not all of, these tokens.

    whole: require that nothing follows the last token.

    >>> gaps_in_text("Hi  all!", ["Hi", "all", "!"]), gaps_in_text("Hi", ["Ho"])
    (['  ', '', ''], None)
    """
    gaps: list[str] = []
    at = 0
    for form in forms:
        if not text.startswith(form, at):
            return None
        end = at = at + len(form)
        while end < len(text) and text[end].isspace():
            end += 1
        gaps.append(text[at:end])
        at = end
    return gaps if at == len(text) or not whole else None
