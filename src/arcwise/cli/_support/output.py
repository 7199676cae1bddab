"""What commands print: tables for readers, JSON for programs, warnings on standard error."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import RenderableType

    from arcwise.evaluation import Soundness

_PIPE_WIDTH = 120  # of tables that do not go to a terminal

Color = Annotated[
    bool | None,
    typer.Option(
        "--color/--no-color",
        help="Colours; without the option, on a terminal unless NO_COLOR is set.",
        show_default=False,
    ),
]
"""The option of commands that print in colours, for ``wants_color``."""


def wants_color(asked: bool | None = None) -> bool:
    """What was asked for; else whether standard output is a terminal that shows colours."""
    if asked is not None:
        return asked
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def print_json(value: dict[str, Any]) -> None:
    """Print one JSON object."""
    import json

    typer.echo(json.dumps(value, ensure_ascii=False, indent=2))


def print_tables(tables: RenderableType, *, width: int = _PIPE_WIDTH) -> None:
    """Print rich tables on standard output, without colours and of this width where it is no terminal."""
    from rich.console import Console

    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=width)
    with console.capture() as drawn:  # printed by us: rich would end the program itself where nobody reads on
        console.print(tables)
    typer.echo(drawn.get(), nl=False, color=console.is_terminal)


def warn_unsound(*files: Soundness) -> None:
    """Say on standard error what is wrong with the trees that were scored."""
    for file in files:
        if not file.is_sound:
            typer.echo(f"warning: {file}", err=True)
            for example in file.examples:
                typer.echo(f"  {example}", err=True)
