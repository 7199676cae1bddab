"""Configurations: frozen dataclasses that are read from TOML and kept in model files."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, TypeVar

from arcwise.errors import InputError, OptionError
from arcwise.learning.options import Declared, declared
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
    known = declared(kind)
    for key in values:
        if key not in known:
            raise InputError(f"{where}: found key {key!r}, expected one of {', '.join(known)}")
    _require(kind, values, where)
    try:
        return kind(**{key: _checked(known[key], value, where) for key, value in values.items()})
    except OptionError as error:
        raise error.inside(where) if not error.where else error from error


def to_dict(config: Any) -> dict[str, Any]:
    """Plain values from a dataclass, nested ones included, for JSON or TOML."""
    plain: dict[str, Any] = {}
    for f in fields(config):
        value = getattr(config, f.name)
        plain[f.name] = to_dict(value) if is_dataclass(value) else value
    return plain


def _require(kind: type[Any], values: Mapping[str, Any], where: str) -> None:
    for f in fields(kind):
        if f.name not in values and f.default is MISSING and f.default_factory is MISSING:
            raise InputError(f"{where}: has no key {f.name!r}")


def _checked(known: Declared, value: Any, where: str) -> Any:
    """The value in the type of the field; a section is a configuration of its own."""
    if not is_dataclass(known.base) or not isinstance(value, Mapping):
        return known.checked(value)
    kind: Any = known.base
    try:
        return from_dict(kind, value, where=f"{where}: {known.name}")
    except OptionError as error:
        raise OptionError(f"{known.name}.{error.name}", error.reason, where) from error
