"""``arcwise calibrate``: how well a parser's confidences are calibrated, and a better calibration."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import typer

from arcwise.cli._support.files import Files
from arcwise.cli._support.output import echo

if TYPE_CHECKING:
    from arcwise.treebanks import Treebank

FILES = Files(reads=("treebank",), may_read=("model",), writes=("output",), plots=("plot",))


def _with_report(parser: Any, gold: Treebank, error: float) -> Any:
    """The parser, with the calibration data recorded in its model."""
    from arcwise.learning.folds import data_name

    if not hasattr(parser, "model"):
        return parser
    report = {
        **parser.model.report,
        "calibration": {"on": data_name(gold), "error": round(error, 4), "doubts": []},
    }
    return type(parser)(replace(parser.model, report=report))


def run(
    treebank: str = typer.Argument(..., help="Treebank with gold trees, not used in training."),
    model: str = typer.Option(..., help="Model file from 'arcwise train', or en."),
    output: str | None = typer.Option(None, "--output", "-o", help="Write the calibrated model here."),
    bins: int = typer.Option(10, min=1, max=100, help="Bins of the reliability diagram."),
    plot: str | None = typer.Option(None, help="Also plot the diagram to this file (.svg, .png, .pdf)."),
    threads: int = typer.Option(1, min=1, help="Number of threads."),
) -> None:
    """Compare the probabilities of heads and labels with their accuracy, and fit the temperatures and the
    smoothing that calibrate them.

    There are two reliability diagrams: for heads (HeadProb) and for heads with labels (DeprelProb). In each
    row '│' marks the mean probability, the bar the accuracy. The last line says how many errors you find by
    checking the least confident words. With --output the fitted values are stored in a copy of the model, for
    'arcwise parse
    --confidence'. A pipeline tags the words of the treebank itself, as it does for text.
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
    for title, candidate in (("as the model is", parser), ("fitted", fitted)):
        result = reliability(candidate, gold, bins=bins, threads=threads)
        temperatures = candidate.fitted
        echo(
            f"{title}: temperature {temperatures.heads:.4g}, smoothing {temperatures.smoothing:.4g}, mean "
            f"-log P(gold head) {result.head_loss:.4f}"
        )
        echo(f"{result.heads}\n")
        if result.labels is not None:
            echo(
                f"{title}, head and label: temperature {temperatures.labels:.4g}, mean -log P(gold label) "
                f"{result.label_loss:.4f}"
            )
            echo(f"{result.labels}\n")
    if plot is not None:
        save(plot_reliability(result.heads), plot)
    if output is not None:
        fitted = _with_report(fitted, gold, result.heads.error)
        if pipeline is not None:
            Pipeline(pipeline.tokenizer, pipeline.tagger, fitted, card=pipeline.card).save(output)
        else:
            fitted.save(output, precision=parser.info.get("precision", "float32"))
        echo(f"model written to {output}")
