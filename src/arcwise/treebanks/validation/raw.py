"""Lines, comments and rows of a sentence that may be malformed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

from arcwise.treebanks.rows import BOM, Row, row_kind, token_rows

_BLANK_LINE = re.compile(rb"^[ \t\r\f\v]*(?:\n|\Z)", re.MULTILINE)
_LONGEST_ID = 40
MOST_REPAIRED = 2000
"""Rows of a sentence up to which repairs are suggested: each is checked against the whole sentence."""
SENT_ID = re.compile(r"#\s*sent_id\s*=\s*(\S+)")


class RawSentence:
    """One sentence, including the blank line at its end; ``first_line`` is its line number in the file."""

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
        self.structured = True
        """Whether lines, columns and IDs are valid, so that the rows can be interpreted."""
        self.separate = True
        """Whether readers take this for one sentence; a "blank" line that has spaces joins two."""
        self._split()

    def _split(self) -> None:
        for line, text in enumerate(self.lines, self.first_line):
            if text.startswith("#"):
                if not self.rows:
                    self.comments.append((line, text))
            elif text[:1].isdigit():
                fields = text.split("\t")
                # Python refuses to convert thousands of digits, and no sentence has that many words.
                kind = row_kind(fields[0]) if len(fields[0]) <= _LONGEST_ID else "broken"
                self.rows.append(Row(kind, fields, line))

    @property
    def editable(self) -> bool:
        """Whether IDs identify rows, so that edits can be suggested; not in very long sentences."""
        return self.structured and self.separate and len(self.rows) <= MOST_REPAIRED

    @property
    def first_row_line(self) -> int:
        """The line of the first row, where problems of the whole sentence are reported."""
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
        """Multiword tokens, and words outside of them."""
        return token_rows(self.rows)

    @cached_property
    def sent_ids(self) -> list[str]:
        """All sent_ids of the sentence; there should be one."""
        return [match[1] for _, text in self.comments if (match := SENT_ID.fullmatch(text))]

    @property
    def sent_id(self) -> str | None:
        """The last sent_id."""
        return self.sent_ids[-1].encode("utf-8", "replace").decode() if self.sent_ids else None


def raw_sentences(data: bytes, first_line: int = 1) -> Iterator[tuple[int, RawSentence]]:
    """Yield the sentences of a file, each with its byte offset."""
    line, joined = first_line, False
    for offset, block in blocks(data):
        raw = RawSentence(block, line)
        joins_next = bool(raw.lines) and raw.lines[-1].isspace()
        raw.separate = not (joined or joins_next)
        yield offset, raw
        line, joined = line + block.count(b"\n"), joins_next


def blocks(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Split a file into sentences as (offset, bytes), each up to and including a blank line.

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
