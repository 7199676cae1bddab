"""Output of commands: tables, JSON, and warnings on standard error."""

from __future__ import annotations

import os
import re
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


_LONGEST_LINE = 10_000  # characters of a message


def echo(text: str, *, err: bool = False) -> None:
    """Print text that may contain names of files or parts of them, without control characters.

    A terminal would interpret them: they could move the cursor, recolour or hide lines, even run commands.
    """
    from arcwise.trees.draw import printable

    typer.echo("\n".join(printable(line) for line in text.split("\n")), err=err)


def one_line(text: str) -> str:
    """A message as one line: without control characters, line breaks included, and not endlessly long."""
    from arcwise.trees.draw import printable

    return printable(text if len(text) <= _LONGEST_LINE else text[: _LONGEST_LINE - 1] + "…")


def json_text(value: Any, *, indent: int | None = None) -> str:
    r"""JSON without control characters: its own escapes stand for those that JSON would leave.

    >>> json_text({"sent_id": "a\x9b2J"})
    '{"sent_id": "a\\u009b2J"}'
    """
    import json

    text = json.dumps(value, ensure_ascii=False, indent=indent)
    return re.sub("[\x7f-\x9f\u2028\u2029]", lambda match: f"\\u{ord(match[0]):04x}", text)


def print_json(value: dict[str, Any]) -> None:
    """Print one JSON object."""
    typer.echo(json_text(value, indent=2))


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
            echo(f"warning: {file}", err=True)
            for example in file.examples:
                echo(f"  {example}", err=True)
