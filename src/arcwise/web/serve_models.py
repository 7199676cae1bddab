"""The models of a service, by their names in requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from arcwise.errors import InputError, OptionError
from arcwise.models.registry import open_model
from arcwise.parsing.parser import Parser
from arcwise.pipeline.pipeline import Pipeline, as_pipeline

ISO_CODES: Mapping[str, tuple[str, str]] = {
    language: (two, three)
    for language, two, three in (
        line.split()
        for line in """
        afrikaans af afr|arabic ar ara|armenian hy hye|basque eu eus|belarusian be bel|bulgarian bg bul
        catalan ca cat|chinese zh zho|croatian hr hrv|czech cs ces|danish da dan|dutch nl nld|english en eng
        estonian et est|finnish fi fin|french fr fra|galician gl glg|german de deu|greek el ell|hebrew he heb
        hindi hi hin|hungarian hu hun|icelandic is isl|indonesian id ind|irish ga gle|italian it ita
        japanese ja jpn|kazakh kk kaz|korean ko kor|latin la lat|latvian lv lav|lithuanian lt lit
        maltese mt mlt|marathi mr mar|norwegian no nor|persian fa fas|polish pl pol|portuguese pt por
        romanian ro ron|russian ru rus|sanskrit sa san|serbian sr srp|slovak sk slk|slovenian sl slv
        spanish es spa|swedish sv swe|tamil ta tam|telugu te tel|turkish tr tur|ukrainian uk ukr|urdu ur urd
        vietnamese vi vie|welsh cy cym|wolof wo wol|yoruba yo yor
        """.replace("\n", "|").split("|")
        if line.strip()
    )
}
"""Language → its codes in ISO 639-1 and 639-3, which clients of UDPipe send as names of models."""
Step = Literal["tokenizer", "tagger", "parser"]


@dataclass(frozen=True)
class ServedModel:
    """A model and its name in requests."""

    name: str
    parser: Parser

    @property
    def pipeline(self) -> Pipeline | None:
        """The model, if it is a pipeline from raw text."""
        return as_pipeline(self.parser)

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps that the model can do."""
        return ("tokenizer", "tagger", "parser") if self.pipeline is not None else ("parser",)

    @property
    def card(self) -> Mapping[str, Any]:
        """The model card, if there is one."""
        return {} if self.pipeline is None else self.pipeline.card

    def needs(self, step: Step) -> Pipeline:
        """The model as a pipeline; ``InputError`` if it cannot do the step."""
        if self.pipeline is None:
            raise InputError(f"{step}: the model {self.name} is a {self.parser.kind} parser and has none")
        return self.pipeline


class Models:
    """All models, the default first."""

    def __init__(self, models: Sequence[ServedModel]) -> None:
        if not models:
            raise OptionError("model", "found none, expected at least one")
        self.all = tuple(models)
        self._by_name: dict[str, ServedModel] = {}
        for model in models:
            if model.name in self._by_name:
                raise OptionError("model", f"found the name {model.name!r} twice, expected different names")
            self._by_name[model.name] = model
        for model in models:
            for name in _other_names(model):
                # setdefault: the full name of a model, or an earlier model, wins over a short form.
                self._by_name.setdefault(name, model)

    @classmethod
    def open(cls, models: Sequence[str]) -> Models:
        """Open models given as ``NAME=PATH``, as a path, or as the name of a shipped model."""
        named = [_name_and_path(text) for text in models]
        return cls([ServedModel(name, open_model(path)) for name, path in named])

    @property
    def default(self) -> ServedModel:
        """The model for requests without a model."""
        return self.all[0]

    def find(self, name: str | None, *, nearly: bool = False) -> ServedModel:
        """The model of this name; ``InputError`` with the names if there is none.

        A prefix up to a hyphen will do (``english`` for ``english-ewt``), and so will the language of a
        model. ``nearly``: a longer name is also accepted (``english-ewt-ud-2.12-230717`` for ``english``),
        because clients of UDPipe send the names of its models.
        """
        if not name:
            return self.default
        plain = name.lower().replace("_", "-")
        candidates = [name, name.lower(), plain, *(_prefixes(plain) if nearly else ())]
        model = next((self._by_name[text] for text in candidates if text in self._by_name), None)
        if model is None:
            names = ", ".join(served.name for served in self.all)
            raise InputError(f"model: found {name!r}, expected one of {names}")
        return model


def _other_names(model: ServedModel) -> list[str]:
    shorter = _prefixes(model.name)
    language = str(model.card.get("language", "")).lower()
    return [*shorter, language, *ISO_CODES.get(language, ())] if language else shorter


def _prefixes(name: str) -> list[str]:
    """
    >>> _prefixes("english-ewt-ud")
    ['english-ewt', 'english']
    """
    parts = name.split("-")
    return ["-".join(parts[:count]) for count in range(len(parts) - 1, 0, -1)]


def _name_and_path(text: str) -> tuple[str, str]:
    """
    >>> tuple(map(_name_and_path, ("latin=models/latin.arcwise", "models/latin.arcwise", "en")))
    (('latin', 'models/latin.arcwise'), ('latin', 'models/latin.arcwise'), ('en', 'en'))
    """
    name, equals, path = text.partition("=")
    if equals and name and path and "/" not in name:
        return name, path
    return text.rsplit("/", 1)[-1].removesuffix(".arcwise"), text
