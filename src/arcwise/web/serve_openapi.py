"""The OpenAPI description of the service, made from the declarations that requests are checked by."""

from __future__ import annotations

import json
from collections.abc import Iterable
from importlib.metadata import version
from typing import Any

from arcwise.inference import Constraints
from arcwise.learning.options import Declared, declared
from arcwise.parsing.parser import ParseOptions
from arcwise.treebanks.json_format import json_schema
from arcwise.web.serve_forms import FILES, FORM
from arcwise.web.serve_json import INPUTS as PARSED
from arcwise.web.serve_json import MOST_TREES, OPTIONS
from arcwise.web.serve_limits import Limits
from arcwise.web.serve_models import Models
from arcwise.web.serve_output import OUTPUTS
from arcwise.web.serve_udpipe import INPUTS

Json = dict[str, Any]

_TYPES = {int: "integer", float: "number", str: "string", bool: "boolean"}
_SENTENCES = {
    400: "What was asked cannot be: a parameter, a model, a format or input that is not as it should be.",
    408: "The request took too long to come.",
    413: "The request, or a sentence of it, is too large.",
    415: "The body is of another type.",
    429: "Too many requests wait already.",
    503: "The answer took too long, or the service is being stopped.",
}


def openapi(models: Models, limits: Limits) -> Json:
    """The description, as ``/v1/openapi.json`` gives it."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "arcwise",
            "version": version("arcwise"),
            "description": "Sentences into dependency trees, with confidences.",
        },
        "paths": {
            "/v1/parse": {"post": _parse(limits)},
            "/process": {"get": _process_get(), "post": _process_post()},
            "/models": {"get": _models("get"), "post": _models("post")},
            "/healthz": {"get": _health()},
            "/metrics": {"get": _plain("metrics", "What the service has done, for Prometheus.")},
            "/v1/openapi.json": {"get": _description()},
        },
        "components": {"schemas": _schemas(models)},
    }


def _parse(limits: Limits) -> Json:
    return {
        "operationId": "parse",
        "summary": "Trees for a text, for words or for CoNLL-U, with confidences, k best trees, alternatives, constraints.",
        "requestBody": {"required": True, "content": {"application/json": {"schema": _ref("Request")}}},
        "responses": {
            "200": _json("The trees.", _ref("Document")),
            **_errors("application/json", 400, 408, 413, 415, 429, 503),
        },
    }


def _process_get() -> Json:
    parameters = [
        {
            "name": name,
            "in": "query",
            "required": name == "data",
            "schema": schema,
            "description": schema["description"],
        }
        for name, schema in _process_parameters().items()
    ]
    return {**_process("process"), "parameters": parameters}


def _process_post() -> Json:
    schema = {"type": "object", "required": ["data"], "properties": _process_parameters()}
    return {
        **_process("processForm"),
        "requestBody": {"content": {FORM: {"schema": schema}, FILES: {"schema": schema}}},
    }


def _process(name: str) -> Json:
    answer = {
        "type": "object",
        "required": ["model", "acknowledgements", "result"],
        "properties": {
            "model": {"type": "string"},
            "acknowledgements": {"type": "array", "items": {"type": "string"}},
            "result": {"type": "string", "description": "In the format of `output`."},
        },
    }
    return {
        "operationId": name,
        "summary": "As UDPipe's service has it.",
        "responses": {
            "200": _json("The result.", answer),
            **_errors("text/plain", 400, 408, 413, 415, 429, 503),
        },
    }


def _process_parameters() -> Json:
    tokenizer = "Cut the data, which is text, into sentences and words: empty, or presegmented, ranges, normalized_spaces."
    return {
        "data": {"type": "string", "description": "The text or the sentences."},
        "model": {"type": "string", "description": "One of /models; a part before a hyphen will do."},
        "tokenizer": {"type": "string", "description": tokenizer},
        "tagger": {"type": "string", "description": "Find lemmas and tags, unless it is none."},
        "parser": {"type": "string", "description": "Find trees, unless it is none."},
        "input": _format("What the data is, without a tokenizer.", INPUTS),
        "output": _format("What the result is.", OUTPUTS),
    }


def _format(told: str, names: Iterable[str]) -> Json:
    pattern = rf"^(({'|'.join(names)})(=.*)?)?$"
    return {"type": "string", "pattern": pattern, "default": "conllu", "description": told}


def _models(method: str) -> Json:
    steps = {"type": "array", "items": {"type": "string", "enum": ["tokenizer", "tagger", "parser"]}}
    answer = {
        "type": "object",
        "required": ["models", "default_model"],
        "properties": {
            "models": {"type": "object", "additionalProperties": steps},
            "default_model": {"type": "string"},
        },
    }
    return {
        "operationId": f"{method}Models",
        "summary": "The models and what each can do.",
        "responses": {"200": _json("The models.", answer)},
    }


def _health() -> Json:
    answer = {"type": "object", "required": ["status"], "properties": {"status": {"type": "string"}}}
    return {
        "operationId": "health",
        "summary": "Whether requests are answered.",
        "responses": {
            "200": _json("They are.", answer),
            "503": _json("The service is being stopped.", answer),
        },
    }


def _plain(name: str, told: str) -> Json:
    return {
        "operationId": name,
        "summary": told,
        "responses": {
            "200": {"description": told, "content": {"text/plain": {"schema": {"type": "string"}}}}
        },
    }


def _description() -> Json:
    return {
        "operationId": "openapi",
        "summary": "This description.",
        "responses": {"200": _json("The description.", {"type": "object"})},
    }


# ---- parts


def _schemas(models: Models) -> Json:
    text = json.dumps(json_schema()).replace("#/$defs/", "#/components/schemas/")
    document: Json = json.loads(text)
    parts = document.pop("$defs")
    document.pop("$schema", None)
    document["properties"] = {"model": {"type": "string"}, **document["properties"]}
    parts["sentence"]["properties"]["svg"] = {
        "type": "string",
        "description": "The tree as a picture, if `pictures` asks for it.",
    }
    error = {"type": "object", "required": ["error"], "properties": {"error": {"type": "string"}}}
    return {
        "Request": _request(models),
        "Constraints": _constraints(),
        "Document": document,
        "Error": error,
        **parts,
    }


def _request(models: Models) -> Json:
    options = declared(ParseOptions)
    words = {"type": "array", "items": {"type": "array", "minItems": 1, "items": {"type": "string"}}}
    properties: Json = {
        "text": {"type": "string", "description": "Raw text."},
        "words": {**words, "description": "Sentences that are cut into words already."},
        "conllu": {"type": "string", "description": "Sentences in CoNLL-U."},
        "document": {**_ref("Document"), "description": "Sentences as the answer has them."},
        "model": {
            "type": "string",
            "examples": [model.name for model in models.all],
            "description": "One of /models.",
        },
        **{name: _option(options[name]) for name in OPTIONS},
        "constraints": {
            "type": "array",
            "items": {"anyOf": [_ref("Constraints"), {"type": "null"}]},
            "description": "What the tree of each sentence must obey.",
        },
        "pictures": {"type": "boolean", "description": "Add a picture (SVG) to each sentence."},
    }
    properties["k_best"]["maximum"] = MOST_TREES
    properties["confidence"]["default"] = True
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
        "oneOf": [{"required": [name]} for name in PARSED],
    }


def _option(own: Declared) -> Json:
    kind = _TYPES.get(own.base, "string")
    item: Json = {"type": kind}
    if own.choices:
        item["enum"] = list(own.choices)
    if own.option is not None and own.option.low is not None:
        item["minimum"] = own.option.low
    if own.option is not None and own.option.high is not None:
        item["maximum"] = own.option.high
    made = {"type": "array", "items": item} if own.many else item
    return {**made, "description": own.text}


def _constraints() -> Json:
    pair = {"type": "array", "minItems": 2, "maxItems": 2, "items": {"type": "integer"}}
    pairs = {"type": "array", "items": pair}
    told = (Constraints.__doc__ or "").split("- ``")[1:]
    texts = {
        part.partition("``")[0]: " ".join(part.partition(":")[2].split(">>>")[0].split()) for part in told
    }
    kinds: Json = {
        "required": pairs,
        "forbidden": pairs,
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "subtrees": pairs,
        "max_length": {"type": "integer", "minimum": 1},
        "roots": {"type": "array", "items": {"type": "integer"}},
    }
    properties = {name: {**kind, "description": texts[name]} for name, kind in kinds.items()}
    return {"type": "object", "additionalProperties": False, "properties": properties}


def _ref(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


def _json(told: str, schema: Json) -> Json:
    return {"description": told, "content": {"application/json": {"schema": schema}}}


def _errors(kind: str, *statuses: int) -> Json:
    schema = {"type": "string"} if kind == "text/plain" else _ref("Error")
    return {
        str(status): {"description": _SENTENCES[status], "content": {kind: {"schema": schema}}}
        for status in statuses
    }
