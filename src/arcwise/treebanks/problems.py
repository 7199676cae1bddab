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


OF_TREES = frozenset(
    {
        ProblemKind.BAD_HEAD,
        ProblemKind.HEAD_RANGE,
        ProblemKind.SELF_LOOP,
        ProblemKind.CYCLE,
        ProblemKind.EMPTY_FIELD,
    }
)
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


def describe(kind: ProblemKind, number: int, field: str, row_id: str) -> str:
    """The message for a problem.

    number: the count, ID or byte that the native reader reports with it. field: the text at its place.
    row_id: the ID of its row.
    """
    plural = "s" * (number != 1)
    match kind:
        case ProblemKind.COLUMN_COUNT:
            hint = (
                "; are the columns separated by spaces instead of tabs?"
                if number == 1 and " " in field
                else ""
            )
            return f"found {number} column{plural}, expected 10 separated by tabs{hint}"
        case ProblemKind.BAD_ID:
            return f"found ID {row_id!r}, expected a number (here {number}), a range (2-3) or a decimal (8.1)"
        case ProblemKind.ID_ORDER:
            return f"found ID {row_id!r}, expected {number} (IDs count 1, 2, 3, … without gaps)"
        case ProblemKind.MISSING_BLANK:
            return "ID 1 in the middle of a sentence; a blank line is missing before it"
        case ProblemKind.BAD_HEAD:
            return f"HEAD {field!r} is neither a number nor _"
        case ProblemKind.HEAD_RANGE:
            return f"HEAD {field} is outside the sentence ({number} word{plural})"
        case ProblemKind.SELF_LOOP:
            return f"word {number} is its own head"
        case ProblemKind.CYCLE:
            return f"word {number} is on a cycle of heads"
        case ProblemKind.BAD_MULTIWORD:
            return f"multiword range {row_id!r} does not start at the next word, or leaves the sentence"
        case ProblemKind.NO_WORDS:
            return "no words before the blank line"
        case ProblemKind.COMMENT_POSITION:
            return "comment inside a sentence; move it before the first word"
        case ProblemKind.EMPTY_FIELD:
            return f"{COLUMNS[number].upper()} is empty; write _ for no value"
        case ProblemKind.INVALID_UTF8:
            return f"byte 0x{number:02X} is not valid UTF-8"
        case ProblemKind.MULTIPLE_ROOTS:
            return f"found {number} roots, expected one"
