"""``arcwise models list``: installed and known models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from arcwise.cli._support.output import echo, print_json

if TYPE_CHECKING:
    from arcwise.models.listing import ListedModel


def run(as_json: bool = typer.Option(False, "--json", help="Print everything as JSON.")) -> None:
    """List the models that can be loaded by name, and known ones that can be installed.

    Scores are CoNLL 2018 metrics from raw text (F1, %) as the files of the models state them.
    """
    from arcwise.models.listing import list_models

    models = list(list_models())
    if as_json:
        print_json({"models": [_values(model) for model in models]})
        return
    header = ("name", "language", "UPOS", "LAS", "scored on", "MB", "licence", "installed")
    rows = [header, *(_row(model) for model in models)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(header))]
    for row in rows:
        echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _row(model: ListedModel) -> tuple[str, ...]:
    where = model.origin or f"no: arcwise models install {model.name}"
    if model.problem:
        where = f"{where} ({model.problem})"
    return (
        model.name,
        model.language or "–",
        *(f"{model.scores[name]:.2f}" if name in model.scores else "–" for name in ("UPOS", "LAS")),
        model.scored_on or "–",
        "–" if model.bytes is None else f"{model.bytes / 1e6:.1f}",
        model.licence or "–",
        where,
    )


def _values(model: ListedModel) -> dict[str, Any]:
    from dataclasses import asdict

    return asdict(model) | {"path": None if model.path is None else str(model.path)}
