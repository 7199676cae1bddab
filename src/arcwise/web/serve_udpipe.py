"""The addresses and parameters of UDPipe's public service: ``/models`` and ``/process``, so that its clients need another address alone."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib.metadata import version
from typing import Any

from arcwise.errors import InputError
from arcwise.treebanks import Treebank
from arcwise.web.serve_input import Form, Source
from arcwise.web.serve_models import Models, ServedModel
from arcwise.web.serve_output import OUTPUTS
from arcwise.web.serve_tasks import Task

PARAMETERS = ("data", "model", "tokenizer", "tagger", "parser", "input", "output")
INPUTS: Mapping[str, Form] = {
    "conllu": "conllu",
    "conllu=v2": "conllu",
    "horizontal": "horizontal",
    "vertical": "vertical",
    "generic_tokenizer": "text",
    "generic_tokenizer=presegmented": "lines",
}
"""Value of ``input`` → what it is here. The generic tokenizer is that of the model."""
TOKENIZER_OPTIONS = ("presegmented", "ranges", "normalized_spaces")
_UNSAID = ("", "none")


def models_answer(models: Models) -> dict[str, Any]:
    """What ``/models`` says."""
    return {
        "models": {model.name: list(model.steps) for model in models.all},
        "default_model": models.default.name,
    }


def process_task(models: Models, given: Mapping[str, str], *, max_words: int) -> Task:
    """What a request to ``/process`` asks. ``InputError`` for a parameter, a model or an option that does not exist."""
    for name in given:
        if name not in PARAMETERS:
            raise InputError(f"parameter: found {name!r}, expected one of {', '.join(PARAMETERS)}")
    if "data" not in given:
        raise InputError("data: is missing, expected the text or the sentences to process")
    model = models.find(given.get("model"))
    output_of(given)
    for step in ("tagger", "parser"):
        if given.get(step, "") not in _UNSAID:
            raise InputError(f"{step}: found {given[step]!r}, expected nothing: there are no options")
    source = _source(given)
    if "tokenizer" in given or source.form in ("text", "lines"):
        model.needs("tokenizer")
    if _asked(given, "tagger"):
        model.needs("tagger")
    return Task(
        model, source, tag=_asked(given, "tagger"), parse=_asked(given, "parser"), max_words=max_words
    )


def output_of(given: Mapping[str, str]) -> str:
    """The format of the answer."""
    found = given.get("output", "conllu") or "conllu"
    if found not in OUTPUTS:
        raise InputError(f"output: found {found!r}, expected one of {', '.join(OUTPUTS)}")
    return found


def process_answer(model: ServedModel, treebank: Treebank, output: str) -> dict[str, Any]:
    """What ``/process`` says."""
    result = OUTPUTS[output](treebank)
    if output.startswith("conllu"):
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
        options = [option for option in given["tokenizer"].replace(";", ",").split(",") if option]
        for option in options:
            if option not in TOKENIZER_OPTIONS:
                raise InputError(
                    f"tokenizer: found {option!r}, expected {', '.join(TOKENIZER_OPTIONS)} or nothing"
                )
        form: Form = "lines" if "presegmented" in options else "text"
        return Source(form, given["data"], ranges="ranges" in options)
    found = given.get("input", "conllu") or "conllu"
    if found not in INPUTS:
        raise InputError(f"input: found {found!r}, expected one of {', '.join(INPUTS)}")
    return Source(INPUTS[found], given["data"], ranges=False)


def _comments(model: ServedModel) -> str:
    licence = model.card.get("licence")
    lines = [f"# generator = arcwise {_version()}", f"# udpipe_model = {model.name}"]
    lines += [f"# udpipe_model_licence = {licence}"] if licence else []
    return "".join(f"{line}\n" for line in lines)
