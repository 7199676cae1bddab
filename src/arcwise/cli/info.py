"""``arcwise info``: what a model file is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Annotated, Any

import typer

from arcwise.cli.files import Files

FILES = Files(may_read=("model",))


def run(
    model: Annotated[str, typer.Argument(help="Model file of 'arcwise train'.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Describe a model: what it was trained on and how, its scores on development data, its size."""
    from arcwise.models import open_model

    info = {key: _plain(value) for key, value in open_model(model).info.items()}
    if as_json:
        import json

        typer.echo(json.dumps(info, ensure_ascii=False, indent=2))
        return
    for key, value in info.items():
        typer.echo("\n".join(_lines(key, value)))


def _plain(value: Any) -> Any:
    """Dataclasses, however deep, as dicts."""
    if is_dataclass(value):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return value


def _lines(key: str, value: Any) -> list[str]:
    if isinstance(value, dict):
        return [f"{key}:", *(f"  {line}" for name, item in value.items() for line in _lines(name, item))]
    if isinstance(value, list | tuple) and len(value) > 3:
        return [f"{key}:", *(f"  {_text(item)}" for item in value)]
    return [f"{key}: {_text(value)}"]


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return "  ".join(f"{name} {_text(item)}" for name, item in value.items())
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple):
        return ", ".join(map(_text, value)) or "none"
    return "–" if value is None else str(value)
