"""``arcwise models train``: a model from the folder of a treebank, installed by its name."""

from __future__ import annotations

import typer

from arcwise.cli._support.files import Files
from arcwise.cli._support.output import echo
from arcwise.models.registry import trainable

FILES = Files(reads=("config",), may_read=("treebank",), folders=("folder",))


def run(
    name: str = typer.Argument(..., help="Name of the model, such as de.", metavar="NAME"),
    treebank: str = typer.Option(
        ...,
        help="Folder of a treebank, with files such as de_gsd-ud-train.conllu, -dev and -test (.gz, .xz).",
        metavar="FOLDER",
    ),
    language_name: str | None = typer.Option(
        None,
        "--language",
        help="Language, for the card. [default: the code in the names of the files]",
        metavar="TEXT",
    ),
    licence: str | None = typer.Option(
        None, help="Licence of the treebank, for the card. [default: the licence in its README]"
    ),
    parser: str | None = typer.Option(
        None,
        help=f"Kind of parser: {', '.join(trainable())}. [default: graph, or the kind in the TOML file]",
    ),
    config: str | None = typer.Option(
        None, help="TOML file with options of a pipeline. [default: settings for the size of the treebank]"
    ),
    folder: str | None = typer.Option(
        None,
        help="Folder to install it in. [default: the first one of ARCWISE_MODELS, or the user's data folder]",
    ),
    overwrite: bool = typer.Option(False, "--overwrite", help="Replace another model of that name."),
    seed: int | None = typer.Option(None, help="Random seed."),
    threads: int = typer.Option(1, help="Number of threads."),
    quiet: bool = typer.Option(False, "--quiet", help="Show no progress on standard error."),
) -> None:
    """Train a pipeline on a treebank, score it from raw text and install it with its card.

    The treebank needs a training part. Without a dev part, a small treebank is cross-validated. After Ctrl-C
    nothing is installed; 'arcwise train --pipeline' has more options and keeps the best model of an
    interrupted training.
    """
    from arcwise.learning.progress import Progress
    from arcwise.models.train_by_name import NamedTraining, train_by_name

    training = NamedTraining(
        name=name,
        treebank=treebank,
        language=language_name,
        licence=licence,
        folder=folder,
        overwrite=overwrite,
        parser=parser,
        config=config,
        seed=seed,
        threads=threads,
    )
    with Progress(shown=not quiet) as progress:
        path, card = train_by_name(training, progress)
    echo(f"{name}: installed in {path}, its card in {card}")
