"""``arcwise validate``: everything that is wrong with a CoNLL-U file."""

from __future__ import annotations

from typing import Annotated

import typer

from arcwise.cli.files import Files

FILES = Files(reads=("files",))


def run(
    files: Annotated[
        list[str], typer.Argument(help="CoNLL-U files (.gz, .xz, - for standard input).", show_default=False)
    ],
    max_errors: Annotated[int, typer.Option(help="Stop after this many problems; 0 shows all.")] = 0,
    single_root: Annotated[
        bool, typer.Option("--single-root", help="Also report sentences with more than one root.")
    ] = False,
) -> None:
    """List everything that is wrong with CoNLL-U files, one line each: path:line (sent_id): found …, expected …

    The exit status is 0 if nothing is wrong, 1 if something is.
    """
    from arcwise.treebanks.validate import validate

    shown = 0
    for problem in validate(files, single_root=single_root):
        typer.echo(str(problem))
        shown += 1
        if shown == max_errors:
            typer.echo(f"stopped after {shown} problem{'s' * (shown != 1)} (--max-errors)", err=True)
            break
    if shown:
        raise typer.Exit(1)
    typer.echo(f"{len(files)} file{'s' * (len(files) != 1)}: nothing wrong", err=True)
