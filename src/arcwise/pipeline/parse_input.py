"""Parsing whatever a user gives: raw text or CoNLL-U, from a string, a file, standard input or a folder."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from arcwise.errors import InputError, OptionError
from arcwise.parsing.parser import ParseOptions, Parser
from arcwise.parsing.parses import Analysis
from arcwise.pipeline.pipeline import Pipeline
from arcwise.text.text_stream import Errors
from arcwise.treebanks import stream
from arcwise.treebanks.files import PathLike, open_input, refuse_other_encoding

Format = Literal["auto", "text", "conllu"]
FORMATS: tuple[Format, ...] = ("auto", "text", "conllu")

_HEAD = 1 << 12
_NAMED_CONLLU = re.compile(r"\.(conllu|conllx|conll)(\.gz|\.xz|\.zst)?$")
_CONLLU = re.compile(rb"^(# *(sent_id|text|newdoc|newpar|global\.columns)\b|1(-\d+)?\t[^\t\n]+\t)")


@dataclass(frozen=True)
class Reading:
    """How input is read: its format, and what happens to text that is no UTF-8."""

    format: Format = "auto"
    errors: Errors = "strict"


def parse_text(parser: Parser, text: str, *, options: ParseOptions, threads: int) -> Iterator[Analysis]:
    """The trees of a text given as a string."""
    data = io.BytesIO(text.encode("utf-8", "replace"))
    yield from _pipeline(parser, "text").analyses(data, options=options, threads=threads)


def parse_file(
    parser: Parser, path: PathLike, reading: Reading, *, options: ParseOptions, threads: int
) -> Iterator[Analysis]:
    """The trees of a file (or of standard input, ``-``), some sentences at a time, in bounded memory; and what there is to say of
    single sentences."""
    if format_of(path, reading.format) == "conllu":
        first = 0
        for batch in stream(path):
            found = parser.analyse(batch, options=options, threads=threads)
            yield found.numbered_from(first)
            first += len(batch)
        return
    pipeline = _pipeline(parser, str(path))
    with open_input(path) as source:
        yield from pipeline.analyses(
            source, source=str(path), errors=reading.errors, options=options, threads=threads
        )


def files_in(folder: PathLike) -> list[Path]:
    """The files of a folder and those below it, in order of name; hidden ones are left out."""
    found = [p for p in sorted(Path(folder).rglob("*")) if p.is_file() and not p.name.startswith(".")]
    if not found:
        raise InputError(f"{folder}: found no file in the folder")
    return found


def _pipeline(parser: Parser, where: str) -> Pipeline:
    if not isinstance(parser, Pipeline):
        raise OptionError(
            where,
            f"found raw text, but the model is a {parser.kind} parser, which needs CoNLL-U; "
            "expected a model of 'arcwise train --pipeline'",
        )
    return parser


def format_of(path: PathLike, asked: Format = "auto") -> Format:
    """The format of a file: the one asked for, or else CoNLL-U if it is named or begins so."""
    if asked != "auto":
        return asked
    if _NAMED_CONLLU.search(str(path)):  # a broken one is then told, not parsed as text
        return "conllu"
    with open_input(path) as source:
        if str(path) != "-":
            head = source.read(_HEAD)
        else:  # it can be read only once
            head = source.peek(_HEAD) if isinstance(source, io.BufferedReader) else b""
    refuse_other_encoding(head[:4], path)
    return "conllu" if _CONLLU.match(head.removeprefix(b"\xef\xbb\xbf").lstrip()) else "text"
