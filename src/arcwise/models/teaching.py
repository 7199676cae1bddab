"""A teacher from its model file, and the text that it teaches on: raw or CoNLL-U, as the student will see it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from arcwise.errors import InputError, OptionError
from arcwise.learning.config import from_dict, read_toml
from arcwise.learning.options import declared
from arcwise.models.registry import KINDS, model_path, open_model
from arcwise.parsing.parser import TAGS, Parser
from arcwise.parsing.teaching import Teaching, TeachingConfig
from arcwise.pipeline.parse_input import format_of
from arcwise.pipeline.pipeline import as_pipeline, tree_parser
from arcwise.text.tagger import Tagger
from arcwise.text.text_stream import stream_text
from arcwise.text.tokenizer import Tokenizer
from arcwise.treebanks import Treebank
from arcwise.treebanks.files import PathLike, open_input

SECTION = "teaching"
"""The section of a TOML file that has the options of a teaching."""


def read_teaching(config: PathLike | None, options: Mapping[str, Any]) -> TeachingConfig:
    """The options of a teaching; ``options`` that are not None win over the section [teaching] of the TOML file."""
    section = {} if config is None else read_toml(config).get(SECTION, {})
    if not isinstance(section, dict):
        raise InputError(f"{config}: {SECTION}: found {section!r}, expected a section [{SECTION}]")
    given = {name: value for name, value in options.items() if value is not None}
    return from_dict(TeachingConfig, section | given, where=str(config or "a teaching"))


def open_teacher(path: PathLike) -> Teaching:
    """A teaching by the parser in a model file, as yet without text; of a pipeline, by its parser."""
    model = open_model(path)
    parser = tree_parser(model)
    return Teaching(parser, name=Path(model_path(path)).name, again=_trained_again(parser))


def teaching_of(
    teacher: PathLike,
    texts: Sequence[PathLike] = (),
    *,
    config: TeachingConfig = TeachingConfig(),
    student: tuple[Tokenizer, Tagger] | None = None,
    threads: int = 1,
) -> Teaching:
    """A teaching by the parser in a model file, on the treebank and on ``texts``.

    A text is CoNLL-U, cut into words and tagged as the treebank is; or anything, if the teacher is a pipeline, which cuts raw text into
    words and puts in the tags that are missing. ``student``: the tokenizer and the tagger of a pipeline that learns; text is then cut and
    tagged by these.
    """
    pipeline = as_pipeline(open_model(teacher))
    if student is not None:
        read = _Reader(*student, keep=False, threads=threads)
    elif pipeline is not None:
        read = _Reader(pipeline.tokenizer, pipeline.tagger, keep=True, threads=threads)
    else:
        read = _Reader(None, None, keep=True, threads=threads)
    found = [piece for path in texts for piece in read(path)]
    source = ", ".join(map(str, texts)) if len(texts) < 3 else f"{len(texts)} files"
    text = Treebank(b"".join(piece.data for piece in found), source=source) if texts else None
    return replace(open_teacher(teacher), text=text, config=config)


class _Reader:
    """Reads texts as a tokenizer and a tagger see them, if there are any."""

    def __init__(
        self, tokenizer: Tokenizer | None, tagger: Tagger | None, *, keep: bool, threads: int
    ) -> None:
        self._tokenizer, self._tagger, self._keep, self._threads = tokenizer, tagger, keep, threads

    def __call__(self, path: PathLike) -> list[Treebank]:
        """The sentences of a file, tagged."""
        if format_of(path) == "conllu":
            pieces = [Treebank.read(path)]
        elif self._tokenizer is None:
            raise OptionError(
                "text",
                f"found raw text in {path}, but the teacher is no pipeline; expected CoNLL-U, cut into words and tagged, or a teacher of "
                "'arcwise train --pipeline'",
            )
        else:
            with open_input(path) as stream:
                pieces = list(stream_text(self._tokenizer, stream, source=str(path)))
        if self._tagger is None:
            return pieces
        kept = TAGS if self._keep else ()
        tagged = [self._tagger.tag(piece, keep=list(kept), threads=self._threads) for piece in pieces]
        return tagged if self._keep else [self._tagger.look_alikes.view(piece) for piece in tagged]


def _trained_again(parser: Parser) -> Callable[[Treebank], Parser] | None:
    """How such a parser is trained on another treebank: with the same options, as long, and with the same temperatures. None: it
    cannot be."""
    kind, config = KINDS.get(parser.kind), parser.info.get("config")
    if kind is None or kind.parser is None or config is None:
        return None
    options = {"patience": 0, "try_C": (), "epochs": parser.info.get("epoch") or config.epochs}
    own = replace(config, **{name: v for name, v in options.items() if name in declared(type(config))})
    makes = kind.parser

    def again(treebank: Treebank) -> Parser:
        found: Any = makes().train(treebank, None, config=own)
        if found.info.get("interrupted"):
            raise KeyboardInterrupt
        kept = getattr(parser, "fitted", None)
        if kept is not None:
            found = found.with_temperatures(kept.heads, kept.labels, kept.smoothing)
        return found  # type: ignore[no-any-return]

    return again
