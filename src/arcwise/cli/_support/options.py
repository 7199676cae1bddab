"""Options of commands that stand for options of the library: their help is made from the declarations, errors get the command line's spelling."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any

import typer

from arcwise.errors import InputError, OptionError
from arcwise.learning.options import declared


def from_declaration(kind: type[Any], name: str, *flags: str, text: str = "", default: bool = False) -> Any:
    """The typer option of a field of a configuration: its text (or another one), the values that it takes, and if asked its default."""
    known = declared(kind)[name]
    told = [f"default: {known.default}"] if default else []
    told += [] if known.base is bool else [known.values]
    values = f" [{'; '.join(told)}]" if told else ""
    return typer.Option(*flags, help=f"{text or known.text}{values}", show_default=False)


def spelled_for_the_command_line(run: Callable[..., None], aliases: Mapping[str, str]) -> Callable[..., None]:
    """The command ``run``, whose errors name its options (``--k-best``) where the library names arguments (``k_best``).

    ``aliases``: argument of the library → parameter of the command, where they differ.
    """

    defaults = {name: parameter.default for name, parameter in signature(run).parameters.items()}

    @functools.wraps(run)
    def wrapped(**given: Any) -> None:
        try:
            run(**given)
        except OptionError as error:
            parameter = aliases.get(error.name, error.name)
            if given.get(parameter) in (defaults.get(parameter), []):  # not from the command line, then
                raise InputError(_with_flags(str(error), given, aliases)) from error
            raise InputError(f"{_flag(parameter)}: {_with_flags(error.reason, given, aliases)}") from error
        except InputError as error:
            raise InputError(_with_flags(str(error), given, aliases)) from error

    return wrapped


def _with_flags(text: str, given: Mapping[str, Any], aliases: Mapping[str, str]) -> str:
    """``errors="replace"`` in a message becomes ``--errors replace`` if the command has such an option."""

    def flag(match: re.Match[str]) -> str:
        parameter = aliases.get(match[1], match[1])
        return f"{_flag(parameter)} {match[2]}" if parameter in given else match[0]

    return re.sub(r'\b(\w+)="([\w-]+)"', flag, text)


def _flag(parameter: str) -> str:
    return f"--{parameter.replace('_', '-')}"
