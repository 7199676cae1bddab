"""Records: pieces of input that are parsed independently, and that fail independently.

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
"""Bytes of CoNLL-U parsed at a time."""
_ROW_BATCH = 1024
"""Rows of Parquet read at a time."""


@dataclass(frozen=True)
class TextRecord:
    """A text to parse."""

    line: int
    """Line of the file, from 1; for Parquet the row."""
    text: str
    id: str | None = None


@dataclass(frozen=True)
class TreebankRecord:
    """Sentences of CoNLL-U to parse."""

    line: int
    treebank: Treebank

    def sentences(self) -> Iterator[TreebankRecord]:
        """Yield each sentence as a record."""
        line = self.line
        for sentence in self.treebank:
            single = Treebank(sentence.source_bytes, source=self.treebank.source, first_line=line)
            yield TreebankRecord(line, single)
            line += sentence.source_bytes.count(b"\n")


@dataclass(frozen=True)
class BrokenRecord:
    """A record that cannot be parsed, with the reason."""

    line: int
    reason: str


Record = TextRecord | TreebankRecord | BrokenRecord


def one_by_one(records: Iterable[Record]) -> Iterator[Record]:
    """Split records of CoNLL-U into single sentences."""
    for record in records:
        yield from record.sentences() if isinstance(record, TreebankRecord) else [record]


def records_in(data: bytes, format: InputFormat, *, first_line: int, fields: TextFields) -> Iterator[Record]:
    """The records of a piece of a file, without blank ones.

    >>> list(records_in(b'{"text": "Hi."}\\n{"title": "?"}', "jsonl", first_line=1, fields=TextFields()))
    [TextRecord(line=1, text='Hi.', id=None), BrokenRecord(line=2, reason="no field 'text' (fields: title)")]
    """
    if format == "conllu":
        return _conllu_records(data, first_line)
    return _jsonl_records(data, first_line, fields) if format == "jsonl" else _text_records(data, first_line)


def records_of_rows(texts: Sequence[Any], ids: Sequence[Any] | None, *, first_row: int) -> Iterator[Record]:
    """The records of Parquet rows."""
    for number, text in enumerate(texts):
        yield _text_record(first_row + number, text, None if ids is None else ids[number], "the text")


def _text_records(data: bytes, first_line: int) -> Iterator[Record]:
    """Paragraphs, separated by blank lines."""
    line, at = first_line, 0
    for paragraph in _paragraphs(data):
        line += data.count(b"\n", at, paragraph.start)
        at = paragraph.start
        try:
            yield TextRecord(
                line, data[paragraph].decode("utf-8").removeprefix("\ufeff").replace("\x00", "\ufffd")
            )
        except UnicodeDecodeError as error:
            yield BrokenRecord(line, _not_utf8(error))


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
    end = _PARAGRAPH_END.search(data, at)
    return end.end() if end else len(data)


def _jsonl_records(data: bytes, first_line: int, fields: TextFields) -> Iterator[Record]:
    for number, line in enumerate(data.split(b"\n")):
        if line.strip():
            yield _json_record(first_line + number, line, fields)


def _json_record(line: int, data: bytes, fields: TextFields) -> Record:
    try:
        value = json.loads(data.decode("utf-8").removeprefix("\ufeff"))
    except UnicodeDecodeError as error:
        return BrokenRecord(line, _not_utf8(error))
    except (ValueError, RecursionError) as error:
        # RecursionError: JSON nested a thousand levels deep.
        return BrokenRecord(line, f"is not valid JSON ({error})")
    if not isinstance(value, dict):
        return BrokenRecord(line, f"is {_json_kind(value)}, not a JSON object")
    if fields.text not in value:
        names = ", ".join(list(value)[:5]) or "none"
        return BrokenRecord(line, f"no field {fields.text!r} (fields: {names})")
    return _text_record(
        line, value[fields.text], value.get(fields.id) if fields.id else None, f"field {fields.text!r}"
    )


def _text_record(line: int, text: object, name: object, field: str) -> Record:
    if not isinstance(text, str):
        return BrokenRecord(line, f"{field} is {_json_kind(text)}, not a string")
    if name is not None and not isinstance(name, (str, int)):
        return BrokenRecord(line, f"the document name is {_json_kind(name)}, not a string or a number")
    # JSON may escape lone surrogates, which UTF-8 cannot encode.
    clean = text.encode("utf-8", "replace").decode().replace("\x00", "\ufffd")
    return TextRecord(line, clean, None if name is None else str(name))


def _json_kind(value: object) -> str:
    kinds = {dict: "an object", list: "a list", str: "a string", bool: "true or false", type(None): "null"}
    return kinds.get(type(value), "a number" if isinstance(value, (int, float)) else type(value).__name__)


def _not_utf8(error: UnicodeDecodeError) -> str:
    return f"found byte 0x{error.object[error.start]:02x} at offset {error.start}, expected UTF-8"


def _conllu_records(data: bytes, first_line: int) -> Iterator[Record]:
    """Batches of sentences; a batch with a broken sentence is split into single sentences."""
    line = first_line
    while data:
        cut = native.treebank_last_boundary(data[:_CONLLU_BATCH]) if len(data) > _CONLLU_BATCH else len(data)
        cut = cut or _paragraph_end(data, _CONLLU_BATCH)  # a single sentence longer than a batch
        batch = Treebank(data[:cut], strict=False, first_line=line)
        if batch.layout.problems:
            yield from _sentence_records(data[:cut], line)
        elif len(batch):
            yield TreebankRecord(line, batch)
        line += data.count(b"\n", 0, cut)
        data = data[cut:]


def _sentence_records(data: bytes, first_line: int) -> Iterator[Record]:
    line, at = first_line, 0
    for paragraph in _paragraphs(data):
        line += data.count(b"\n", at, paragraph.start)
        at = paragraph.start
        treebank = Treebank(data[paragraph], strict=False, first_line=line)
        if problems := treebank.first_problems(1):
            yield BrokenRecord(problems[0].line, problems[0].message)
        elif len(treebank):
            yield TreebankRecord(line, treebank)


def row_batches(
    path: str, text: str, name: str | None, *, first_row: int = 0
) -> Iterator[tuple[list[Any], list[Any] | None]]:
    """Yield the texts and names of Parquet rows from ``first_row`` (0-based) on, in batches.

    Row groups before ``first_row`` are not read.
    """
    require("pyarrow")
    import pyarrow
    import pyarrow.parquet as parquet

    columns = [text, *([name] if name is not None else [])]
    try:
        with parquet.ParquetFile(path) as file:
            for column in columns:
                if column not in file.schema_arrow.names:
                    names = ", ".join(file.schema_arrow.names)
                    raise InputError(f"{path}: no column {column!r} (columns: {names})")
            groups, skipped = _groups_from(file, first_row)
            for batch in file.iter_batches(_ROW_BATCH, row_groups=groups, columns=columns):
                rows = batch.slice(min(skipped, batch.num_rows))
                skipped -= batch.num_rows - rows.num_rows
                if rows.num_rows:
                    row_names = None if name is None else rows.column(name).to_pylist()
                    yield rows.column(text).to_pylist(), row_names
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error
    except (pyarrow.ArrowException, UnicodeDecodeError) as error:
        raise InputError(f"{path}: is not a valid Parquet file ({error})") from error


def _groups_from(file: Any, first_row: int) -> tuple[list[int], int]:
    """The row groups from ``first_row`` on, and how many rows of the first one to skip."""
    before = 0
    for group in range(file.num_row_groups):
        rows = file.metadata.row_group(group).num_rows
        if before + rows > first_row:
            return list(range(group, file.num_row_groups)), first_row - before
        before += rows
    return [], 0
