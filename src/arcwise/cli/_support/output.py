"""Output of commands: tables, JSON, and warnings on standard error."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.console import RenderableType

    from arcwise.evaluation import Soundness

_PIPE_WIDTH = 120  # of tables that do not go to a terminal

COLOR: Any = typer.Option(
    None, "--color/--no-color", help="Colours. [default: on a terminal, unless NO_COLOR is set]"
)
"""The option ``--color``, for ``wants_color``."""


def wants_color(option: bool | None = None) -> bool:
    """The option, or else whether standard output is a terminal with colours."""
    if option is not None:
        return option
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def print_json(value: dict[str, Any]) -> None:
    """Print one JSON object."""
    import json

    typer.echo(json.dumps(value, ensure_ascii=False, indent=2))


def print_tables(tables: RenderableType, *, width: int = _PIPE_WIDTH) -> None:
    """Print rich tables; without colours and with this width if standard output is not a terminal."""
    from rich.console import Console

    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=width)
    with console.capture() as drawn:  # rich itself would exit if the pipe is closed
        console.print(tables)
    typer.echo(drawn.get(), nl=False, color=console.is_terminal)


def warn_unsound(*files: Soundness) -> None:
    """Print problems of the scored trees on standard error."""
    for file in files:
        if not file.is_sound:
            typer.echo(f"warning: {file}", err=True)
            for example in file.examples:
                typer.echo(f"  {example}", err=True)
