"""Read configurations (frozen dataclasses) from TOML files and model files."""

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
    """Read a configuration from a TOML file; keyword arguments that are not None override it."""
    values = read_toml(path)
    return from_dict(kind, values | {k: v for k, v in changes.items() if v is not None}, where=str(path))


def read_toml(path: PathLike) -> dict[str, Any]:
    """Read a TOML file."""
    try:
        return tomllib.loads(read_bytes(path).decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: is not valid TOML ({error})") from error


def from_dict(kind: type[T], values: Mapping[str, Any], *, where: str = "configuration") -> T:
    """Build a dataclass from plain values, each checked; an unknown key raises ``InputError``.

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
    fields_by_name = declared(kind)
    for key in values:
        if key not in fields_by_name:
            raise InputError(f"{where}: found key {key!r}, expected one of {', '.join(fields_by_name)}")
    for f in fields(kind):  # type: ignore[arg-type]
        if f.name not in values and f.default is MISSING and f.default_factory is MISSING:
            raise InputError(f"{where}: has no key {f.name!r}")
    try:
        return kind(**{key: _checked(fields_by_name[key], value, where) for key, value in values.items()})
    except OptionError as error:
        raise error.inside(where) if not error.where else error from error


def to_dict(config: Any) -> dict[str, Any]:
    """Convert a dataclass, also a nested one, to plain values for JSON or TOML."""
    plain: dict[str, Any] = {}
    for f in fields(config):
        value = getattr(config, f.name)
        plain[f.name] = to_dict(value) if is_dataclass(value) else value
    return plain


def _checked(declaration: Declared, value: Any, where: str) -> Any:
    """Convert a value to the type of its field; a section is a nested configuration."""
    if not is_dataclass(declaration.base) or not isinstance(value, Mapping):
        return declaration.checked(value)
    kind: Any = declaration.base
    try:
        return from_dict(kind, value, where=f"{where}: {declaration.name}")
    except OptionError as error:
        raise OptionError(f"{declaration.name}.{error.name}", error.reason, where) from error
