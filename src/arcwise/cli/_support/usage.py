"""The help of commands: usage lines and options in plain words instead of Python types."""

from __future__ import annotations

import re
from collections.abc import Callable
from inspect import signature
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from typer.core import TyperCommand

VALUE_NAMES = {
    "FILE": "a b base beside certificate checkpoint config corpus dev file files gold html language learned "
    "mine output pdf plot png resume rules svg theirs tikz train",
    "FOLDER": "encoder folder out",
    "MODEL": "model teacher",
    "INPUT": "inputs",
    "TREEBANK": "treebank",
    "KIND": "parser",
    "NAME": "address by compress decode device engine errors features id_field text_field to input_format "
    "level name objective precision rlt size source tags target trainer unreachable update",
    "NAMES": "signals",
    "SYSTEM": "system",
    "COLUMN": "feature_column",
    "COLUMNS": "columns table",
    "QUERY": "query",
    "CHANGES": "changes",
    "KEY=VALUE": "note",
    "NUMBERS": "capacities distances",
    "PARTS": "parts",
    "RULES": "legal rule_names",
    "HASH": "sha256",
    "WHICH": "sentence",
    "COMMAND": "command",
}
"""Name of a value in help → parameters of commands. Other values are named after their type: N, NUMBER or
TEXT."""

_ARGUMENTS = {
    "gold": "GOLD",
    "system": "SYSTEM",
    "a": "A",
    "b": "B",
    "sentence": "SENTENCE",
    "certificate": "CERTIFICATE",
    "corpus": "CORPUS",
    "base": "BASE",
    "mine": "MINE",
    "theirs": "THEIRS",
}
"""Arguments with other names than options of the same parameter name."""

_BY_PARAMETER = {name: shown for shown, names in VALUE_NAMES.items() for name in names.split()}


class PlainCommand(TyperCommand):
    """A command whose help uses the value names of ``name_values``."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """``--train FILE --model FILE [OPTIONS]``, ``GOLD SYSTEM [OPTIONS]``."""
        needed = [f"{max(p.opts, key=len)} {p.metavar}" for p in self.params if _is_option(p) and p.required]
        return [*needed, *(_argument(p) for p in self.params if not _is_option(p)), "[OPTIONS]"]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Arguments, then options."""
        rows: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                option = _is_option(parameter)
                name = record[0] if option else _argument(parameter)
                rows["Options" if option else "Arguments"].append((name, _in_words(record[1])))
        for heading, lines in rows.items():
            if lines:
                with formatter.section(heading):
                    formatter.write_dl(lines)


def name_values(command: Any, run: Callable[..., Any]) -> None:
    """Name the values of the parameters of a command, unless they have names."""
    hints = get_type_hints(run)
    parameters = signature(run).parameters
    for parameter in command.params:
        if parameter.metavar is None and parameter.name in parameters:
            parameter.metavar = _value_name(parameter, hints[parameter.name])


def _value_name(parameter: Any, hint: Any) -> str | None:
    kind = _plain_type(hint)
    if get_origin(kind) is Literal:
        return "|".join(map(str, get_args(kind)))
    if not _is_option(parameter) and parameter.name in _ARGUMENTS:
        return _ARGUMENTS[parameter.name]
    words = {int: "N", float: "NUMBER", bool: None}
    return words[kind] if kind in words else _BY_PARAMETER.get(parameter.name, "TEXT")


def _plain_type(hint: Any) -> Any:
    """``str`` of ``list[str] | None``."""
    if get_origin(hint) in (Union, UnionType):
        return _plain_type(next(part for part in get_args(hint) if part is not type(None)))
    return _plain_type(get_args(hint)[0]) if get_origin(hint) is list else hint


def _is_option(parameter: Any) -> bool:
    return bool(parameter.param_type_name == "option")


def _argument(parameter: Any) -> str:
    name = f"{parameter.metavar}{'…' if parameter.nargs != 1 else ''}"
    return name if parameter.required else f"[{name}]"


def _in_words(text: str) -> str:
    """Bounds in words.

    >>> _in_words("Threads. [default: 1; x>=1]"), _in_words("Rows. [0.0<=x<=1.0; required]")
    ('Threads. [default: 1; at least 1]', 'Rows. [0 to 1; required]')
    """
    number = r"(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)"
    text = re.sub(rf"{number}<=x<={number}", lambda m: f"{_short(m[1])} to {_short(m[2])}", text)
    text = re.sub(rf"\bx>={number}", lambda m: f"at least {_short(m[1])}", text)
    return re.sub(rf"\bx<={number}", lambda m: f"at most {_short(m[1])}", text)


def _short(number: str) -> str:
    return number.removesuffix(".0")
