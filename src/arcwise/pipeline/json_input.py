"""JSON lines: parse the text or the sentences of each line in batches; other fields are passed through."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from arcwise.errors import ArcwiseError, InputError
from arcwise.parsing.parser import ParseOptions, Parser
from arcwise.pipeline.pipeline import as_pipeline
from arcwise.pipeline.pretokenized import decoded, line_batches
from arcwise.pipeline.text_batches import checked_text, parse_together
from arcwise.pipeline.text_fields import TextFields
from arcwise.text.text_stream import Errors
from arcwise.treebanks import Treebank
from arcwise.treebanks.streaming import Readable


@dataclass(frozen=True)
class ParsedLine:
    """The result for one line."""

    line: int
    values: Mapping[str, Any]
    """The object of the line; empty if it is not a valid object."""
    treebank: Treebank | None = None
    """The parsed sentences."""
    error: str = ""
    """Why the line could not be parsed."""
    name: str | None = None
    """Name of the document, if it has one."""

    @property
    def is_cut(self) -> bool:
        """Whether the line has sentences or words instead of text."""
        return "sentences" in self.values or "words" in self.values

    def to_json(self) -> dict[str, Any]:
        """Return the object extended by the parsed document, or by ``error``."""
        if self.treebank is None:
            return {**self.values, "error": self.error}
        if "words" in self.values and "sentences" not in self.values:
            if len(self.treebank) == 1:  # a line with one sentence stays one
                return {**self.values, **self.treebank[0].to_json()}
            others = {name: value for name, value in self.values.items() if name != "words"}
            return {**others, **self.treebank.to_json()}
        return {**self.values, **self.treebank.to_json()}


def stream_json(
    parser: Parser,
    stream: Readable,
    *,
    source: str = "<json>",
    errors: Errors = "strict",
    fields: TextFields = TextFields(),
    options: ParseOptions = ParseOptions(),
    threads: int = 1,
) -> Iterator[list[ParsedLine]]:
    """Parse the lines of a stream, one batch per ``read``. Blank lines are skipped.

    An object with ``sentences`` or ``words`` is tokenized already (docs/reference/json.md); otherwise its
    text is parsed.
    """
    number = 0
    for batch in line_batches(stream):
        read: list[ParsedLine] = []
        for line in batch:
            number += 1
            if line.strip():
                read.append(_read(line, number, source, errors, fields))
        yield _parsed(parser, read, fields, options, threads)


def _read(line: bytes, number: int, source: str, errors: Errors, fields: TextFields) -> ParsedLine:
    """Read a line: with its treebank if it is tokenized, with an error if it is invalid."""
    values: Any = {}
    try:
        values = json.loads(decoded(line, number, source, errors))
        if not isinstance(values, dict):
            values, kind = {}, type(values).__name__
            raise InputError(f"{source}:{number}: found {kind}, expected an object")
        if "sentences" in values or "words" in values:
            return ParsedLine(number, values, Treebank.from_json(values, source=source))
        if fields.text not in values:
            raise InputError(f"found none of {fields.text!r}, 'sentences' and 'words', expected one")
        checked_text(values[fields.text], fields.text)
    except ValueError as error:
        return ParsedLine(number, values, error=f"{source}:{number}: is not valid JSON ({error})")
    except RecursionError:
        return ParsedLine(number, {}, error=f"{source}:{number}: is not valid JSON (too many brackets)")
    except ArcwiseError as error:
        message = str(error)
        place = f"{source}:{number}: "
        return ParsedLine(number, values, error=message if message.startswith(place) else f"{place}{message}")
    return ParsedLine(number, values)


def _parsed(
    parser: Parser, lines: Sequence[ParsedLine], fields: TextFields, options: ParseOptions, threads: int
) -> list[ParsedLine]:
    texts = [line for line in lines if line.treebank is None and not line.error]
    trees: dict[int, Treebank] = {}
    if texts:
        pipeline = as_pipeline(parser)
        if pipeline is None:
            raise InputError(
                f"line {texts[0].line}: found text, but the model is a {parser.kind} parser, "
                "expected one of 'arcwise train --pipeline'"
            )
        documents = pipeline.analyse_texts(
            [line.values[fields.text] for line in texts], options=options, threads=threads
        )
        for line, document in zip(texts, documents, strict=True):
            trees[line.line] = document.treebank
    tokenized = [line for line in lines if line.treebank is not None and len(line.treebank)]
    parsed = _trees(parser, tokenized, options, threads)
    trees |= {line.line: treebank for line, treebank in zip(tokenized, parsed, strict=True)}
    results: list[ParsedLine] = []
    for line in lines:
        name = None if fields.id is None else line.values.get(fields.id)
        treebank = trees.get(line.line, line.treebank)
        results.append(replace(line, treebank=treebank, name=None if name is None else str(name)))
    return results


def _trees(
    parser: Parser, tokenized: Sequence[ParsedLine], options: ParseOptions, threads: int
) -> list[Treebank]:
    """Parse tokenized documents in one call; k-best parses, several sentences each, one by one."""
    treebanks = [line.treebank for line in tokenized if line.treebank is not None]
    if options.k_best > 1 or len(treebanks) < 2:
        return [parser.parse(treebank, options=options, threads=threads) for treebank in treebanks]
    analyses = parse_together(
        treebanks,
        lambda joined: parser.analyse(joined, options=options, threads=threads),
        source=treebanks[0].source,
    )
    return [analysis.treebank for analysis in analyses]
