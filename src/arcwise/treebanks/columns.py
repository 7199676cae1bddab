"""The columns of CoNLL files, and how their values are coded and written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from arcwise.errors import InputError

COLUMNS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
"""The columns of CoNLL-U.

CoNLL-X calls four of them CPOSTAG (upos), POSTAG (xpos), PHEAD (deps), PDEPREL (misc).
"""


class FieldStrings(tuple[str, ...]):
    """Strings that occur in many treebanks, such as the tags of a model; encoded once."""

    @cached_property
    def in_bytes(self) -> list[bytes]:
        """Each string as written in a file."""
        return [field_bytes(value, "column") for value in self]


@dataclass(frozen=True)
class Coded:
    """A column as one code per word into a list of strings; code -1 stands for ``_``."""

    codes: npt.NDArray[np.int32]
    strings: Sequence[str]

    @classmethod
    def of(cls, values: Sequence[str]) -> Coded:
        """Code ``values``, numbering strings in order of first appearance."""
        strings = list(dict.fromkeys(values))
        if len(strings) == len(values):
            return cls(np.arange(len(values), dtype=np.int32), strings)
        numbers = dict(zip(strings, range(len(strings)), strict=True))
        return cls(np.fromiter(map(numbers.__getitem__, values), np.int32, len(values)), strings)

    def in_bytes(self, column: str) -> list[bytes]:
        """The strings as written in a file; ``InputError`` if one would break the row."""
        if isinstance(self.strings, FieldStrings):
            return self.strings.in_bytes
        return [field_bytes(value, column) for value in self.strings]

    def where_blank(self, column: Sequence[str]) -> list[str]:
        """Fill ``_`` in ``column`` with these values."""
        return [
            self.strings[code] if value == "_" else value
            for value, code in zip(column, self.codes, strict=True)
        ]


# Three decimals allow only 1001 texts, which are encoded once.
_UPOS_CONFIDENCES = FieldStrings(f"UposProb={thousandths / 1000:.3f}" for thousandths in range(1001))


def upos_confidence(probabilities: npt.NDArray[np.float32], kept: Sequence[str] | None = None) -> Coded:
    """Format a tagger's confidence in the UPOS of each word for MISC.

    A tag that was ``kept`` from the input has 1.

    kept: the UPOS of the input, ``_`` where the tagger chose.

    >>> coded = upos_confidence(np.array([0.5, 0.25], np.float32), ["NOUN", "_"])
    >>> [coded.strings[code] for code in coded.codes]
    ['UposProb=1.000', 'UposProb=0.250']
    """
    if kept is not None:
        probabilities = np.where(np.array(kept, object) == "_", probabilities, np.float32(1))
    # The product of a 24-bit and a 10-bit number is exact in float64, so this rounds exactly like f"{p:.3f}".
    return Coded(np.rint(probabilities.astype(np.float64) * 1000).astype(np.int32), _UPOS_CONFIDENCES)


def column_number(name: str) -> int:
    """Return the index of a column; raises ``InputError`` for an unknown name."""
    if name not in COLUMNS:
        raise InputError(f"column: found {name!r}, expected one of {', '.join(COLUMNS)}")
    return COLUMNS.index(name)


def field_bytes(value: str, column: str) -> bytes:
    """Encode a value for a file; ``InputError`` if it would break the row."""
    # Tabs and line ends are unprintable: one test in C replaces three for nearly all values.
    if not value.isprintable() and ("\t" in value or "\n" in value or "\r" in value):
        raise InputError(f"{column}: found a tab or line break in {value!r}, expected text for one column")
    return value.encode("utf-8", "replace") or b"_"


def comment_bytes(comments: Mapping[str, str], newline: str) -> bytes:
    """Encode comments as ``# key = value`` lines; ``InputError`` if one contains a line break."""
    for text in (*comments, *comments.values()):
        if "\n" in text or "\r" in text:
            raise InputError(f"comments: found a line break in {text!r}, expected one line")
    return "".join(f"# {key} = {value}{newline}" for key, value in comments.items()).encode()
