"""A small checker of JSON Schema, for what ``json_schema()`` uses of it; a keyword that it does not know is
an error."""

import re
from collections.abc import Iterator
from typing import Any

_TYPES: dict[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": (int, float),
}
_KNOWN = {
    "$schema",
    "$defs",
    "$ref",
    "title",
    "description",
    "type",
    "required",
    "properties",
    "additionalProperties",
    "items",
    "minItems",
    "minimum",
    "maximum",
    "pattern",
    "anyOf",
}


def violations(value: Any, schema: dict[str, Any], root: dict[str, Any], where: str = "$") -> Iterator[str]:
    """What is wrong with a value, one line each."""
    assert set(schema) <= _KNOWN, f"{where}: {set(schema) - _KNOWN}"
    if "$ref" in schema:
        yield from violations(value, root["$defs"][schema["$ref"].removeprefix("#/$defs/")], root, where)
    if "anyOf" in schema and all(list(violations(value, own, root, where)) for own in schema["anyOf"]):
        yield f"{where}: {value!r} is none of those that it may be"
    kind = _TYPES[schema["type"]] if "type" in schema else object
    if isinstance(value, bool) or not isinstance(value, kind):
        yield f"{where}: {value!r} is no {schema['type']}"
        return
    if isinstance(value, str) and "pattern" in schema and not re.search(schema["pattern"], value):
        yield f"{where}: {value!r} is not like {schema['pattern']}"
    if isinstance(value, int | float) and not schema.get("minimum", value) <= value <= schema.get(
        "maximum", value
    ):
        yield f"{where}: {value!r} is out of bounds"
    if isinstance(value, list):
        if len(value) < schema.get("minItems", 0):
            yield f"{where}: has {len(value)} items"
        for number, own in enumerate(value):
            yield from violations(own, schema.get("items", {}), root, f"{where}[{number}]")
    if isinstance(value, dict):
        yield from _of_object(value, schema, root, where)


def _of_object(
    value: dict[str, Any], schema: dict[str, Any], root: dict[str, Any], where: str
) -> Iterator[str]:
    yield from (f"{where}: has no {name}" for name in schema.get("required", ()) if name not in value)
    others = schema.get("additionalProperties", {})
    for name, own in value.items():
        if name in schema.get("properties", {}):
            yield from violations(own, schema["properties"][name], root, f"{where}.{name}")
        elif others is False:
            yield f"{where}: has {name}"
        else:
            yield from violations(own, others, root, f"{where}.{name}")
