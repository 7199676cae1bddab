"""``arcwise help``: the same as ``--help``."""

from __future__ import annotations

from typing import Any

import typer


def run(
    context: typer.Context,
    command: list[str] = typer.Argument(None, help="Command to explain, of one or two words."),
) -> None:
    """Show the help of a command; without one, list all commands."""
    arcwise = context.find_root()
    if not command:
        typer.echo(arcwise.get_help())
        return
    group: Any = arcwise.command
    name, subcommand, _ = group.resolve_command(arcwise, command)
    typer.echo(subcommand.make_context(name, [], parent=arcwise, resilient_parsing=True).get_help())
