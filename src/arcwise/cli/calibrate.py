"""``arcwise calibrate``: do a parser's confidences mean what they say?"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from arcwise.cli._support.files import Files

if TYPE_CHECKING:
    from arcwise.treebanks import Treebank

FILES = Files(reads=("treebank",), may_read=("model",), writes=("output",), plots=("plot",))


def _told(parser: Any, gold: Treebank, error: float) -> Any:
    """The parser whose model tells on what its confidences were fitted."""
    from arcwise.learning.folds import data_name

    if not hasattr(parser, "model"):
        return parser
    report = {
        **parser.model.report,
        "calibration": {"on": data_name(gold), "error": round(error, 4), "doubts": []},
    }
    return type(parser)(replace(parser.model, report=report))


def run(
    treebank: Annotated[str, typer.Argument(help="Treebank with the right trees, not used in training.")],
    model: Annotated[str, typer.Option("--model", help="Model file of 'arcwise train', or en.")],
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="Write the model with what was fitted here.")
    ] = None,
    bins: Annotated[int, typer.Option(min=1, max=100, help="Rows of the reliability plot.")] = 10,
    plot: Annotated[
        str | None, typer.Option(help="Also draw the plot into this file (.svg, .png, .pdf).")
    ] = None,
    threads: Annotated[int, typer.Option(min=1, help="Threads.")] = 1,
) -> None:
    """Compare the probabilities of heads and labels with how often they are right, and fit the temperatures and the smoothing that make them agree on the whole.

    In each row '│' marks the probability said, the bar how many were right: once for heads (HeadProb), once for heads with their
    labels (DeprelProb). The last line of each tells how many errors one finds who checks the words that the parser is least sure of.
    With --output they are stored in a copy of the model, in which 'arcwise parse --confidence'
    then uses them. A pipeline tags the treebank's words itself, as it does with text.
    """
    from arcwise.errors import ModelError
    from arcwise.models import open_model
    from arcwise.parsing import ScoredParser
    from arcwise.parsing.calibration import calibrated, reliability
    from arcwise.pipeline.pipeline import Pipeline, as_pipeline, tree_parser
    from arcwise.treebanks import Treebank
    from arcwise.visual.plots import plot_reliability, save

    opened, gold = open_model(model), Treebank.read(treebank)
    pipeline, parser = as_pipeline(opened), tree_parser(opened)
    if not isinstance(parser, ScoredParser):
        raise ModelError(f"{model}: found a {parser.kind} parser, expected a graph-based or a neural one")
    if pipeline is not None:
        gold = pipeline.tagger.tag(gold, threads=threads)
    fitted = calibrated(parser, gold, threads=threads)
    for title, chosen in (("as the model is", parser), ("fitted", fitted)):
        found = reliability(chosen, gold, bins=bins, threads=threads)
        at = chosen.fitted
        typer.echo(
            f"{title}: temperature {at.heads:.4g}, smoothing {at.smoothing:.4g}, mean -log P(gold head) {found.head_loss:.4f}"
        )
        typer.echo(f"{found.heads}\n")
        if found.labels is not None:
            typer.echo(
                f"{title}, head and label: temperature {at.labels:.4g}, mean -log P(gold label) {found.label_loss:.4f}"
            )
            typer.echo(f"{found.labels}\n")
    if plot is not None:
        save(plot_reliability(found.heads), plot)
    if output is not None:
        fitted = _told(fitted, gold, found.heads.error)
        if pipeline is not None:
            Pipeline(pipeline.tokenizer, pipeline.tagger, fitted, card=pipeline.card).save(output)
        else:
            fitted.save(output, precision=parser.info.get("precision", "float32"))
        typer.echo(f"model written to {output}")
