"""``arcwise calibrate``: measure and refit the calibration of a parser's confidences."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from arcwise.cli._support.files import Files
from arcwise.cli._support.output import echo

if TYPE_CHECKING:
    from arcwise.evaluation.calibration import Calibration
    from arcwise.parsing import ScoredParser
    from arcwise.pipeline.pipeline import Pipeline
    from arcwise.treebanks import Treebank

FILES = Files(reads=("treebank",), may_read=("model",), writes=("output",), plots=("plot",))


def run(
    treebank: str = typer.Argument(..., help="Treebank with gold trees, not used in training."),
    model: str = typer.Option(..., help="Model file from 'arcwise train', or en."),
    output: str | None = typer.Option(None, "--output", "-o", help="Write the calibrated model here."),
    raw_text: bool = typer.Option(
        False, "--raw-text", help="Fit a pipeline on the raw text of the treebank instead of its gold words."
    ),
    bins: int = typer.Option(10, min=1, max=100, help="Bins of the reliability diagram."),
    plot: str | None = typer.Option(None, help="Also plot the diagram to this file (.svg, .png, .pdf)."),
    threads: int = typer.Option(1, min=1, help="Number of threads."),
) -> None:
    """Compare the probabilities of heads and labels with their accuracy, and fit the temperatures and the
    smoothing that calibrate them.

    Prints two reliability diagrams: for heads (HeadProb) and for heads with labels (DeprelProb). In each row
    '│' marks the mean probability, the bar the accuracy. The last line says how many errors you find by
    checking the least confident words. With --output the fitted values are stored in a copy of the model, for
    'arcwise parse --confidence'. A pipeline predicts the tags of the treebank's words, as it does for text;
    with --raw-text it also predicts words and sentences, and a word that is not in the treebank counts as an
    error.
    """
    from arcwise.errors import ModelError
    from arcwise.learning.folds import data_name
    from arcwise.models import open_model
    from arcwise.models.raw_text import with_calibration_report
    from arcwise.parsing import ScoredParser
    from arcwise.pipeline.pipeline import Pipeline, as_pipeline, tree_parser
    from arcwise.treebanks import Treebank
    from arcwise.visual.plots import plot_reliability, save

    opened, gold = open_model(model), Treebank.read(treebank)
    pipeline, parser = as_pipeline(opened), tree_parser(opened)
    if not isinstance(parser, ScoredParser):
        raise ModelError(f"{model}: found a {parser.kind} parser, expected a graph-based or a neural one")
    if pipeline is None and raw_text:
        raise ModelError(f"{model}: found a parser, expected a pipeline, which --raw-text needs")
    if pipeline is not None and raw_text:
        fitted, heads = _fit_raw_text(pipeline, parser, gold, bins, threads)
    else:
        tagged = gold if pipeline is None else pipeline.tagger.tag(gold, threads=threads)
        fitted, heads = _fit_gold_words(parser, tagged, bins, threads)
        fitted = with_calibration_report(fitted, data_name(gold), heads.error)
    if plot is not None:
        save(plot_reliability(heads), plot)
    if output is not None:
        if pipeline is not None:
            Pipeline(pipeline.tokenizer, pipeline.tagger, fitted, card=pipeline.card).save(output)
        else:
            fitted.save(output, precision=parser.info.get("precision", "float32"))
        echo(f"model written to {output}")


def _fit_gold_words(
    parser: ScoredParser, gold: Treebank, bins: int, threads: int
) -> tuple[ScoredParser, Calibration]:
    """Fit a parser and print the diagrams before and after; returns the diagram of heads too."""
    from arcwise.parsing.calibration import calibrated, reliability

    fitted = calibrated(parser, gold, threads=threads)
    for title, candidate in (("as the model is", parser), ("fitted", fitted)):
        result = reliability(candidate, gold, bins=bins, threads=threads)
        heads = f", mean -log P(gold head) {result.head_loss:.4f}"
        labels = f", mean -log P(gold label) {result.label_loss:.4f}"
        _print(title, candidate, (result.heads, heads), (result.labels, labels))
    return fitted, result.heads


def _fit_raw_text(
    pipeline: Pipeline, parser: ScoredParser, gold: Treebank, bins: int, threads: int
) -> tuple[ScoredParser, Calibration]:
    """The same for the parser of a pipeline that reads the raw text."""
    from arcwise.models.raw_text import calibrate_on_raw_text, raw_text_bins
    from arcwise.parsing import ScoredParser

    calibrated = calibrate_on_raw_text(pipeline, gold, threads=threads)
    fitted = calibrated.parser
    assert isinstance(fitted, ScoredParser)
    for title, candidate, reader in (("as the model is", parser, pipeline), ("fitted", fitted, calibrated)):
        result = raw_text_bins(reader, gold, bins=bins, threads=threads)
        _print(title, candidate, (result["HeadProb"], ""), (result.get("DeprelProb"), ""))
    return fitted, result["HeadProb"]


def _print(
    title: str, parser: ScoredParser, heads: tuple[Calibration, str], labels: tuple[Calibration | None, str]
) -> None:
    """Print temperatures and diagrams."""
    at = parser.fitted
    echo(f"{title}: temperature {at.heads:.4g}, smoothing {at.smoothing:.4g}{heads[1]}\n{heads[0]}\n")
    if labels[0] is not None:
        echo(f"{title}, head and label: temperature {at.labels:.4g}{labels[1]}\n{labels[0]}\n")
