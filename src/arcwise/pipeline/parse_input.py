"""Parse raw text, lines, tokens, CoNLL-U or JSON lines from a string, a file or standard input."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, TypeAlias

from arcwise.errors import InputError, OptionError
from arcwise.parsing.parser import ParseOptions, Parser
from arcwise.parsing.parses import Analysis, Note
from arcwise.pipeline.json_input import ParsedLine, stream_json
from arcwise.pipeline.pausing_reader import PausingReader
from arcwise.pipeline.pipeline import Pipeline, as_pipeline
from arcwise.pipeline.pretokenized import line_tokenizer, stream_lines, words_to_conllu
from arcwise.pipeline.text_fields import TextFields
from arcwise.text.text_stream import Errors
from arcwise.treebanks import Treebank
from arcwise.treebanks.files import PathLike, open_input, refuse_other_encoding
from arcwise.treebanks.streaming import stream_opened

Format = Literal["auto", "text", "lines", "tokens", "conllu", "json"]
FORMATS: tuple[Format, ...] = ("auto", "text", "lines", "tokens", "conllu", "json")
_HEAD = 1 << 12
_NAMED_CONLLU = re.compile(r"\.(conllu|conllx|conll)(\.gz|\.xz|\.zst)?$")
_NAMED_JSON = re.compile(r"\.(jsonl|ndjson)(\.gz|\.xz|\.zst)?$")
_CONLLU = re.compile(rb"^(# *(sent_id|text|newdoc|newpar|global\.columns)\b|1(-\d+)?\t[^\t\n]+\t)")


@dataclass(frozen=True)
class InputSettings:
    """Settings for reading input."""

    format: Format = "auto"
    errors: Errors = "strict"
    """Handling of invalid UTF-8."""
    immediate: bool = False
    """Parse standard input as it arrives: each sentence, paragraph or line as soon as it is complete."""
    fields: TextFields = field(default_factory=TextFields)
    """Field names of JSON lines."""


@dataclass(frozen=True)
class Piece:
    """A chunk of parsed sentences from a stream."""

    treebank: Treebank
    notes: tuple[Note, ...] = ()
    numbered: bool = True
    """Whether arcwise assigned their ``sent_id``."""


Parsed: TypeAlias = Piece | ParsedLine
"""A chunk of sentences, or a line of JSON."""


def parse_text(parser: Parser, text: str, *, options: ParseOptions, threads: int) -> Iterator[Piece]:
    """Parse a string of raw text."""
    data = io.BytesIO(text.encode("utf-8", "replace"))
    for analysis in _pipeline(parser, "text").analyses(data, options=options, threads=threads):
        yield Piece(analysis.treebank, analysis.notes)


def parse_file(
    parser: Parser, path: PathLike, reading: InputSettings, *, options: ParseOptions, threads: int
) -> Iterator[Parsed]:
    """Parse a file (``-``: standard input) in chunks, in bounded memory, with notes on sentences."""
    with open_input(path) as opened:
        source = PausingReader(opened, immediate=reading.immediate and str(path) == "-")
        file_format = _format(source, path, reading.format)
        if file_format == "json":
            batches = stream_json(
                parser,
                source,
                source=str(path),
                errors=reading.errors,
                fields=reading.fields,
                options=options,
                threads=threads,
            )
            for batch in batches:
                yield from batch
            return
        reading = replace(reading, format=file_format)
        for analysis in _analyses(parser, source, path, reading, options, threads):
            yield Piece(analysis.treebank, analysis.notes, file_format != "conllu")


def _analyses(
    parser: Parser,
    source: PausingReader,
    path: PathLike,
    reading: InputSettings,
    options: ParseOptions,
    threads: int,
) -> Iterator[Analysis]:
    """Parse text, lines, tokens or CoNLL-U."""
    if reading.format == "text":
        yield from _pipeline(parser, str(path)).analyses(
            source,
            source=str(path),
            errors=reading.errors,
            paragraphs=reading.immediate,
            options=options,
            threads=threads,
        )
        return
    first = 0
    for treebank in _sentences(parser, source, path, reading):
        yield parser.analyse(treebank, options=options, threads=threads).numbered_from(first)
        first += len(treebank)


def _sentences(
    parser: Parser, source: PausingReader, path: PathLike, reading: InputSettings
) -> Iterator[Treebank]:
    """Read the sentences of tokenized or sentence-split input."""
    if reading.format == "conllu":
        return stream_opened(source, path)
    cut = (
        words_to_conllu
        if reading.format == "tokens"
        else line_tokenizer(_pipeline(parser, str(path)).tokenizer)
    )
    return stream_lines(source, cut, source=str(path), errors=reading.errors)


def files_in(folder: PathLike) -> list[Path]:
    """List the files in a folder and its subfolders, sorted by name, without hidden files."""
    files = [p for p in sorted(Path(folder).rglob("*")) if p.is_file() and not p.name.startswith(".")]
    if not files:
        raise InputError(f"{folder}: found no file in the folder")
    return files


def _pipeline(parser: Parser, where: str) -> Pipeline:
    pipeline = as_pipeline(parser)
    if pipeline is None:
        raise OptionError(
            where,
            f"found raw text, but the model is a {parser.kind} parser, which needs CoNLL-U; "
            "expected a model of 'arcwise train --pipeline'",
        )
    return pipeline


def format_of(path: PathLike, asked: Format = "auto") -> Format:
    """Return the requested format, or detect it from the file name or the start of the file."""
    with open_input(path) as opened:
        if str(path) == "-":  # it can be read only once
            head = opened.peek(_HEAD) if isinstance(opened, io.BufferedReader) else b""
            return _format(PausingReader(io.BytesIO(head)), path, asked)
        return _format(PausingReader(opened), path, asked)


def _format(source: PausingReader, path: PathLike, asked: Format) -> Format:
    if asked != "auto":
        return asked
    if _NAMED_CONLLU.search(
        str(path)
    ):  # so that a broken file raises an error instead of being parsed as text
        return "conllu"
    if _NAMED_JSON.search(str(path)):
        return "json"
    head = source.peek(_HEAD)
    refuse_other_encoding(head[:4], path)
    return "conllu" if _CONLLU.match(head.removeprefix(b"\xef\xbb\xbf").lstrip()) else "text"
