"""One sentence as lines, comments and rows, whatever is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from arcwise.treebanks.blocks import BOM

Kind = Literal["word", "multiword", "empty", "broken"]
ID, FORM, LEMMA, UPOS, XPOS, FEATS, HEAD, DEPREL, DEPS, MISC = range(10)

_WORD = re.compile(r"[1-9][0-9]*", re.ASCII)
_MULTIWORD = re.compile(r"[1-9][0-9]*-[1-9][0-9]*", re.ASCII)
_EMPTY = re.compile(r"[0-9]+\.[1-9][0-9]*", re.ASCII)
_BLANK_LINE = re.compile(rb"^[ \t\r\f\v]*(?:\n|\Z)", re.MULTILINE)
SENT_ID = re.compile(r"#\s*sent_id\s*=\s*(\S+)")


@dataclass(slots=True)
class Row:
    """One row: its line in the file, its fields, and what its ID says it is."""

    line: int
    fields: list[str]
    kind: Kind

    @property
    def id(self) -> str:
        """The ID as the file has it."""
        return self.fields[0]

    @property
    def span(self) -> tuple[int, int]:
        """First and last word of a multiword token; both numbers of an empty node; twice the number of a word."""
        first, _, last = self.fields[0].replace(".", "-").partition("-")
        return int(first), int(last or first)


def kind_of(identifier: str) -> Kind:
    """What an ID stands for."""
    if _WORD.fullmatch(identifier):
        return "word"
    if _MULTIWORD.fullmatch(identifier):
        return "multiword"
    return "empty" if _EMPTY.fullmatch(identifier) else "broken"


class RawSentence:
    """The lines of one sentence, the final blank line included; ``first_line`` is the number of the first one in the file."""

    def __init__(self, data: bytes, first_line: int = 1) -> None:
        text = data.removeprefix(BOM).decode("utf-8", "surrogateescape")
        lines = text.split("\n")
        if not lines[-1]:
            lines.pop()
        self.text = text
        self.first_line = first_line
        self.lines = [line.removesuffix("\r") for line in lines] if "\r" in text else lines
        self.comments: list[tuple[int, str]] = []
        self.rows: list[Row] = []
        self.structured = (
            True  # whether lines, columns and IDs are sound, so that rows mean what they seem to
        )
        self.alone = (
            True  # whether the bytes are one sentence for readers too; blanks in the blank line join two
        )
        self._split()

    def _split(self) -> None:
        for line, text in enumerate(self.lines, self.first_line):
            if text.startswith("#"):
                if not self.rows:
                    self.comments.append((line, text))
            elif text[:1].isdigit():
                fields = text.split("\t")
                self.rows.append(Row(line, fields, kind_of(fields[0])))

    @property
    def editable(self) -> bool:
        """Whether an ID names one row, so that edits can be offered."""
        return self.structured and self.alone

    @property
    def first_row_line(self) -> int:
        """Where the first row stands: the place of what concerns the whole sentence."""
        return self.rows[0].line if self.rows else self.first_line

    @cached_property
    def words(self) -> list[Row]:
        """The rows of words."""
        return [row for row in self.rows if row.kind == "word"]

    @cached_property
    def nodes(self) -> list[Row]:
        """The rows of words and empty nodes."""
        return [row for row in self.rows if row.kind in ("word", "empty")]

    @cached_property
    def tokens(self) -> list[Row]:
        """What the text is made of: multiword tokens, and words outside of them."""
        found, inside = [], 0
        for row in self.rows:
            if row.kind == "multiword":
                found.append(row)
                inside = row.span[1]
            elif row.kind == "word" and int(row.id) > inside:
                found.append(row)
        return found

    @cached_property
    def sent_ids(self) -> list[str]:
        """All sent_ids of the sentence, which should be one."""
        return [match[1] for _, text in self.comments if (match := SENT_ID.fullmatch(text))]

    @property
    def sent_id(self) -> str | None:
        """The last of its sent_ids."""
        return self.sent_ids[-1].encode("utf-8", "replace").decode() if self.sent_ids else None


def raw_sentences(data: bytes, first_line: int = 1) -> Iterator[tuple[int, RawSentence]]:
    """The sentences of a file, each with its offset."""
    line, joined = first_line, False
    for offset, block in blocks(data):
        raw = RawSentence(block, line)
        blanks = bool(raw.lines) and raw.lines[-1].isspace()
        raw.alone = not (joined or blanks)
        yield offset, raw
        line, joined = line + block.count(b"\n"), blanks


def blocks(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The sentences of a file as (offset, bytes): everything up to a blank line and with it.

    >>> [block for _, block in blocks(b"# a\\n1\\n\\n\\n# b\\n2")]
    [b'# a\\n1\\n\\n', b'\\n', b'# b\\n2']
    """
    start = 0
    for match in _BLANK_LINE.finditer(data):
        end = match.end()
        if end > start:
            yield start, data[start:end]
        start = end
    if start < len(data):
        yield start, data[start:]
