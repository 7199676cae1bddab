"""The columns of a CoNLL file, and the values that may stand in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arcwise.errors import InputError

COLUMNS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
"""The columns of CoNLL-U. CoNLL-X calls four of them CPOSTAG (upos), POSTAG (xpos), PHEAD (deps), PDEPREL (misc)."""


@dataclass(frozen=True)
class Coded:
    """A column as one code per word into a list of strings; code -1 stands for ``_``."""

    codes: npt.NDArray[np.int32]
    strings: Sequence[str]

    @classmethod
    def of(cls, values: Sequence[str]) -> Coded:
        """The codes of ``values``, numbered in order of first appearance."""
        numbers: dict[str, int] = {}
        codes = np.fromiter((numbers.setdefault(v, len(numbers)) for v in values), np.int32, len(values))
        return cls(codes, list(numbers))

    def where_blank(self, column: Sequence[str]) -> list[str]:
        """``column`` with these values where it has ``_``."""
        return [
            self.strings[code] if own == "_" else own for own, code in zip(column, self.codes, strict=True)
        ]


def upos_confidence(probabilities: npt.NDArray[np.float32], kept: Sequence[str] | None = None) -> list[str]:
    """How sure a tagger is of the UPOS of each word, as MISC has it; of what was ``kept`` (``_`` where it was not) altogether.

    >>> upos_confidence(np.array([0.5, 0.25], np.float32), ["NOUN", "_"])
    ['UposProb=1.000', 'UposProb=0.250']
    """
    if kept is not None:
        probabilities = np.where(np.array(kept, object) == "_", probabilities, np.float32(1))
    return [f"UposProb={p:.3f}" for p in probabilities]


def column_number(name: str) -> int:
    """The place of a column, from 0; an unknown name is an error that lists the known ones."""
    if name not in COLUMNS:
        raise InputError(f"column: found {name!r}, expected one of {', '.join(COLUMNS)}")
    return COLUMNS.index(name)


def field_bytes(value: str, column: str) -> bytes:
    """A value as it stands in a file, refused if it would break the row."""
    if "\t" in value or "\n" in value or "\r" in value:
        raise InputError(f"{column}: found a tab or line break in {value!r}, expected text for one column")
    return value.encode("utf-8", "replace") or b"_"


def comment_bytes(comments: Mapping[str, str], newline: str) -> bytes:
    """``# key = value`` lines, refused if one would be more than a line."""
    for text in (*comments, *comments.values()):
        if "\n" in text or "\r" in text:
            raise InputError(f"comments: found a line break in {text!r}, expected one line")
    return "".join(f"# {key} = {value}{newline}" for key, value in comments.items()).encode()
