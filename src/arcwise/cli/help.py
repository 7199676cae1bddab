"""``arcwise help``: the same as ``--help``."""

from __future__ import annotations

from typing import Annotated

import typer


def run(
    command: Annotated[str | None, typer.Argument(help="The command to explain.", show_default=False)] = None,
) -> None:
    """Explain a command; without one, list all commands."""
    from arcwise.cli.main import run as arcwise

    raise typer.Exit(arcwise([*([command] if command else []), "--help"]))
