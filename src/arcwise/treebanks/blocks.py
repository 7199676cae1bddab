"""The sentences of a file as blocks of bytes: comments, rows and blank lines.

Comparing and merging work on bytes, so that invalid UTF-8 survives and equal lines are never decoded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from arcwise import native
from arcwise.treebanks.columns import COLUMNS
from arcwise.treebanks.rows import BOM, row_kind

Fields = tuple[bytes, ...]
"""The ten fields of a row."""


@dataclass(frozen=True)
class SentenceBlock:
    """One sentence of a file: its bytes including the blank lines after it, and whether it is the last."""

    data: bytes
    last: bool = False

    @cached_property
    def body(self) -> bytes:
        """The bytes up to the last character of the last row."""
        return self.data.rstrip(b"\r\n")

    @property
    def tail(self) -> bytes:
        """The line ends after the last row."""
        return self.data[len(self.body) :]

    @property
    def closed(self) -> bytes:
        """Its bytes with a final blank line, which the last sentence of a file may lack."""
        missing = 2 - self.tail.count(b"\n") if self.last else 0
        return self.data + max(missing, 0) * self.newline

    @cached_property
    def newline(self) -> bytes:
        """Its line end."""
        return b"\r\n" if b"\r\n" in self.data else b"\n"

    @cached_property
    def lines(self) -> tuple[bytes, ...]:
        """Comments and rows, without line ends."""
        return tuple(line.removesuffix(b"\r") for line in self.body.split(b"\n"))

    @cached_property
    def comments(self) -> tuple[bytes, ...]:
        """The comment lines before the first row, including ``#``."""
        return self.lines[: self._first_row]

    @property
    def row_lines(self) -> tuple[bytes, ...]:
        """The lines after the comments."""
        return self.lines[self._first_row :]

    @cached_property
    def rows(self) -> tuple[Fields, ...]:
        """The fields of all rows: words, multiword tokens and empty nodes."""
        return tuple(tuple(line.split(b"\t")) for line in self.row_lines)

    @cached_property
    def by_id(self) -> dict[bytes, Fields]:
        """ID → row."""
        return {row[0]: row for row in self.rows}

    @cached_property
    def is_sound(self) -> bool:
        """Whether every line after the comments is a row of ten fields with a unique ID."""
        return all(len(row) == len(COLUMNS) for row in self.rows) and len(self.by_id) == len(self.rows)

    @cached_property
    def words(self) -> tuple[Fields, ...]:
        """The rows of words."""
        return tuple(row for row in self.rows if is_word(row[0]))

    @cached_property
    def forms(self) -> tuple[bytes, ...]:
        """The forms of the words."""
        return tuple(row[1] if len(row) > 1 else row[0] for row in self.words)

    @cached_property
    def sent_id(self) -> bytes | None:
        """The value of the ``# sent_id`` comment."""
        return next((value for key, value in map(key_and_value, self.comments) if key == b"sent_id"), None)

    def has_field(self, row: str, column: str) -> bool:
        """Whether the sentence is sound and has such a row, and the column exists and is not the ID."""
        return self.is_sound and row.encode("utf-8", "replace") in self.by_id and column in COLUMNS[1:]

    def with_field(self, row: str, column: str, value: bytes) -> SentenceBlock:
        """Replace one field and nothing else, unchecked (``edits.SetField`` checks and updates DEPS)."""
        lines = self.data.split(b"\n")
        at = next(i for i, line in enumerate(lines) if line.startswith(row.encode() + b"\t"))
        end = b"\r" if lines[at].endswith(b"\r") else b""
        fields = lines[at].removesuffix(end).split(b"\t")
        fields[COLUMNS.index(column)] = value
        lines[at] = b"\t".join(fields) + end
        return SentenceBlock(b"\n".join(lines), self.last)

    def with_lines(self, comments: Sequence[bytes], rows: Sequence[bytes]) -> SentenceBlock:
        """Replace the lines, keeping line ends."""
        return SentenceBlock(self.newline.join([*comments, *rows]) + self.tail, self.last)

    @cached_property
    def _first_row(self) -> int:
        return next((i for i, line in enumerate(self.lines) if not line.startswith(b"#")), len(self.lines))


@lru_cache(maxsize=1 << 12)
def is_word(identifier: bytes) -> bool:
    """Whether an ID is that of a word."""
    # latin-1 decodes any byte; an ID consists of ASCII characters in any case.
    return row_kind(identifier.decode("latin-1")) == "word"


def key_and_value(comment: bytes) -> tuple[bytes, bytes]:
    """Split ``# key = value``; a comment without ``=`` is a key with an empty value."""
    key, _, value = comment[1:].partition(b"=")
    return key.strip(), value.strip()


@dataclass(frozen=True)
class FileBlocks(Sequence[SentenceBlock]):
    """The sentences of a file, in order. ``mark``: its byte order mark, or nothing."""

    mark: bytes
    blocks: tuple[SentenceBlock, ...]

    @classmethod
    def of(cls, data: bytes, layout: native.TreebankLayout | None = None) -> FileBlocks:
        r"""Split the bytes of a file; the blocks concatenated are the same bytes, if there is any sentence.

        >>> [block.forms for block in FileBlocks.of(b"1\tHi\t_\t_\t_\t_\t0\troot\t_\t_\n\n")]
        [(b'Hi',)]
        """
        mark = BOM if data.startswith(BOM) else b""
        starts = (layout or native.treebank_layout(data)).sentence_bytes.tolist()
        # The byte order mark belongs to the file, not to its first sentence, which may move.
        starts[:1] = [len(mark)] if starts else []
        count = len(starts) - 1
        blocks = (SentenceBlock(data[starts[i] : starts[i + 1]], i == count - 1) for i in range(count))
        return cls(mark, tuple(blocks))

    def __len__(self) -> int:
        return len(self.blocks)

    def __getitem__(self, at: int) -> SentenceBlock:  # type: ignore[override]
        return self.blocks[at]

    def __iter__(self) -> Iterator[SentenceBlock]:
        return iter(self.blocks)
