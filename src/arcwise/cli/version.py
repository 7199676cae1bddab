"""``arcwise version``: the same as ``--version``."""

from __future__ import annotations

import typer


def run() -> None:
    """Print the version of arcwise."""
    from arcwise import __version__

    typer.echo(f"arcwise {__version__}")
