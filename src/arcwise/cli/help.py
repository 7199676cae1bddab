"""``arcwise help``: the same as ``--help``."""

from __future__ import annotations

from typing import Annotated, Any

import typer


def run(
    context: typer.Context,
    command: Annotated[str | None, typer.Argument(help="Command to explain.", show_default=False)] = None,
) -> None:
    """Show the help of a command; without one, list all commands."""
    arcwise = context.find_root()
    if command is None:
        typer.echo(arcwise.get_help())
        return
    group: Any = arcwise.command
    name, subcommand, _ = group.resolve_command(arcwise, [command])
    typer.echo(subcommand.make_context(name, [], parent=arcwise, resilient_parsing=True).get_help())
