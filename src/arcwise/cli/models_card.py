"""``arcwise models card``: the card of a model."""

from __future__ import annotations

import typer

from arcwise.cli._support.files import Files

FILES = Files(may_read=("model", "treebank"), writes=("output",))


def run(
    model: str = typer.Argument(..., help="Name of a model, or model file of a pipeline."),
    treebank: str | None = typer.Option(
        None,
        help="Folder of a treebank: score the model on its dev and test parts instead of repeating the "
        "scores in the model file, and measure its calibration.",
        metavar="FOLDER",
    ),
    output: str = typer.Option("-", "--output", "-o", help="Output file (- for standard output)."),
    threads: int = typer.Option(1, help="Number of threads; the scores do not depend on it."),
) -> None:
    """Print the card of a model: Markdown with the YAML front matter that model hubs read.

    The card states the model's training data, its licence, and its accuracy from raw text.
    """
    from arcwise.models.model_card import model_card
    from arcwise.models.treebank_folder import TreebankFolder
    from arcwise.treebanks.files import open_output

    parts = None
    if treebank is not None:
        folder = TreebankFolder.find(treebank, ("test",))
        parts = {part: folder.read(part) for part in ("dev", "test") if part in folder.files}
    card = model_card(model, parts, threads=threads)
    with open_output(output) as out:
        out.write(card.markdown().encode())
