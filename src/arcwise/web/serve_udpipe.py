"""The addresses and parameters of UDPipe's public service: ``/models`` and ``/process``, so that its clients need another address alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from importlib.metadata import version
from typing import Any

from arcwise.errors import InputError
from arcwise.treebanks import Treebank
from arcwise.web.serve_input import Form, Source
from arcwise.web.serve_models import Models, ServedModel
from arcwise.web.serve_output import OUTPUTS, written
from arcwise.web.serve_tasks import ParseTask

PARAMETERS = ("data", "model", "tokenizer", "tagger", "parser", "input", "output")
INPUTS: Mapping[str, Form] = {
    "conllu": "conllu",
    "horizontal": "horizontal",
    "vertical": "vertical",
    "generic_tokenizer": "text",
}
"""Value of ``input`` → what it is here. The generic tokenizer is that of the model."""


def models_answer(models: Models) -> dict[str, Any]:
    """What ``/models`` says."""
    return {
        "models": {model.name: list(model.steps) for model in models.all},
        "default_model": models.default.name,
    }


def process_task(models: Models, given: Mapping[str, str], *, max_words: int) -> ParseTask:
    """What a request to ``/process`` asks. ``InputError`` for a model or a format that does not exist. Parameters and options that are not
    known change nothing, as at UDPipe's service: its clients send what its models understand."""
    if "data" not in given:
        raise InputError("data: is missing, expected the text or the sentences to process")
    model = models.find(given.get("model"), nearly=True)
    output_of(given)
    source = _source(given)
    if source.form in ("text", "lines"):
        model.needs("tokenizer")
    if _asked(given, "tagger"):
        model.needs("tagger")
    return ParseTask(
        model, source, tag=_asked(given, "tagger"), parse=_asked(given, "parser"), max_words=max_words
    )


def output_of(given: Mapping[str, str]) -> Callable[[Treebank], str]:
    """How the answer is written."""
    return written(*_format(given, "output", OUTPUTS))


def _format(given: Mapping[str, str], name: str, known: Iterable[str]) -> tuple[str, frozenset[str]]:
    """A format and its options, from ``format=option;option``."""
    found, _, options = (given.get(name) or "conllu").partition("=")
    if found not in known:
        raise InputError(f"{name}: found {found!r}, expected one of {', '.join(known)}")
    return found, _options(options)


def _options(text: str) -> frozenset[str]:
    """
    >>> sorted(_options("ranges;presegmented=yes"))
    ['presegmented', 'ranges']
    """
    return frozenset(part.partition("=")[0] for part in text.replace(",", ";").split(";"))


def process_answer(model: ServedModel, treebank: Treebank, given: Mapping[str, str]) -> dict[str, Any]:
    """What ``/process`` says."""
    result = output_of(given)(treebank)
    if _format(given, "output", OUTPUTS)[0] == "conllu":
        result = f"{_comments(model)}{result}"
    made = [str(model.card[key]) for key in ("treebank", "licence") if model.card.get(key)]
    return {"model": model.name, "acknowledgements": [f"arcwise {_version()}", *made], "result": result}


@lru_cache
def _version() -> str:
    return version("arcwise")


def _asked(given: Mapping[str, str], step: str) -> bool:
    return step in given and given[step] != "none"


def _source(given: Mapping[str, str]) -> Source:
    if _asked(given, "tokenizer"):
        form: Form = "text"
        options = _options(given["tokenizer"])
    else:
        found, options = _format(given, "input", INPUTS)
        form = INPUTS[found]
    return Source(
        "lines" if form == "text" and "presegmented" in options else form,
        given["data"].replace("\r\n", "\n") if form == "conllu" else given["data"],
        ranges="ranges" in options,
        spaces="normalized_spaces" not in options,
        paragraphs=form != "conllu",
    )


def _comments(model: ServedModel) -> str:
    licence = model.card.get("licence")
    lines = [f"# generator = arcwise {_version()}", f"# udpipe_model = {model.name}"]
    lines += [f"# udpipe_model_licence = {licence}"] if licence else []
    return "".join(f"{line}\n" for line in lines)
