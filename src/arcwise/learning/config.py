"""Configurations: frozen dataclasses that are read from TOML and kept in model files."""

from __future__ import annotations

import sys
import types
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from arcwise.errors import InputError
from arcwise.treebanks.files import PathLike, read_bytes

if sys.version_info >= (3, 11):
    import tomllib
else:  # pragma: no cover
    import tomli as tomllib

T = TypeVar("T")


def from_toml(kind: type[T], path: PathLike, **changes: Any) -> T:
    """The configuration in a TOML file; keyword arguments that are not None win over the file."""
    values = read_toml(path)
    return from_dict(kind, values | {k: v for k, v in changes.items() if v is not None}, where=str(path))


def read_toml(path: PathLike) -> dict[str, Any]:
    """The tables of a TOML file."""
    try:
        return tomllib.loads(read_bytes(path).decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: is no TOML ({error})") from error


def from_dict(kind: type[T], values: Mapping[str, Any], *, where: str = "configuration") -> T:
    """A dataclass from plain values, each checked; an unknown key is an error that lists the known ones.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Training:
    ...     epochs: int = 8
    >>> from_dict(Training, {"epochs": 3})
    Training(epochs=3)
    >>> from_dict(Training, {"epoch": 3})
    Traceback (most recent call last):
    arcwise.errors.InputError: configuration: found key 'epoch', expected one of epochs
    """
    assert is_dataclass(kind)
    hints = get_type_hints(kind)
    known = {f.name: f for f in fields(kind)}
    for key in values:
        if key not in known:
            raise InputError(f"{where}: found key {key!r}, expected one of {', '.join(known)}")
    _require(known, values, where)
    return kind(**{key: _checked(hints[key], value, f"{where}: {key}") for key, value in values.items()})


def to_dict(config: Any) -> dict[str, Any]:
    """Plain values from a dataclass, nested ones included, for JSON or TOML."""
    plain: dict[str, Any] = {}
    for f in fields(config):
        value = getattr(config, f.name)
        plain[f.name] = to_dict(value) if is_dataclass(value) else value
    return plain


def _require(known: Mapping[str, Field[Any]], values: Mapping[str, Any], where: str) -> None:
    for name, f in known.items():
        if name not in values and f.default is MISSING and f.default_factory is MISSING:
            raise InputError(f"{where}: has no key {name!r}")


def _checked(hint: Any, value: Any, where: str) -> Any:
    """The value in the type of the field, or an error that names both."""
    origin = get_origin(hint)
    if is_dataclass(hint) and isinstance(hint, type) and isinstance(value, Mapping):
        return from_dict(hint, value, where=where)
    if origin in (Union, types.UnionType):
        choices = [c for c in get_args(hint) if c is not type(None)]
        return None if value is None else _checked(choices[0], value, where)
    if origin is Literal:
        if value not in get_args(hint):
            raise InputError(
                f"{where}: found {value!r}, expected one of {', '.join(map(str, get_args(hint)))}"
            )
        return value
    if origin is tuple and isinstance(value, list | tuple):
        return tuple(_checked(get_args(hint)[0], item, where) for item in value)
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, hint) or (hint is int and isinstance(value, bool)):
        raise InputError(f"{where}: found {value!r}, expected {_words(hint)}")
    return value


def _words(hint: Any) -> str:
    return {int: "a whole number", float: "a number", str: "text", bool: "true or false"}.get(hint, str(hint))
