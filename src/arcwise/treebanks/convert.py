"""Convert between CoNLL-U, CoNLL-X and one word per line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, get_args

from arcwise.errors import InputError
from arcwise.treebanks.columns import COLUMNS, column_number
from arcwise.treebanks.files import PathLike, open_input, refuse_other_encoding
from arcwise.treebanks.plus import read_plus
from arcwise.treebanks.rows import row_kind
from arcwise.treebanks.sentence import Sentence
from arcwise.treebanks.streaming import stream

Format = Literal["conllu", "conllx", "words", "conllup"]
FORMATS: tuple[str, ...] = get_args(Format)
"""The formats that can be read; all but CoNLL-U Plus can be written."""


def convert(
    path: PathLike, *, source: Format, target: Format, columns: Sequence[str] = ("form",)
) -> Iterator[bytes]:
    """Convert a file, yielding the bytes of one sentence at a time, in bounded memory.

    The format ``words`` has one word per line, with ``columns`` separated by tabs, and a blank line between
    sentences. Anything that a format cannot express is dropped: CoNLL-X has no comments, multiword tokens or
    empty nodes. The projective heads of CoNLL-X (PHEAD, PDEPREL) become PHead= and PDeprel= in MISC of
    CoNLL-U. CoNLL-U Plus (``conllup``) can be read: columns that CoNLL-U lacks go to MISC.
    """
    numbers = [column_number(name) for name in columns]
    if source == "words":
        rows_of_sentences: Iterable[Rows] = _read_words(path, numbers)
    elif source == "conllup":
        rows_of_sentences = (_from_plus(rows, target) for rows in read_plus(path))
    else:
        rows_of_sentences = (s for batch in stream(path) for s in map(_reader(source, target), batch))
    write = _writer(target, numbers)
    for rows in rows_of_sentences:
        yield write(rows).encode()


Rows = Sequence[Sequence[str]]


def _reader(source: Format, target: Format) -> Callable[[Sentence], Rows]:
    if source == "conllx":
        return lambda sentence: [_from_conllx(row) for row in _words(sentence)]
    if target == "conllu":
        return lambda sentence: [(f"# {line}",) for line in sentence.comment_lines] + list(sentence.rows)
    return _words


def _from_plus(rows: Rows, target: Format) -> Rows:
    return rows if target == "conllu" else [row for row in rows if row_kind(row[0]) == "word"]


def _words(sentence: Sentence) -> Rows:
    return [row for row in sentence.rows if row_kind(row[0]) == "word"]


def _from_conllx(row: Sequence[str]) -> Sequence[str]:
    predicted = [
        f"{key}={value}" for key, value in zip(("PHead", "PDeprel"), row[8:], strict=True) if value != "_"
    ]
    return (*row[:8], "_", "|".join(predicted) or "_")


def _writer(target: Format, columns: Sequence[int]) -> Callable[[Rows], str]:
    if target == "words":
        return lambda rows: _lines([row[c] for c in columns] for row in rows)
    if target == "conllx":
        return lambda rows: _lines([*row[:8], "_", "_"] for row in rows)
    return _lines


def _lines(rows: Iterable[Sequence[str]]) -> str:
    return "".join("\t".join(row) + "\n" for row in rows) + "\n"


def _read_words(path: PathLike, columns: Sequence[int]) -> Iterator[Rows]:
    with open_input(path) as lines:
        rows: list[list[str]] = []
        for number, raw in enumerate(lines, 1):
            if number == 1:
                refuse_other_encoding(raw[:4], path)
            try:
                line = raw.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
            except UnicodeDecodeError as error:
                raise InputError(
                    f"{path}:{number}: byte 0x{raw[error.start]:02X} is not valid UTF-8"
                ) from error
            if line:
                rows.append(_word_row(path, number, line.split("\t"), columns, len(rows) + 1))
            elif rows:
                yield rows
                rows = []
        if rows:
            yield rows


def _word_row(
    path: PathLike, number: int, values: Sequence[str], columns: Sequence[int], word: int
) -> list[str]:
    if len(values) != len(columns):
        names = ", ".join(COLUMNS[c] for c in columns)
        raise InputError(f"{path}:{number}: found {len(values)} columns, expected {len(columns)} ({names})")
    row = [str(word), *["_"] * 9]
    for column, value in zip(columns, values, strict=True):
        row[column] = value or "_"
    return row
