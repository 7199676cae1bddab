"""Options of commands: declared in dataclasses, documented by the declarations of the library, and named in
errors as users type them."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from inspect import Parameter, Signature, signature
from typing import Any, get_type_hints

import typer

from arcwise.errors import InputError, OptionError
from arcwise.learning.options import declared


def takes_options(run: Callable[[Any], None]) -> Callable[..., None]:
    """The command for a function ``run(arguments: SomeDataclass)``, with a parameter for each field of the
    dataclass.

    typer reads the options of a command from a signature. A field whose type is a dataclass is a group: its
    fields are parameters of the command too, in its place.

    >>> from dataclasses import make_dataclass
    >>> Size = make_dataclass("Size", [("width", int, 1)])
    >>> Options = make_dataclass("Options", [("name", str), ("size", Size)])
    >>> @takes_options
    ... def draw(arguments: Options) -> None:
    ...     print(arguments)
    >>> draw(name="a", width=2)
    Options(name='a', size=Size(width=2))
    """
    (kind,) = (hint for name, hint in get_type_hints(run).items() if name != "return")

    @functools.wraps(run)
    def command(**values: Any) -> None:
        run(_grouped(kind, values))

    parameters = [
        Parameter(
            f.name,
            Parameter.KEYWORD_ONLY,
            default=Parameter.empty if f.default is MISSING else f.default,
            annotation=hint,
        )
        for f, hint in _flat_fields(kind)
    ]
    command.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command


def _flat_fields(kind: type[Any]) -> Iterator[tuple[Field[Any], Any]]:
    hints = get_type_hints(kind)
    for field in fields(kind):
        if is_dataclass(hints[field.name]):
            yield from _flat_fields(hints[field.name])
        else:
            yield field, hints[field.name]


def _grouped(kind: type[Any], values: Mapping[str, Any]) -> Any:
    hints = get_type_hints(kind)
    parts = {
        field.name: _grouped(hints[field.name], values)
        if is_dataclass(hints[field.name])
        else values[field.name]
        for field in fields(kind)
        if is_dataclass(hints[field.name]) or field.name in values
    }
    return kind(**parts)


def from_declaration(
    kind: type[Any], name: str, *flags: str, text: str = "", default: bool = False, value: Any = None
) -> Any:
    """The typer option for a field of a configuration: its text (or ``text``), the values it takes and, if
    asked, its default. ``value``: the default of the option itself; None leaves it to the configuration."""
    field = declared(kind)[name]
    notes = [f"default: {field.default}"] if default else []
    notes += [] if field.base is bool else [field.values]
    values = f" [{'; '.join(notes)}]" if notes else ""
    return typer.Option(value, *flags, help=f"{text or field.text}{values}", show_default=False)


def name_flags_in_errors(run: Callable[..., None], aliases: Mapping[str, str]) -> Callable[..., None]:
    """The command ``run``, with errors that name its options (``--k-best``) where the library names arguments
    (``k_best``).

    ``aliases``: argument of the library → parameter of the command, where they differ.
    """
    parameters = signature(run).parameters.items()  # the default of a typer option is inside it
    defaults = {name: getattr(p.default, "default", p.default) for name, p in parameters}

    @functools.wraps(run)
    def wrapped(**values: Any) -> None:
        try:
            run(**values)
        except OptionError as error:
            parameter = aliases.get(error.name, error.name)
            if values.get(parameter) in (defaults.get(parameter), []):  # it comes from a file
                raise InputError(_with_flags(str(error), values, aliases)) from error
            raise InputError(f"{_flag(parameter)}: {_with_flags(error.reason, values, aliases)}") from error
        except InputError as error:
            raise InputError(_with_flags(str(error), values, aliases)) from error

    return wrapped


def _with_flags(text: str, values: Mapping[str, Any], aliases: Mapping[str, str]) -> str:
    """``errors="replace"`` in a message becomes ``--errors replace`` if the command has such an option."""

    def flag(match: re.Match[str]) -> str:
        parameter = aliases.get(match[1], match[1])
        return f"{_flag(parameter)} {match[2]}" if parameter in values else match[0]

    return re.sub(r'\b(\w+)="([\w-]+)"', flag, text)


def _flag(parameter: str) -> str:
    return f"--{parameter.replace('_', '-')}"
