"""``arcwise info``: a description of a model file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import typer

from arcwise.cli._support.files import Files
from arcwise.cli._support.output import echo

FILES = Files(may_read=("model",))

_SHARES = ("dev_uas", "dev_las", "collision_rate")
"""Fractions in the model file that are shown as percentages, like all scores."""

_DETAILS = ("history", "folds", "calibration", "cells", "features", "collision_rate")
"""Shown only with --all."""


def run(
    model: str = typer.Argument(..., help="Model file from 'arcwise train', or en."),
    everything: bool = typer.Option(
        False, "--all", help="Also show all options, the feature templates, and the scores of each epoch."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print everything as JSON."),
) -> None:
    """Describe a model: training data, options, scores on development data, size.

    Scores are percentages. Only options that differ from their defaults are shown.
    """
    from arcwise.models import open_model, written_by
    from arcwise.parsing.calibration import confidence_text

    version = written_by(model)
    info = dict(open_model(model).info)
    info["written_by"] = "unknown" if version is None else f"arcwise {version}"
    if (confidences := confidence_text(info)) is not None:
        info["confidences"] = confidences
    if as_json:
        import json

        typer.echo(json.dumps(_in_per_cent(_plain(info)), ensure_ascii=False, indent=2))
        return
    shown = _in_per_cent(_plain(info)) if everything else _short(info)
    for key, value in shown.items():
        echo("\n".join(_lines(key, value)))


def _short(info: Mapping[str, Any]) -> dict[str, Any]:
    """A summary, related entries on one line."""
    summary: dict[str, Any] = {}
    for key, value in _joined(info).items():
        if key in _DETAILS:
            continue
        if key == "config":
            summary["options"] = _changed_options(value)
        elif isinstance(value, Mapping) and all(isinstance(item, float | int) for item in value.values()):
            summary[key] = "from raw text: " * (key in ("dev", "test")) + _text(dict(value))
        elif key == "taught":
            summary[key] = ", ".join(f"{name}: {_text(item)}" for name, item in value.items())
        elif isinstance(value, Mapping):
            summary[key] = _short(value)
        elif key == "tags" and isinstance(value, list | tuple):
            summary[key] = " ".join(value)
        else:
            summary[key] = _plain(value)
    return summary


def _joined(info: Mapping[str, Any]) -> dict[str, Any]:
    """The same, with one entry each for the training data, the development data, the weights and the file."""
    merged = dict(info)
    if "train" in merged and "train_sentences" in merged:
        sentences, words = merged.pop("train_sentences"), merged.pop("train_words")
        merged["train"] = f"{merged['train']} ({sentences:,} sentences, {words:,} words)"
    if merged.get("dev") is not None and merged.get("dev_las") is not None:
        counting = merged.pop("dev_counting", None) or "punctuation counted, label subtypes kept"
        uas, las = (100 * merged.pop(name) for name in ("dev_uas", "dev_las"))
        merged["dev"] = f"{merged['dev']} (UAS {uas:.2f}, LAS {las:.2f}; {counting})"
    if "epoch" in merged and "history" in merged:
        merged["epoch"] = f"{merged['epoch']} of {len(merged['history'])}"
    if "decoding" in merged:
        decoding = merged["decoding"]
        kind = "projective" if decoding.projective else "non-projective"
        merged["decoding"] = (
            f"{decoding.decode}, {kind}, {'one root' if decoding.single_root else 'any number of roots'}"
        )
    if "legal" in merged:
        merged["legal"] = {kind: ", ".join(map(_rule, rules)) for kind, rules in merged["legal"].items()}
    if "weights" in merged:
        merged["weights"] = f"{merged['weights']:,}"
    if "bytes" in merged:
        merged["file"] = f"{merged.pop('bytes') / 1e6:.1f} MB, weights in {merged.pop('precision')}"
    if merged.get("interrupted") is False:
        del merged["interrupted"]
    return {key: value for key, value in merged.items() if value is not None and value != []}


def _rule(rule: Mapping[str, Any]) -> str:
    return str(rule.get("name") or " or ".join(rule["labels"]))


def _changed_options(config: Any) -> str:
    """The options that differ from their defaults; templates are only counted."""
    from arcwise.learning.options import changed

    options = (
        f"{name} = {len(value)} custom" if name.endswith("_templates") else f"{name} = {_text(value)}"
        for name, value in changed(config).items()
    )
    return ", ".join(options) or "defaults"


def _in_per_cent(value: Any) -> Any:
    """Fractions at any depth, times 100."""
    if isinstance(value, list):
        return [_in_per_cent(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: round(100 * item, 4) if key in _SHARES and item is not None else _in_per_cent(item)
        for key, item in value.items()
    }


def _plain(value: Any) -> Any:
    """Dataclasses at any depth as dicts."""
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
