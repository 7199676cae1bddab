"""The columns of CoNLL files, and the coding and writing of their values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.errors import InputError

COLUMNS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
"""The columns of CoNLL-U.

CoNLL-X calls four of them CPOSTAG (upos), POSTAG (xpos), PHEAD (deps), PDEPREL (misc).
"""


class FieldStrings(tuple[str, ...]):
    """Strings that occur in many treebanks, such as the tags of a model; encoded once."""

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (tuple(self),)  # without the native table, which does not pickle

    @cached_property
    def table(self) -> native.StringTable:
        """The strings as written in a file."""
        return native.StringTable([field_bytes(value, "column") for value in self])


@lru_cache(maxsize=64)
def field_strings(values: tuple[str, ...]) -> FieldStrings:
    """Return the strings of a model's alphabet, encoded once for all its columns."""
    return FieldStrings(values)


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


ColumnValues: TypeAlias = Sequence[str] | Coded | native.StringColumn
"""A column: one string per word, in Python or in native code."""


def string_column(values: ColumnValues, name: str) -> native.StringColumn:
    """Encode a column for a file; ``InputError`` if a value would break the row."""
    if isinstance(values, native.StringColumn):
        return values
    coded = values if isinstance(values, Coded) else Coded.of(values)
    if isinstance(coded.strings, FieldStrings):
        table = coded.strings.table
    else:
        table = native.StringTable([field_bytes(value, name) for value in coded.strings])
    return native.StringColumn(np.ascontiguousarray(coded.codes, np.int32), table)


def misc_pairs(values: ColumnValues) -> native.StringColumn:
    """Encode ``Key=Value|…`` of each word; "" adds nothing."""
    if isinstance(values, native.StringColumn):
        return values
    coded = values if isinstance(values, Coded) else Coded.of(values)
    if not isinstance(coded.strings, FieldStrings) and "" in coded.strings:
        # The native code reads -1 as "no change"; an empty update must not get a code.
        unchanged = [code for code, text in enumerate(coded.strings) if not text]
        coded = Coded(np.where(np.isin(coded.codes, unchanged), np.int32(-1), coded.codes), coded.strings)
    return string_column(coded, "misc")


def fill_blanks(column: Sequence[str], values: ColumnValues) -> list[str]:
    """Fill ``_`` in ``column`` with ``values``.

    >>> fill_blanks(["a", "_"], ["b", "c"])
    ['a', 'c']
    """
    predicted = string_column(values, "column").words()
    return [new if old == "_" else old for old, new in zip(column, predicted, strict=True)]


@lru_cache(maxsize=8)
def _probability_pairs(key: str, decimals: int) -> FieldStrings:
    return FieldStrings(f"{key}={i / 10**decimals:.{decimals}f}" for i in range(10**decimals + 1))


def probability_pairs(key: str, probabilities: npt.NDArray[np.floating[Any]], decimals: int) -> Coded:
    """Format a probability of each word for MISC, rounded as by ``f"{p:.4f}"``.

    >>> coded = probability_pairs("HeadProb", np.array([0.5, 0.99996]), 4)
    >>> [coded.strings[code] for code in coded.codes]
    ['HeadProb=0.5000', 'HeadProb=1.0000']
    """
    largest = 10**decimals
    scaled = probabilities.astype(np.float64) * largest
    codes = np.rint(scaled)
    if probabilities.dtype != np.float32:
        # The product of a 24-bit and a 14-bit number is exact in float64; that of a float64 may become a tie.
        for word in np.flatnonzero(np.abs(scaled - codes) > 0.5 - 1e-6):
            codes[word] = np.rint(float(f"{probabilities[word]:.{decimals}f}") * largest)
    return Coded(np.clip(codes, 0, largest).astype(np.int32), _probability_pairs(key, decimals))


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
    return probability_pairs("UposProb", probabilities, 3)


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
