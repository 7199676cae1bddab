"""``arcwise models install``: a model, to be loaded by its name."""

from __future__ import annotations

import typer

from arcwise.cli._support.files import Files
from arcwise.cli._support.output import echo

FILES = Files(folders=("folder",))


def run(
    source: str = typer.Argument(
        ..., help="Known model (in a clone of the repository), file, or http(s) address.", metavar="MODEL"
    ),
    name: str | None = typer.Option(
        None, help="Name to install the model under. [default: the name of the file]"
    ),
    sha256: str | None = typer.Option(
        None, help="Expected SHA-256 hash of the file. Required for an address, unless it ends in #sha256=…."
    ),
    folder: str | None = typer.Option(
        None,
        help="Folder to install it in. [default: the first one of ARCWISE_MODELS, or the user's data folder]",
    ),
    overwrite: bool = typer.Option(False, "--overwrite", help="Replace another model of that name."),
) -> None:
    """Install a model, so that --model NAME and arcwise.load(NAME) find it.

    A model file is data (safetensors); nothing in it is executed. arcwise checks its hash and its content
    before it gives the file its name, so an interrupted or rejected installation leaves nothing behind.
    """
    from pathlib import Path

    from arcwise.models.install import install_model

    model = install_model(
        source,
        name=name,
        sha256=sha256,
        folder=None if folder is None else Path(folder),
        overwrite=overwrite,
    )
    echo(f"{model.name}: installed in {model.path}")
