"""Load a teacher for distillation, and read the text that it labels for the student."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from arcwise.distillation import Distillation, DistillationConfig
from arcwise.errors import OptionError
from arcwise.learning.options import declared
from arcwise.models.registry import model_path, open_model, trainable, trainable_kind
from arcwise.parsing.parser import TAGS, Parser
from arcwise.pipeline.parse_input import format_of
from arcwise.pipeline.pipeline import as_pipeline, tree_parser
from arcwise.text.tagger import Tagger
from arcwise.text.text_stream import stream_text
from arcwise.text.tokenizer import Tokenizer
from arcwise.treebanks import Treebank
from arcwise.treebanks.files import PathLike, open_input


def open_teacher(path: PathLike) -> Distillation:
    """Open the parser of a model file (of a pipeline, its parser) as a teacher, without text."""
    model = open_model(path)
    parser = tree_parser(model)
    return Distillation(parser, name=Path(model_path(path)).name, retrain=_retrain(parser))


def load_distillation(
    teacher: PathLike,
    texts: Sequence[PathLike] = (),
    *,
    config: DistillationConfig = DistillationConfig(),
    student: tuple[Tokenizer, Tagger] | None = None,
    threads: int = 1,
) -> Distillation:
    """Open a teacher and read the ``texts`` that it labels in addition to the treebank.

    A text is CoNLL-U, tokenized and tagged like the treebank. If the teacher is a pipeline, it can also be
    raw text: the pipeline tokenizes it and adds missing tags. ``student``: the tokenizer and the tagger of a
    pipeline that is being trained, which then process the text instead.
    """
    pipeline = as_pipeline(open_model(teacher))
    readers = student or ((pipeline.tokenizer, pipeline.tagger) if pipeline is not None else (None, None))
    keep = student is None
    pieces = [piece for path in texts for piece in read_text(path, *readers, keep=keep, threads=threads)]
    source = ", ".join(map(str, texts)) if len(texts) < 3 else f"{len(texts)} files"
    text = Treebank(b"".join(piece.data for piece in pieces), source=source) if texts else None
    return replace(open_teacher(teacher), text=text, config=config)


def read_text(
    path: PathLike, tokenizer: Tokenizer | None, tagger: Tagger | None, *, keep: bool, threads: int
) -> list[Treebank]:
    """Read the sentences of a file, tokenized and tagged by the tokenizer and the tagger, if any."""
    if format_of(path) == "conllu":
        pieces = [Treebank.read(path)]
    elif tokenizer is None:
        raise OptionError(
            "text",
            f"found raw text in {path}, but the teacher is not a pipeline; "
            "expected tokenized and tagged CoNLL-U, or a teacher trained by 'arcwise train --pipeline'",
        )
    else:
        with open_input(path) as stream:
            pieces = list(stream_text(tokenizer, stream, source=str(path)))
    if tagger is None:
        return pieces
    tagged = [tagger.tag(piece, keep=list(TAGS if keep else ()), threads=threads) for piece in pieces]
    return tagged if keep else [tagger.look_alikes.view(piece) for piece in tagged]


def _retrain(parser: Parser) -> Callable[[Treebank], Parser] | None:
    """A function that trains such a parser, with its options, on another treebank; None if there is none."""
    config = parser.info.get("config")
    if parser.kind not in trainable() or config is None:
        return None
    changes = {"patience": 0, "try_C": (), "epochs": parser.info.get("epoch") or config.epochs}
    config = replace(config, **{name: v for name, v in changes.items() if name in declared(type(config))})

    def retrain(treebank: Treebank) -> Parser:
        trained: Any = trainable_kind(parser.kind)[0].train(treebank, None, config=config)
        if trained.info.get("interrupted"):
            raise KeyboardInterrupt
        fitted = getattr(parser, "fitted", None)
        if fitted is not None:
            trained = trained.with_temperatures(fitted.heads, fitted.labels, fitted.smoothing)
        return trained  # type: ignore[no-any-return]

    return retrain
