"""One sentence as lines, comments and rows, whatever is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

from arcwise.treebanks.rows import BOM, Row, row_kind, token_rows

_BLANK_LINE = re.compile(rb"^[ \t\r\f\v]*(?:\n|\Z)", re.MULTILINE)
SENT_ID = re.compile(r"#\s*sent_id\s*=\s*(\S+)")


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
                self.rows.append(Row(row_kind(fields[0]), fields, line))

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
        return token_rows(self.rows)

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
