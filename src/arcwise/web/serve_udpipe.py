"""The addresses and parameters of UDPipe's public service, ``/models`` and ``/process``: its clients only
change the URL."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from importlib.metadata import version
from typing import Any, Literal, get_args

from pydantic import Field

from arcwise.errors import InputError
from arcwise.schema import JsonObject, Text, check_json
from arcwise.treebanks import Treebank
from arcwise.web.serve_input import Form, Source
from arcwise.web.serve_limits import Limits, WorkDeadline
from arcwise.web.serve_models import Models, ServedModel, Step
from arcwise.web.serve_output import OUTPUTS, Writer, output_writer
from arcwise.web.serve_tasks import ParseTask

INPUTS: Mapping[str, Form] = {
    "conllu": "conllu",
    "horizontal": "horizontal",
    "vertical": "vertical",
    "generic_tokenizer": "text",
}
"""Value of ``input`` → the form of the data. The generic tokenizer is that of the model."""


def _format_pattern(names: Iterable[str]) -> dict[str, Any]:
    return {"pattern": rf"^(({'|'.join(names)})(=.*)?)?$", "default": "conllu"}


class ProcessParameters(JsonObject):
    """The parameters of ``/process``. Unknown ones are ignored, as by UDPipe's service: clients send what its
    models understand."""

    data: Text = Field(description="The text or the sentences.")
    model: Text | None = Field(None, description="One of /models; a part before a hyphen will do.")
    tokenizer: Text | None = Field(
        None,
        description="Split the data, which is text, into sentences and words. "
        "Empty, or options: presegmented, ranges, normalized_spaces.",
    )
    tagger: Text | None = Field(None, description="Predict lemmas and tags, unless it is none.")
    parser: Text | None = Field(None, description="Predict trees, unless it is none.")
    input: Text | None = Field(
        None,
        description="The format of the data, without a tokenizer.",
        json_schema_extra=_format_pattern(INPUTS),
    )
    output: Text | None = Field(
        None, description="The format of the result.", json_schema_extra=_format_pattern(OUTPUTS)
    )

    def asks_for(self, step: Step) -> bool:
        """Whether a step is wanted."""
        value = getattr(self, step)
        return value is not None and value != "none"


class ProcessAnswer(JsonObject):
    """The response of ``/process``."""

    model: Text
    acknowledgements: list[Text]
    result: Text = Field(description="In the format of `output`.")


ModelOption = Literal["confidence", "k_best", "alternatives", "constraints"]
"""Options of ``/v1/parse`` that some models lack."""


class ModelsAnswer(JsonObject):
    """The response of ``/models``."""

    models: dict[str, list[Step]]
    default_model: Text
    options: dict[str, list[ModelOption]] = Field(description="What /v1/parse can ask of each model.")


def models_answer(models: Models) -> dict[str, Any]:
    """The response of ``/models``: UDPipe's, and ``options``."""
    return {
        "models": {model.name: list(model.steps) for model in models.all},
        "default_model": models.default.name,
        "options": {
            model.name: [name for name in get_args(ModelOption) if getattr(model.parser.capabilities, name)]
            for model in models.all
        },
    }


def read_parameters(values: Mapping[str, str]) -> ProcessParameters:
    """The parameters of a request to ``/process``; ``InputError`` without ``data``."""
    return check_json(ProcessParameters, values, "parameters")


def process_task(models: Models, values: ProcessParameters, limits: Limits) -> ParseTask:
    """The task of a request to ``/process``. ``InputError`` for a model or a format that does not
    exist."""
    model = models.find(values.model, nearly=True)
    _output(values)
    source = _source(values)
    if source.form in ("text", "lines"):
        model.needs("tokenizer")
    if values.asks_for("tagger"):
        model.needs("tagger")
    return ParseTask(
        model,
        source,
        tag=values.asks_for("tagger"),
        parse=values.asks_for("parser"),
        limits=limits,
        word_bytes=128,
        deadline=WorkDeadline(limits.max_seconds),
    )


def _output(values: ProcessParameters) -> Writer:
    return output_writer(*_format("output", values.output, OUTPUTS))


def _format(name: str, value: str | None, formats: Iterable[str]) -> tuple[str, frozenset[str]]:
    """A format and its options, from ``format=option;option``."""
    form, _, options = (value or "conllu").partition("=")
    if form not in formats:
        raise InputError(f"{name}: found {form!r}, expected one of {', '.join(formats)}")
    return form, _options(options)


def _options(text: str) -> frozenset[str]:
    """
    >>> sorted(_options("ranges;presegmented=yes"))
    ['presegmented', 'ranges']
    """
    return frozenset(part.partition("=")[0] for part in text.replace(",", ";").split(";"))


def process_parts(model: ServedModel, treebank: Treebank, values: ProcessParameters) -> Iterator[str]:
    """The response of ``/process`` as pieces of JSON text."""
    sources = [str(model.card[key]) for key in ("treebank", "licence") if model.card.get(key)]
    header = {"model": model.name, "acknowledgements": [f"arcwise {_version()}", *sources]}
    yield f"{_text(header)[:-1]}, " + '"result": "'
    if _format("output", values.output, OUTPUTS)[0] == "conllu":
        yield _text(_comments(model))[1:-1]
    for part in _output(values)(treebank):
        yield _text(part)[1:-1]
    yield '"}'


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


@lru_cache
def _version() -> str:
    return version("arcwise")


def _source(values: ProcessParameters) -> Source:
    if values.asks_for("tokenizer"):
        form: Form = "text"
        options = _options(values.tokenizer or "")
    else:
        name, options = _format("input", values.input, INPUTS)
        form = INPUTS[name]
    return Source(
        "lines" if form == "text" and "presegmented" in options else form,
        values.data.replace("\r\n", "\n") if form == "conllu" else values.data,
        ranges="ranges" in options,
        spaces="normalized_spaces" not in options,
        paragraphs=form != "conllu",
    )


def _comments(model: ServedModel) -> str:
    licence = model.card.get("licence")
    lines = [f"# generator = arcwise {_version()}", f"# udpipe_model = {model.name}"]
    lines += [f"# udpipe_model_licence = {licence}"] if licence else []
    return "".join(f"{line}\n" for line in lines)
