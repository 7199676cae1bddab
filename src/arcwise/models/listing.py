"""The table of ``arcwise models list``: installed and known models with the metadata in their files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from arcwise.errors import ArcwiseError, ModelError
from arcwise.learning.model_file import read_model
from arcwise.models.installed import InstalledModel, installed_models, known_models


@dataclass(frozen=True, kw_only=True)
class ListedModel:
    """A row of the table."""

    name: str
    language: str = ""
    treebank: str = ""
    licence: str = ""
    bytes: int | None = None
    scored_on: str | None = None
    """``test`` or ``dev``: the part of the treebank that the scores are of."""
    scores: Mapping[str, float]
    """CoNLL 2018 metrics from raw text (F1 in per cent)."""
    origin: str | None
    """``shipped``, a folder or a package; None if the model is known, but not installed."""
    path: Path | None = None
    problem: str = ""
    """Why the model cannot be loaded; empty if it can."""


def list_models() -> Iterator[ListedModel]:
    """Yield the installed models, then the known ones that are not installed."""
    names: set[str] = set()
    for model in installed_models():
        problem = f"hidden by another model named {model.name}" if model.name in names else ""
        names.add(model.name)
        yield _installed(model, problem)
    for name, entry in known_models().items():
        if name not in names:
            yield ListedModel(
                name=name,
                language=entry.language,
                treebank=entry.treebank,
                licence=entry.licence,
                bytes=entry.bytes,
                scored_on="test",
                scores=entry.scores,
                origin=None,
            )


def _installed(model: InstalledModel, problem: str) -> ListedModel:
    try:
        if model.path is None:
            raise ModelError(model.problem)
        packed = read_model(model.path)
        card = packed.header.get("card")
    except (ArcwiseError, AttributeError) as error:
        return ListedModel(
            name=model.name, scores={}, origin=model.origin, path=model.path, problem=problem or str(error)
        )
    card = card if isinstance(card, Mapping) else {}
    part = next((part for part in ("test", "dev") if isinstance(card.get(part), Mapping)), None)
    return ListedModel(
        name=model.name,
        language=str(card.get("language") or ""),
        treebank=str(card.get("treebank") or ""),
        licence=str(card.get("licence") or ""),
        bytes=packed.size,
        scored_on=part,
        scores={} if part is None else dict(card[part]),
        origin=model.origin,
        path=model.path,
        problem=problem,
    )
