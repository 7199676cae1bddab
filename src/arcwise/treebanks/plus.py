"""Read CoNLL-U Plus, whose first line ``# global.columns`` names the columns of a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from arcwise.errors import InputError
from arcwise.treebanks.columns import COLUMNS
from arcwise.treebanks.field_values import escaped
from arcwise.treebanks.files import (
    PathLike,
    open_input,
    plus_columns,
    refuse_other_encoding,
)

_STANDARD = {name.upper(): number for number, name in enumerate(COLUMNS)}
_ID, _MISC = _STANDARD["ID"], _STANDARD["MISC"]
_UNSPECIFIED = ("_", "*", "")
"""``*``: no value, where a tool writes ``_`` for a value that is not known yet."""


def read_plus(path: PathLike) -> Iterator[list[Sequence[str]]]:
    """The sentences of a file as comments, (text,), and rows of ten columns.

    A column that is missing is ``_``; the values of other columns go to MISC, as ``NAME=value``.
    """
    with open_input(path) as lines:
        first = next(lines, b"")
        refuse_other_encoding(first[:4], path)
        names = plus_columns(first)
        if names is None:
            raise InputError(f"{path}:1: expected CoNLL-U Plus, with '# global.columns = ID FORM …'")
        if len(set(names)) < len(names) or "FORM" not in names:
            raise InputError(f"{path}:1: global.columns must name FORM, and every column once")
        sentence: list[Sequence[str]] = []
        words = 0
        for number, raw in enumerate(lines, 2):
            try:
                line = raw.decode().rstrip("\r\n")
            except UnicodeDecodeError as error:
                place = f"{path}:{number}: byte 0x{raw[error.start]:02X} is not valid UTF-8"
                raise InputError(place) from error
            if not line:
                if words:
                    yield sentence
                    sentence, words = [], 0
            elif line.startswith("#"):
                sentence.append((line,))
            else:
                words += 1
                sentence.append(_row(path, number, names, line.split("\t"), words))
        if words:
            yield sentence


def _row(path: PathLike, number: int, names: Sequence[str], values: Sequence[str], word: int) -> list[str]:
    if len(values) != len(names):
        message = f"found {len(values)} columns, expected {len(names)} ({', '.join(names)})"
        raise InputError(f"{path}:{number}: {message}")
    row = ["_"] * len(COLUMNS)
    if "ID" not in names:
        row[_ID] = str(word)
    others = []
    for name, value in zip(names, values, strict=True):
        if name in _STANDARD:
            row[_STANDARD[name]] = value or "_"
        elif value not in _UNSPECIFIED:
            others.append(f"{name}={escaped(value)}")
    kept = [] if row[_MISC] == "_" else [row[_MISC]]
    row[_MISC] = "|".join(kept + others) or "_"
    return row
