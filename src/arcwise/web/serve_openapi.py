"""The OpenAPI description of the service, generated from the types that validate requests."""

from __future__ import annotations

import json
from importlib.metadata import version
from typing import Any

from arcwise.schema import JsonObject, Text, json_schema
from arcwise.web.serve_forms import FILES, FORM
from arcwise.web.serve_json import INPUTS, ParseAnswer, ParseRequest
from arcwise.web.serve_limits import Limits
from arcwise.web.serve_models import Models
from arcwise.web.serve_udpipe import ModelsAnswer, ProcessAnswer, ProcessParameters

Json = dict[str, Any]

JSON, TEXT = "application/json", "text/plain"
_ERRORS = {
    400: "The request is wrong: a parameter, a model, a format, or the input.",
    401: "The service needs a key, and the request has none that is known.",
    408: "The request took too long to arrive.",
    413: "The request, or a sentence of it, is too large.",
    415: "The body has an unsupported content type.",
    429: "Too many requests are waiting.",
    503: "The response took too long, or the service is shutting down.",
}


class HealthAnswer(JsonObject):
    """The response of ``/healthz``."""

    status: Text
    models: list[Text] | None = None


class ErrorAnswer(JsonObject):
    """The response to a request that is refused."""

    error: Text


def openapi(models: Models, limits: Limits) -> Json:
    """The description that ``/v1/openapi.json`` returns."""
    schemas = _schemas(models)
    parameters = schemas.pop("Parameters")
    form = {"content": {FORM: {"schema": parameters}, FILES: {"schema": parameters}}}
    query = [
        {
            "name": name,
            "in": "query",
            "required": name == "data",
            "schema": schema,
            "description": schema["description"],
        }
        for name, schema in parameters["properties"].items()
    ]
    body = {"required": True, "content": {JSON: {"schema": _ref("Request")}}}
    health = {
        "200": _response("Ready.", "Health"),
        "503": _response("The service is shutting down.", "Health"),
    }
    trees = _response("The trees.", "Document")
    result = _response("The result.", "Process")
    listed = _response("The models.", "Models")
    text = {"description": "Metrics.", "content": {TEXT: {"schema": {"type": "string"}}}}
    description = {"description": "The description.", "content": {JSON: {"schema": {"type": "object"}}}}
    process = "Parse like UDPipe's service."
    model_list = "The models and their steps."
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "arcwise",
            "version": version("arcwise"),
            "description": "Dependency parsing with confidences.",
        },
        "paths": {
            "/v1/parse": {
                "post": _operation(
                    "parse",
                    "Parse text, words or CoNLL-U, with confidences, k best trees, alternatives and "
                    "constraints.",
                    {"200": trees, **_errors(JSON)},
                    requestBody=body,
                )
            },
            "/process": {
                "get": _operation("process", process, {"200": result, **_errors(TEXT)}, parameters=query),
                "post": _operation(
                    "processForm", process, {"200": result, **_errors(TEXT)}, requestBody=form
                ),
            },
            "/models": {
                "get": _operation("getModels", model_list, {"200": listed}),
                "post": _operation("postModels", model_list, {"200": listed}),
            },
            "/healthz": {"get": _operation("health", "Readiness, with the models.", health)},
            "/readyz": {"get": _operation("ready", "Readiness of the worker that answers.", health)},
            "/livez": {"get": _operation("live", "Liveness.", {"200": health["200"]})},
            "/metrics": {"get": _operation("metrics", "Metrics for Prometheus.", {"200": text})},
            "/v1/openapi.json": {"get": _operation("openapi", "This description.", {"200": description})},
        },
        "components": {"schemas": schemas},
    }


def _schemas(models: Models) -> Json:
    """The schema of each type, and of the types that it refers to."""
    types: dict[str, Any] = {
        "Request": ParseRequest,
        "Document": ParseAnswer,
        "Parameters": ProcessParameters,
        "Process": ProcessAnswer,
        "Models": ModelsAnswer,
        "Health": HealthAnswer,
        "Error": ErrorAnswer,
    }
    schemas: Json = {}
    for name, kind in types.items():
        text = json.dumps(json_schema(kind, "#/components/schemas/{model}"))
        schema = json.loads(text.replace("#/components/schemas/Json", "#/components/schemas/"))
        parts = schema.pop("$defs", {})
        schemas |= {name: schema, **{part.removeprefix("Json"): parts[part] for part in parts}}
    request = schemas["Request"]
    request["properties"]["document"] |= _ref("Document")
    request["oneOf"] = [{"required": [name]} for name in INPUTS]
    request["properties"]["model"]["examples"] = [model.name for model in models.all]
    return schemas


def _operation(name: str, summary: str, responses: Json, **parts: Any) -> Json:
    return {"operationId": name, "summary": summary, **parts, "responses": responses}


def _ref(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


def _response(description: str, name: str) -> Json:
    return {"description": description, "content": {JSON: {"schema": _ref(name)}}}


def _errors(kind: str) -> Json:
    schema = {"type": "string"} if kind == TEXT else _ref("Error")
    return {
        str(status): {"description": text, "content": {kind: {"schema": schema}}}
        for status, text in _ERRORS.items()
    }
