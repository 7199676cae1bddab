"""JSON lines: a text or a document that is cut already on each line, parsed many at a time; what is said beside it is handed on."""

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
    """What became of one line."""

    line: int
    values: Mapping[str, Any]
    """The object as it was read; empty where the line is none."""
    treebank: Treebank | None = None
    """Its sentences with their trees."""
    error: str = ""
    """Why there are none."""
    name: str | None = None
    """What the document is called, if it says so."""

    @property
    def is_cut(self) -> bool:
        """Whether it came with sentences, or is one."""
        return "sentences" in self.values or "words" in self.values

    def to_json(self) -> dict[str, Any]:
        """The object again, with the document in it; or with ``error``."""
        if self.treebank is None:
            return {**self.values, "error": self.error}
        if "words" in self.values and "sentences" not in self.values:
            if len(self.treebank) == 1:  # it was one sentence, and is one again
                return {**self.values, **self.treebank[0].to_json()}
            beside = {name: value for name, value in self.values.items() if name != "words"}
            return {**beside, **self.treebank.to_json()}
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
    """The lines of a stream, parsed; those that come with one ``read`` together. Blank lines are passed over.

    An object with ``sentences`` or ``words`` is cut already (docs/reference/json.md); of another one the text is parsed, as a document.
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
    """An object: one that is cut already with its treebank, a broken one with what is wrong."""
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
        return ParsedLine(number, values, error=f"{source}:{number}: is no JSON ({error})")
    except RecursionError:
        return ParsedLine(number, {}, error=f"{source}:{number}: is no JSON (too many brackets)")
    except ArcwiseError as error:
        message = str(error)
        place = f"{source}:{number}: "
        return ParsedLine(number, values, error=message if message.startswith(place) else f"{place}{message}")
    return ParsedLine(number, values)


def _parsed(
    parser: Parser, read: Sequence[ParsedLine], fields: TextFields, options: ParseOptions, threads: int
) -> list[ParsedLine]:
    texts = [found for found in read if found.treebank is None and not found.error]
    trees: dict[int, Treebank] = {}
    if texts:
        pipeline = as_pipeline(parser)
        if pipeline is None:
            raise InputError(
                f"line {texts[0].line}: found text, but the model is a {parser.kind} parser, expected one of 'arcwise train --pipeline'"
            )
        documents = pipeline.analyse_texts(
            [found.values[fields.text] for found in texts], options=options, threads=threads
        )
        for found, document in zip(texts, documents, strict=True):
            trees[found.line] = document.treebank
    given = [found for found in read if found.treebank is not None and len(found.treebank)]
    trees |= dict(zip((found.line for found in given), _trees(parser, given, options, threads), strict=True))
    done: list[ParsedLine] = []
    for found in read:
        name = None if fields.id is None else found.values.get(fields.id)
        done.append(
            replace(
                found,
                treebank=trees.get(found.line, found.treebank),
                name=None if name is None else str(name),
            )
        )
    return done


def _trees(
    parser: Parser, given: Sequence[ParsedLine], options: ParseOptions, threads: int
) -> list[Treebank]:
    """The trees of documents that are cut already, in one call; k best trees, which are several sentences each, one by one."""
    treebanks = [found.treebank for found in given if found.treebank is not None]
    if options.k_best > 1 or len(treebanks) < 2:
        return [parser.parse(treebank, options=options, threads=threads) for treebank in treebanks]
    analyses = parse_together(
        treebanks,
        lambda joined: parser.analyse(joined, options=options, threads=threads),
        source=treebanks[0].source,
    )
    return [analysis.treebank for analysis in analyses]
