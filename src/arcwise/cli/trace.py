"""``arcwise trace``: the derivation of a transition-based parser, step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from arcwise.cli._support.files import Files

if TYPE_CHECKING:
    from arcwise.transition.parser import TransitionParser
    from arcwise.treebanks import Treebank

FILES = Files(may_read=("sentence", "model"), writes=("html",))


def run(
    sentence: str = typer.Argument(
        ...,
        help="Words separated by spaces, each with its tag if the model uses tags: 'The/DET cat/NOUN'; "
        "or a CoNLL-U file.",
    ),
    model: str = typer.Option(
        ..., help="Transition-based model: a file, or the name of a model that comes with arcwise."
    ),
    number: int = typer.Option(1, min=1, help="Number of the sentence in the file, from 1."),
    moves: int = typer.Option(8, min=1, help="Number of transitions to show at each step."),
    html: str | None = typer.Option(None, help="Write an interactive HTML page to this file."),
) -> None:
    """Show a derivation step by step: operative tokens (active ones in brackets), remaining input, and
    transitions with scores.

    The parser takes the first transition of each step. The derivation is greedy, whatever the beam size of
    the model.
    """
    from arcwise.errors import InputError
    from arcwise.transition.trace import trace, trace_text
    from arcwise.treebanks import Treebank
    from arcwise.treebanks.files import open_output, path_kind

    is_file = path_kind(sentence) == "file"
    treebank = Treebank.read(sentence) if is_file else _typed(sentence)
    if number > len(treebank):
        raise InputError(
            f"--number: found {number}, expected at most {len(treebank)}, the sentences of {sentence}"
        )
    parser, treebank = _open_model(model, treebank)
    steps = trace(parser, treebank, sentence=number - 1, alternatives=moves)
    if html is None:
        typer.echo(trace_text(steps), nl=False)
        return
    from arcwise.visual.trace_html import trace_html

    with open_output(html) as stream:
        stream.write(trace_html(steps).encode())


def _open_model(model: str, treebank: Treebank) -> tuple[TransitionParser, Treebank]:
    """The transition-based parser of a model, and its input: the treebank, tagged if the model is a
    pipeline."""
    from arcwise.errors import ModelError
    from arcwise.models import open_model
    from arcwise.pipeline.pipeline import as_pipeline, tree_parser
    from arcwise.transition.parser import TransitionParser

    opened = open_model(model)
    pipeline, parser = as_pipeline(opened), tree_parser(opened)
    if pipeline is not None:
        treebank = pipeline.tagger.tag(treebank)
    if not isinstance(parser, TransitionParser):
        raise ModelError(
            f"--model: {model} has a parser of kind {parser.kind!r}, expected a transition-based one "
            "('arcwise train --parser transition'): only these work step by step"
        )
    return parser, treebank


def _typed(text: str) -> Treebank:
    """A treebank of one sentence, given as ``word/TAG word/TAG``."""
    from arcwise.errors import InputError
    from arcwise.treebanks import Sentence, Treebank

    words = text.split()
    if not words:
        raise InputError("sentence: found no word, expected at least one")
    pairs = [word.rpartition("/") if "/" in word.strip("/") else (word, "", "_") for word in words]
    return Treebank.from_sentences(
        [Sentence.from_words([p[0] for p in pairs], upos=[p[2] or "_" for p in pairs])], source="sentence"
    )
