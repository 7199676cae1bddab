"""``arcwise info``: what a model file is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Annotated, Any

import typer

from arcwise.cli._support.files import Files

FILES = Files(may_read=("model",))

_SHARES = ("dev_uas", "dev_las", "collision_rate")
"""What models keep as shares of 1; shown in per cent, as everything is."""

_DETAILS = ("history", "folds", "calibration", "cells", "features", "collision_rate")
"""What is shown with --all alone."""


def run(
    model: Annotated[str, typer.Argument(help="Model file of 'arcwise train', or en.")],
    everything: Annotated[
        bool,
        typer.Option("--all", help="Also all options, the feature templates, and the scores of each epoch."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Describe a model: what it was trained on and how, its scores on development data, its size.

    Scores are in per cent. Of the options those are shown that differ from the defaults.
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
        typer.echo("\n".join(_lines(key, value)))


def _short(info: Mapping[str, Any]) -> dict[str, Any]:
    """The few lines that most want to see: what belongs together on one line, no details."""
    found: dict[str, Any] = {}
    for key, value in _joined(info).items():
        if key in _DETAILS:
            continue
        if key == "config":
            found["options"] = _changed_options(value)
        elif isinstance(value, Mapping) and all(isinstance(item, float | int) for item in value.values()):
            found[key] = f"from raw text: {_text(dict(value))}" if key == "dev" else _text(dict(value))
        elif isinstance(value, Mapping):
            found[key] = _short(value)
        elif key == "tags" and isinstance(value, list | tuple):
            found[key] = " ".join(value)
        else:
            found[key] = _plain(value)
    return found


def _joined(info: Mapping[str, Any]) -> dict[str, Any]:
    """The same with one entry for the training data, one for the development data, one for the weights, one for the file."""
    found = dict(info)
    if "train" in found and "train_sentences" in found:
        sentences, words = found.pop("train_sentences"), found.pop("train_words")
        found["train"] = f"{found['train']} ({sentences:,} sentences, {words:,} words)"
    if found.get("dev") is not None and found.get("dev_las") is not None:
        counting = found.pop("dev_counting", None) or "punctuation counted, label subtypes kept"
        uas, las = (100 * found.pop(name) for name in ("dev_uas", "dev_las"))
        found["dev"] = f"{found['dev']} (UAS {uas:.2f}, LAS {las:.2f}; {counting})"
    if "epoch" in found and "history" in found:
        found["epoch"] = f"{found['epoch']} of {len(found['history'])}"
    if "decoding" in found:
        chosen = found["decoding"]
        kind = "projective" if chosen.projective else "non-projective"
        found["decoding"] = (
            f"{chosen.decode}, {kind}, {'one root' if chosen.single_root else 'any number of roots'}"
        )
    if "weights" in found:
        found["weights"] = f"{found['weights']:,}"
    if "bytes" in found:
        found["file"] = f"{found.pop('bytes') / 1e6:.1f} MB, weights in {found.pop('precision')}"
    if found.get("interrupted") is False:
        del found["interrupted"]
    return {key: value for key, value in found.items() if value is not None and value != []}


def _changed_options(config: Any) -> str:
    """The options that differ from their defaults; of templates how many."""
    from arcwise.learning.options import changed

    told = (
        f"{name} = {len(value)} of its own" if name.endswith("_templates") else f"{name} = {_text(value)}"
        for name, value in changed(config).items()
    )
    return ", ".join(told) or "as by default"


def _in_per_cent(value: Any) -> Any:
    """Shares, however deep, times 100."""
    if isinstance(value, list):
        return [_in_per_cent(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: round(100 * item, 4) if key in _SHARES and item is not None else _in_per_cent(item)
        for key, item in value.items()
    }


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
