"""The width of text in terminal cells, and text that is safe to print."""

from __future__ import annotations

import unicodedata

LEFT_TO_RIGHT_MARK = "\u200e"
_FORBIDDEN = "\u202a\u202b\u202d\u202e\ufffe\uffff"
"""Direction overrides, which affect the rest of the line, and characters that XML forbids."""


def cell_width(text: str) -> int:
    """The number of terminal cells of ``text``: two for wide (CJK) characters, none for combining marks.

    >>> cell_width("tree"), cell_width("木"), cell_width("e\\u0301")
    (4, 2, 1)
    """
    return sum(_character_width(c) for c in text)


def _character_width(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf") or "\u1160" <= character <= "\u11ff":
        return 0  # combining and invisible characters, and vowels and finals of decomposed Hangul
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def is_right_to_left(text: str) -> bool:
    """Whether the first character with a direction belongs to a right-to-left script.

    >>> is_right_to_left("12 שלום"), is_right_to_left("a שלום")
    (True, False)
    """
    directions = (unicodedata.bidirectional(c) for c in text)
    return next((d for d in directions if d in ("L", "R", "AL")), "L") != "L"


def printable(text: str) -> str:
    """Replace control characters, which a terminal would interpret, by U+FFFD.

    >>> printable("a\\x1b[2J")
    'a\ufffd[2J'
    """
    if text.isascii() and text.isprintable():  # nearly always
        return text
    return "".join("\ufffd" if _commands_the_terminal(c) else c for c in text)


def _commands_the_terminal(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") or character in _FORBIDDEN
