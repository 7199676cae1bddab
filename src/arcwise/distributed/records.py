"""Records: the pieces of input that are parsed, each on its own, and that may be broken, each on its own.

A record is a line of JSONL, a paragraph of text, a row of Parquet, or some sentences of CoNLL-U.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from arcwise import native
from arcwise.distributed.inputs import InputFormat
from arcwise.errors import InputError
from arcwise.optional import require
from arcwise.pipeline.text_fields import TextFields
from arcwise.treebanks import Treebank

_BLANK_LINES = re.compile(rb"(?:[ \t\r]*\n)+")
_PARAGRAPH_END = re.compile(rb"\n[ \t\r]*\n")
_CONLLU_BATCH = 1 << 17
"""Bytes of CoNLL-U that are parsed at a time."""


@dataclass(frozen=True)
class TextRecord:
    """A text to parse."""

    line: int
    """Of the file, from 1; of Parquet: the row."""
    text: str
    id: str | None = None


@dataclass(frozen=True)
class TreebankRecord:
    """Sentences of CoNLL-U to parse."""

    line: int
    treebank: Treebank

    def sentences(self) -> Iterator[TreebankRecord]:
        """Each of its sentences as a record of its own."""
        line = self.line
        for sentence in self.treebank:
            one = Treebank(sentence.source_bytes, source=self.treebank.source, first_line=line)
            yield TreebankRecord(line, one)
            line += sentence.source_bytes.count(b"\n")


@dataclass(frozen=True)
class Broken:
    """A record that cannot be parsed, and why."""

    line: int
    reason: str


Record = TextRecord | TreebankRecord | Broken


def one_by_one(records: Iterable[Record]) -> Iterator[Record]:
    """The records, those of CoNLL-U sentence by sentence."""
    for record in records:
        yield from record.sentences() if isinstance(record, TreebankRecord) else [record]


def records_in(data: bytes, format: InputFormat, *, first_line: int, fields: TextFields) -> Iterator[Record]:
    """The records of a piece of a file; what is blank is left out.

    >>> list(records_in(b'{"text": "Hi."}\\n{"title": "?"}', "jsonl", first_line=1, fields=TextFields()))
    [TextRecord(line=1, text='Hi.', id=None), Broken(line=2, reason="found no field 'text', but title")]
    """
    if format == "conllu":
        return _of_conllu(data, first_line)
    return _of_json_lines(data, first_line, fields) if format == "jsonl" else _of_text(data, first_line)


def records_of_rows(texts: Sequence[Any], ids: Sequence[Any] | None, *, first_row: int) -> Iterator[Record]:
    """The records of rows of Parquet."""
    for number, text in enumerate(texts):
        yield _text_record(first_row + number, text, None if ids is None else ids[number], "the text")


# ---- text


def _of_text(data: bytes, first_line: int) -> Iterator[Record]:
    """Paragraphs: what stands between blank lines."""
    line, at = first_line, 0
    for paragraph in _paragraphs(data):
        line += data.count(b"\n", at, paragraph.start)
        at = paragraph.start
        try:
            yield TextRecord(
                line, data[paragraph].decode("utf-8").removeprefix("\ufeff").replace("\x00", "\ufffd")
            )
        except UnicodeDecodeError as error:
            yield Broken(line, _no_utf8(error))


def _paragraphs(data: bytes) -> Iterator[slice]:
    at = 0
    while at < len(data):
        blank = _BLANK_LINES.match(data, at)
        if blank:
            at = blank.end()
        end = _paragraph_end(data, at)
        if data[at:end].strip():
            yield slice(at, end)
        at = end


def _paragraph_end(data: bytes, at: int) -> int:
    found = _PARAGRAPH_END.search(data, at)
    return found.end() if found else len(data)


# ---- JSON lines


def _of_json_lines(data: bytes, first_line: int, fields: TextFields) -> Iterator[Record]:
    for number, line in enumerate(data.split(b"\n")):
        if line.strip():
            yield _of_json(first_line + number, line, fields)


def _of_json(line: int, data: bytes, fields: TextFields) -> Record:
    try:
        found = json.loads(data.decode("utf-8").removeprefix("\ufeff"))
    except UnicodeDecodeError as error:
        return Broken(line, _no_utf8(error))
    except (ValueError, RecursionError) as error:
        return Broken(line, f"is no JSON ({error})")
    if not isinstance(found, dict):
        return Broken(line, f"found {_json_kind(found)}, expected a JSON object")
    if fields.text not in found:
        others = ", ".join(list(found)[:5]) or "nothing"
        return Broken(line, f"found no field {fields.text!r}, but {others}")
    return _text_record(
        line, found[fields.text], found.get(fields.id) if fields.id else None, f"field {fields.text!r}"
    )


def _text_record(line: int, text: object, name: object, where: str) -> Record:
    if not isinstance(text, str):
        return Broken(line, f"{where}: found {_json_kind(text)}, expected a string")
    if name is not None and not isinstance(name, (str, int)):
        return Broken(
            line, f"the name of the document: found {_json_kind(name)}, expected a string or a number"
        )
    clean = text.encode("utf-8", "replace").decode().replace("\x00", "\ufffd")  # lone surrogates
    return TextRecord(line, clean, None if name is None else str(name))


def _json_kind(value: object) -> str:
    kinds = {dict: "an object", list: "a list", str: "a string", bool: "true or false", type(None): "null"}
    return kinds.get(type(value), "a number" if isinstance(value, (int, float)) else type(value).__name__)


def _no_utf8(error: UnicodeDecodeError) -> str:
    return f"found byte 0x{error.object[error.start]:02x} at offset {error.start}, expected UTF-8"


# ---- CoNLL-U


def _of_conllu(data: bytes, first_line: int) -> Iterator[Record]:
    """Sentences in batches; where one of a batch is broken, that batch one by one."""
    line = first_line
    while data:
        cut = native.treebank_last_boundary(data[:_CONLLU_BATCH]) if len(data) > _CONLLU_BATCH else len(data)
        cut = cut or _paragraph_end(data, _CONLLU_BATCH)  # one sentence that is longer
        batch = Treebank(data[:cut], strict=False, first_line=line)
        if batch.layout.problems:
            yield from _sentence_by_sentence(data[:cut], line)
        elif len(batch):
            yield TreebankRecord(line, batch)
        line += data.count(b"\n", 0, cut)
        data = data[cut:]


def _sentence_by_sentence(data: bytes, first_line: int) -> Iterator[Record]:
    line, at = first_line, 0
    for place in _paragraphs(data):
        line += data.count(b"\n", at, place.start)
        at = place.start
        found = Treebank(data[place], strict=False, first_line=line)
        if problems := found.first_problems(1):
            yield Broken(problems[0].line, problems[0].message)
        elif len(found):
            yield TreebankRecord(line, found)


_ROWS = 1024
"""Rows that are read at a time."""

Rows = tuple[list[Any], list[Any] | None]
"""Texts and names of some rows."""


def row_batches(path: str, text: str, name: str | None, *, first_row: int = 0) -> Iterator[Rows]:
    """The texts and the names of the rows from ``first_row`` (from 0) on, some at a time. Groups of rows before it are not read."""
    require("pyarrow")
    import pyarrow
    import pyarrow.parquet as parquet

    columns = [text, *([name] if name is not None else [])]
    try:
        with parquet.ParquetFile(path) as file:
            for column in columns:
                if column not in file.schema_arrow.names:
                    known = ", ".join(file.schema_arrow.names)
                    raise InputError(f"{path}: found no column {column!r}, but {known}")
            groups, skipped = _groups_from(file, first_row)
            for batch in file.iter_batches(_ROWS, row_groups=groups, columns=columns):
                taken = batch.slice(min(skipped, batch.num_rows))
                skipped -= batch.num_rows - taken.num_rows
                if taken.num_rows:
                    names = None if name is None else taken.column(name).to_pylist()
                    yield taken.column(text).to_pylist(), names
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error
    except (pyarrow.ArrowException, UnicodeDecodeError) as error:
        raise InputError(f"{path}: is no intact Parquet file ({error})") from error


def _groups_from(file: Any, first_row: int) -> tuple[list[int], int]:
    """The groups of rows that are needed, and how many rows of the first are not."""
    before = 0
    for group in range(file.num_row_groups):
        rows = file.metadata.row_group(group).num_rows
        if before + rows > first_row:
            return list(range(group, file.num_row_groups)), first_row - before
        before += rows
    return [], 0
