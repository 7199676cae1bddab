"""``arcwise calibrate``: do a parser's confidences mean what they say?"""

from __future__ import annotations

from typing import Annotated

import typer


def run(
    treebank: Annotated[str, typer.Argument(help="Treebank with the right trees, not used in training.")],
    model: Annotated[str, typer.Option("--model", help="Model file of 'arcwise train'.")],
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="Write the model with the fitted temperature here.")
    ] = None,
    bins: Annotated[int, typer.Option(min=1, max=100, help="Rows of the reliability plot.")] = 10,
    plot: Annotated[
        str | None, typer.Option(help="Also draw the plot into this file (.svg, .png, .pdf).")
    ] = None,
    threads: Annotated[int, typer.Option(min=1, help="Threads.")] = 1,
) -> None:
    """Compare the probabilities of heads with how often they are right, and fit the temperature that makes them agree.

    In each row '│' marks the probability said, the bar how many were right. With --output the temperature is stored in a
    copy of the model, in which 'arcwise parse --confidence' then uses it.
    """
    from arcwise.graph import GraphParser
    from arcwise.graph.calibrate import fit_temperature, reliability
    from arcwise.treebanks import Treebank
    from arcwise.treebanks.files import check_folder
    from arcwise.visual.plots import plot_format, plot_reliability, save

    for path in (output, plot):
        if path is not None:
            check_folder(path)
    if plot is not None:
        plot_format(plot)
    parser, gold = GraphParser.load(model), Treebank.read(treebank)
    fitted = fit_temperature(parser, gold, threads=threads)
    for title, chosen in (("as the model is", parser), ("fitted", fitted)):
        found = reliability(chosen, gold, bins=bins, threads=threads)
        typer.echo(
            f"{title}: temperature {chosen.model.temperature:.4g}, mean -log P(gold head) {found.loss:.4f}"
        )
        typer.echo(str(found.calibration) + "\n")
    if plot is not None:
        save(plot_reliability(found.calibration), plot)
    if output is not None:
        fitted.save(output, precision=parser.model.report.get("precision", "float32"))
        typer.echo(f"model written to {output}")
