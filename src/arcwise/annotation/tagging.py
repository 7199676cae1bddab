"""Tags that a model proposes where a sentence has none; those that it has stay."""

from __future__ import annotations

from collections.abc import Mapping

from arcwise.neural import NeuralParser
from arcwise.parsing.parser import TAGS, ParseOptions, Parser
from arcwise.pipeline.pipeline import Pipeline
from arcwise.treebanks import Treebank

_KEEP = ParseOptions(keep=TAGS, confidence=True)


def seen_by_parser(model: Parser, treebank: Treebank) -> Treebank:
    """The treebank as the parser of a model sees it: a pipeline tags first what has no tags."""
    if isinstance(model, Pipeline):
        return model.tagger.tag(treebank, keep=TAGS, confidence=True)
    return treebank


def proposed_tags(
    model: Parser, treebank: Treebank, seen: Treebank
) -> tuple[tuple[Mapping[str, str], ...], tuple[float | None, ...]]:
    """Of each word what the model would write into the columns in which the treebank has ``_``, and how sure it is of UPOS."""
    parser = model.parser if isinstance(model, Pipeline) else model
    written = seen
    if isinstance(parser, NeuralParser) and parser.model.writes:
        written = parser.parse(seen, options=_KEEP)
    found: list[dict[str, str]] = [{} for _ in range(treebank.word_count)]
    if written is not treebank:
        for column in TAGS:
            pairs = zip(treebank.column(column), written.column(column), strict=True)
            for own, (before, after) in zip(found, pairs, strict=True):
                if before == "_" and after != "_":
                    own[column] = after
    sure = [
        _upos_probability(misc) if "upos" in own else None
        for own, misc in zip(found, written.column("misc"), strict=True)
    ]
    return tuple(found), tuple(sure)


def _upos_probability(misc: str) -> float | None:
    for pair in misc.split("|"):
        key, _, value = pair.partition("=")
        if key == "UposProb":
            return float(value)
    return None
