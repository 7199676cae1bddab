"""What can be wrong with a CoNLL file, as sentences that name the place, what was found and what was expected."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from arcwise.treebanks.columns import COLUMNS


class ProblemKind(IntEnum):
    """The kinds of problem, in the order of ``ProblemKind`` in native/kernels/treebanks/treebank_layout.hpp."""

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
    MULTIPLE_ROOTS = 13  # found by validate(single_root=True) alone


OF_TREES = frozenset(
    {
        ProblemKind.BAD_HEAD,
        ProblemKind.HEAD_RANGE,
        ProblemKind.SELF_LOOP,
        ProblemKind.CYCLE,
        ProblemKind.EMPTY_FIELD,
    }
)
"""Problems with which rows can still be counted: a file is read, compared and edited although it has them."""


@dataclass(frozen=True)
class Problem:
    """One thing wrong with a file. ``str(problem)`` is ``path:line (sent_id): found …, expected …``."""

    kind: ProblemKind
    path: str
    line: int
    sent_id: str | None
    sentence: int
    message: str

    def __str__(self) -> str:
        where = f" ({self.sent_id})" if self.sent_id else ""
        return f"{self.path}:{self.line}{where}: {self.message}"


def describe(kind: ProblemKind, found: int, field: str, row_id: str) -> str:
    """The message for a problem: ``field`` is the text at the place, ``row_id`` the ID of its row."""
    match kind:
        case ProblemKind.COLUMN_COUNT:
            hint = (
                "; are the columns separated by spaces instead of tabs?"
                if found == 1 and " " in field
                else ""
            )
            return f"found {found} column{'s' * (found != 1)}, expected 10 separated by tabs{hint}"
        case ProblemKind.BAD_ID:
            return f"found ID {row_id!r}, expected a number (here {found}), a range like 2-3 or a decimal like 8.1"
        case ProblemKind.ID_ORDER:
            return f"found ID {row_id!r}, expected {found} (IDs count 1, 2, 3, … without gaps)"
        case ProblemKind.MISSING_BLANK:
            return "found ID 1 in the middle of a sentence, expected a blank line between sentences"
        case ProblemKind.BAD_HEAD:
            return f"found HEAD {field!r}, expected a number or _"
        case ProblemKind.HEAD_RANGE:
            return (
                f"found HEAD {field}, expected 0..{found} (the sentence has {found} word{'s' * (found != 1)})"
            )
        case ProblemKind.SELF_LOOP:
            return f"word {found} is its own head, expected another word or 0"
        case ProblemKind.CYCLE:
            return f"word {found} is on a cycle of heads, expected a tree"
        case ProblemKind.BAD_MULTIWORD:
            return f"found multiword range {row_id!r}, expected a range that starts at the next word and stays in the sentence"
        case ProblemKind.NO_WORDS:
            return "found no word before the blank line, expected a sentence"
        case ProblemKind.COMMENT_POSITION:
            return "found a comment inside a sentence, expected comments before its first word"
        case ProblemKind.EMPTY_FIELD:
            return f"found an empty {COLUMNS[found].upper()} field, expected a value or _"
        case ProblemKind.INVALID_UTF8:
            return f"found byte 0x{found:02X}, expected UTF-8 text"
        case ProblemKind.MULTIPLE_ROOTS:
            return f"found {found} roots, expected one"
