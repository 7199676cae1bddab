"""Declared JSON: one declaration gives the checks, the error messages and the JSON Schema.

An object is a subclass of ``JsonObject``; ``check_json`` turns a JSON value into an instance of it, or raises
``InputError`` with one sentence that locates the wrong value and names the expected one. ``json_schema``
describes the same class for others.

pydantic does the work. Import this module only where JSON is read: pydantic takes 50 ms to import, and
``arcwise --help`` needs none of it.

>>> class Point(JsonObject, extra="forbid"):
...     x: Whole
...     label: Text | None = None
>>> check_json(Point, {"x": 3}, "point").x
3
>>> check_json(Point, {"x": 3, "label": 4}, "point")
Traceback (most recent call last):
arcwise.errors.InputError: label: found 4, expected text
>>> json_schema(Point)["properties"]
{'x': {'maximum': 2147483647, 'minimum': -2147483647, 'type': 'integer'}, 'label': {'type': 'string'}}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, Field, GetCoreSchemaHandler, Strict, ValidationError, model_validator
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import CoreSchema, ErrorDetails, PydanticCustomError, core_schema

from arcwise.errors import InputError

# Strict: JSON is typed, and pydantic would otherwise read "3" and true as numbers.
Text = Annotated[str, Strict()]
Flag = Annotated[bool, Strict()]
Whole = Annotated[int, Strict(), Field(ge=-(2**31) + 1, le=2**31 - 1)]  # what native code can take


@dataclass(frozen=True)
class Expected:
    """Annotation: the expected value as described in messages, in place of pydantic's wording."""

    text: str

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.custom_error_schema(handler(source), _EXPECTED, custom_error_message=self.text)


_EXPECTED, _UNKNOWN = "expected", "unknown"
Probability = Annotated[float, Strict(), Field(ge=0, le=1), Expected("a number from 0 to 1")]


def refused(expected: str) -> PydanticCustomError:
    """The error that custom validators raise for an unexpected value."""
    return PydanticCustomError(_EXPECTED, expected)


def _stop_at_first_error(schema: Any) -> None:
    """Let lists report their first wrong item only: an error for each of a million items takes gigabytes."""
    if isinstance(schema, dict):
        if schema.get("type") == "list":
            schema["fail_fast"] = True
        for part in schema.values():
            _stop_at_first_error(part)
    elif isinstance(schema, list | tuple):
        for part in schema:
            _stop_at_first_error(part)


class JsonObject(BaseModel):
    """An object of JSON. Further fields are ignored; ``extra="forbid"`` refuses them."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        schema = handler(source)
        _stop_at_first_error(schema)
        return schema

    @model_validator(mode="before")
    @classmethod
    def _check_names(cls, value: Any) -> Any:
        """Any mapping will do, not only ``dict``. An unknown name is refused with the names that are
        known."""
        if not isinstance(value, dict):
            value = dict(value) if isinstance(value, Mapping) else value
        if cls.model_config.get("extra") == "forbid" and isinstance(value, dict):
            names = cls.model_fields
            for name in value:
                if name not in names:
                    raise PydanticCustomError(
                        _UNKNOWN, "unknown field {name}", {"name": repr(name), "names": ", ".join(names)}
                    )
        return value


Model = TypeVar("Model", bound=JsonObject)


def check_json(kind: type[Model], value: Any, where: str, *, inside: str = "") -> Model:
    """The value as an instance of ``kind``. ``where``: the name of the whole value in messages;
    ``inside``: text before the path of a part in messages."""
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        raise InputError(_message(error.errors(include_url=False)[0], where, inside)) from None


def json_schema(kind: type[JsonObject], refs: str = "#/$defs/{model}") -> dict[str, Any]:
    """The JSON Schema of a declared object. ``refs``: the form of references to ``$defs``."""
    return kind.model_json_schema(ref_template=refs, schema_generator=_PlainSchema)


def shown(value: Any) -> str:
    """A value as messages show it, cut where it is long.

    >>> shown(None), shown(3), len(shown("a" * 100))
    ('nothing', '3', 60)
    """
    text = "nothing" if value is None else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _message(error: ErrorDetails, where: str, inside: str) -> str:
    """
    >>> check_json(JsonObject, [], "body")
    Traceback (most recent call last):
    arcwise.errors.InputError: body: found [], expected an object
    """
    kind, location, context = error["type"], error["loc"], error.get("ctx", {})
    if kind == "missing":
        return f"{_path(location[:-1], where, inside)}: {location[-1]!r} is missing"
    place = _path(location, where, inside)
    if kind == _UNKNOWN:
        return f"{place}: found the field {context['name']}, expected some of {context['names']}"
    expected = error["msg"] if kind == _EXPECTED else _expected(kind, context, error["msg"])
    return f"{place}: found {shown(error['input'])}, expected {expected}"


def _expected(kind: str, context: Mapping[str, Any], default: str) -> str:
    types = {
        "string_type": "text",
        "bool_type": "true or false",
        "int_type": "a whole number",
        "float_type": "a number",
        "list_type": "a list",
        "dict_type": "an object",
        "model_type": "an object",
        "too_short": "at least one"
        if context.get("min_length") == 1
        else f"at least {context.get('min_length')}",
        "greater_than_equal": f"at least {context.get('ge')}",
        "less_than_equal": f"at most {context.get('le')}",
    }
    return types.get(kind, default)


def _path(location: tuple[int | str, ...], where: str, path: str) -> str:
    """``words[0].form``. Names in brackets are pydantic's own: the member of a union, the key of an
    object."""
    for part in location:
        if isinstance(part, int):
            path += f"[{part}]"
        elif not part.startswith(("<", "[")):
            path += f".{part}" if path else part
    return path or where


class _PlainSchema(GenerateJsonSchema):
    """JSON Schema without what only pydantic needs: generated titles, defaults, and null, which is written as
    no field at all."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def nullable_schema(self, schema: core_schema.NullableSchema) -> dict[str, Any]:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> dict[str, Any]:
        return self.generate_inner(schema["schema"])

    def custom_error_schema(self, schema: core_schema.CustomErrorSchema) -> dict[str, Any]:
        return self.generate_inner(schema["schema"])

    def tagged_union_schema(self, schema: core_schema.TaggedUnionSchema) -> dict[str, Any]:
        """``anyOf``: which member is meant is known from the type of the value."""
        return {"anyOf": [self.generate_inner(choice) for choice in schema["choices"].values()]}

    def model_schema(self, schema: core_schema.ModelSchema) -> dict[str, Any]:
        made = super().model_schema(schema)
        if "title" not in schema["cls"].model_config:
            made.pop("title", None)
        return made
