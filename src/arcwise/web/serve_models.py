"""The models of a service, by the names that requests give them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from arcwise.errors import InputError, OptionError
from arcwise.models.registry import open_model
from arcwise.parsing.parser import Parser
from arcwise.pipeline.pipeline import Pipeline, as_pipeline

Step = Literal["tokenizer", "tagger", "parser"]


@dataclass(frozen=True)
class ServedModel:
    """A model and its name in requests."""

    name: str
    parser: Parser

    @property
    def pipeline(self) -> Pipeline | None:
        """The model, if it takes raw text."""
        return as_pipeline(self.parser)

    @property
    def steps(self) -> tuple[Step, ...]:
        """What it can do."""
        return ("tokenizer", "tagger", "parser") if self.pipeline is not None else ("parser",)

    @property
    def card(self) -> Mapping[str, Any]:
        """What it was made from, if it says so."""
        return {} if self.pipeline is None else self.pipeline.card

    def needs(self, step: Step) -> Pipeline:
        """The model as a pipeline; ``InputError`` if it cannot do a step."""
        if self.pipeline is None:
            raise InputError(
                f"{step}: found one asked for, but the model {self.name} is a {self.parser.kind} parser and has none"
            )
        return self.pipeline


class Models:
    """All models, the default first."""

    def __init__(self, models: Sequence[ServedModel]) -> None:
        if not models:
            raise OptionError("model", "found none, expected at least one")
        self.all = tuple(models)
        self._known: dict[str, ServedModel] = {}
        for model in models:
            if model.name in self._known:
                raise OptionError("model", f"found the name {model.name!r} twice, expected different names")
            self._known[model.name] = model
        for model in models:
            for name in _other_names(model):
                self._known.setdefault(name, model)

    @classmethod
    def open(cls, given: Sequence[str]) -> Models:
        """From ``NAME=PATH`` each, or the path or the name of a shipped model alone."""
        named = [_name_and_path(text) for text in given]
        return cls([ServedModel(name, open_model(path)) for name, path in named])

    @property
    def default(self) -> ServedModel:
        """The model for requests that name none."""
        return self.all[0]

    def find(self, name: str | None, *, nearly: bool = False) -> ServedModel:
        """The model of this name; ``InputError`` that lists them if there is none.

        A name may be cut at a hyphen (``english`` for ``english-ewt``), and the language of a model is a name of it, too. ``nearly``: a
        longer name will do as well (``english-ewt-ud-2.12-230717`` for ``english``): clients of UDPipe name models that are not here.
        """
        if not name:
            return self.default
        tried = [name, name.lower(), *(_cut_at_hyphens(name.lower()) if nearly else ())]
        found = next((self._known[own] for own in tried if own in self._known), None)
        if found is None:
            names = ", ".join(model.name for model in self.all)
            raise InputError(f"model: found {name!r}, expected one of {names}")
        return found


def _other_names(model: ServedModel) -> list[str]:
    shorter = _cut_at_hyphens(model.name)
    language = str(model.card.get("language", "")).lower()
    return [*shorter, language] if language else shorter


def _cut_at_hyphens(name: str) -> list[str]:
    """
    >>> _cut_at_hyphens("english-ewt-ud")
    ['english-ewt', 'english']
    """
    parts = name.split("-")
    return ["-".join(parts[:count]) for count in range(len(parts) - 1, 0, -1)]


def _name_and_path(text: str) -> tuple[str, str]:
    """
    >>> _name_and_path("latin=models/latin.arcwise"), _name_and_path("models/latin.arcwise"), _name_and_path("en")
    (('latin', 'models/latin.arcwise'), ('latin', 'models/latin.arcwise'), ('en', 'en'))
    """
    name, equals, path = text.partition("=")
    if equals and name and path and "/" not in name:
        return name, path
    return text.rsplit("/", 1)[-1].removesuffix(".arcwise"), text
