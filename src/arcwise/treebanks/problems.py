"""Problems of CoNLL files, with messages that name the place, the defect and the fix."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from arcwise.treebanks.columns import COLUMNS


class ProblemKind(IntEnum):
    """The kinds of problem, numbered as in native/kernels/treebanks/treebank_layout.hpp."""

    COLUMN_COUNT = 0
    BAD_ID = 1
    ID_ORDER = 2
    MISSING_BLANK = 3
    BAD_HEAD = 4
    HEAD_RANGE = 5
    SELF_LOOP = 6
    CYCLE = 7
    BAD_MULTIWORD = 8
    NO_WORDS = 9
    COMMENT_POSITION = 10
    EMPTY_FIELD = 11
    INVALID_UTF8 = 12
    MULTIPLE_ROOTS = 13  # reported only by stream_problems(single_root=True)


_KIND = ProblemKind
OF_TREES = frozenset({_KIND.BAD_HEAD, _KIND.HEAD_RANGE, _KIND.SELF_LOOP, _KIND.CYCLE, _KIND.EMPTY_FIELD})
"""Problems that leave the numbering of rows intact, so that the file can still be compared and edited."""


@dataclass(frozen=True)
class Problem:
    """One defect of a file. ``str(problem)`` is ``path:line (sent_id): message``."""

    kind: ProblemKind
    path: str
    line: int
    sent_id: str | None
    sentence: int
    message: str

    def __str__(self) -> str:
        where = f" ({self.sent_id})" if self.sent_id else ""
        return f"{self.path}:{self.line}{where}: {self.message}"


_MESSAGES = {
    _KIND.COLUMN_COUNT: "found {number} column{s}, expected 10 separated by tabs{hint}",
    _KIND.BAD_ID: "found ID {row_id!r}, expected a number (here {number}), a range (2-3) or a decimal (8.1)",
    _KIND.ID_ORDER: "found ID {row_id!r}, expected {number} (IDs count 1, 2, 3, … without gaps)",
    _KIND.MISSING_BLANK: "ID 1 in the middle of a sentence; a blank line is missing before it",
    _KIND.BAD_HEAD: "HEAD {field!r} is neither a number nor _",
    _KIND.HEAD_RANGE: "HEAD {field} is outside the sentence ({number} word{s})",
    _KIND.SELF_LOOP: "word {number} is its own head",
    _KIND.CYCLE: "word {number} is on a cycle of heads",
    _KIND.BAD_MULTIWORD: "multiword range {row_id!r} does not start at the next word, or leaves the sentence",
    _KIND.NO_WORDS: "no words before the blank line",
    _KIND.COMMENT_POSITION: "comment inside a sentence; move it before the first word",
    _KIND.EMPTY_FIELD: "{column} is empty; write _ for no value",
    _KIND.INVALID_UTF8: "byte 0x{number:02X} is not valid UTF-8",
    _KIND.MULTIPLE_ROOTS: "found {number} roots, expected one",
}


def describe(kind: ProblemKind, number: int, field: str, row_id: str) -> str:
    """The message for a problem.

    number: the count, ID or byte that the native reader reports with it. field: the text at its place.
    row_id: the ID of its row.
    """
    spaces = kind is _KIND.COLUMN_COUNT and number == 1 and " " in field
    hint = "; are the columns separated by spaces instead of tabs?" if spaces else ""
    column = COLUMNS[number].upper() if kind is _KIND.EMPTY_FIELD else ""
    s = "s" * (number != 1)
    return _MESSAGES[kind].format(number=number, field=field, row_id=row_id, hint=hint, column=column, s=s)
