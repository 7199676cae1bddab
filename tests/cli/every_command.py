"""Every command with the arguments that it needs, so that tests can try all of them with files of all
kinds."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, get_args, get_type_hints

import typer

from arcwise.cli._support.files import Files
from arcwise.cli.main import COMMANDS, app

TREEBANK, OTHER, MODEL, TRANSITION, CERTIFICATE = "treebank", "other", "model", "transition", "certificate"
PIPELINE, RELEASED = "small.arcwise", "released"
"""Files that a command is given, and the folder of a treebank, by their names in the folder of a test."""

GIVEN: Mapping[str, Mapping[str, str]] = {
    "validate": {"files": TREEBANK},
    "convert": {"file": TREEBANK},
    "stats": {"files": TREEBANK},
    "search": {"query": "upos=VERB", "files": TREEBANK, "changes": "upos=X"},
    "show": {"file": TREEBANK},
    "mine": {"file": TREEBANK, "signals": "frames,rules"},
    "annotate": {"file": TREEBANK, "model": MODEL, "port": "0"},
    "split": {"file": TREEBANK, "folder": "parts", "parts": "a=1,b=1"},
    "diff": {"a": TREEBANK, "b": TREEBANK},
    "merge": {"base": TREEBANK, "mine": OTHER, "theirs": TREEBANK},
    "projectivise": {"file": TREEBANK},
    "enhance": {"file": TREEBANK},
    "train": {"train": TREEBANK, "model": "new", "epochs": "1", "threads": "1"},
    "parse": {"inputs": TREEBANK, "model": MODEL},
    "serve": {"model": MODEL, "port": "0"},
    "info": {"model": MODEL},
    "calibrate": {"treebank": TREEBANK, "model": MODEL},
    "features": {},
    "models list": {},
    "models install": {"source": PIPELINE, "folder": "installed"},
    "models train": {"name": "xx", "treebank": RELEASED, "folder": "installed"},
    "models card": {"model": PIPELINE},
    "induce": {"corpus": TREEBANK, "learner": "global", "epsilon": "0.5"},
    "verify": {"certificate": CERTIFICATE, "corpus": TREEBANK},
    "evaluate": {"gold": TREEBANK, "system": OTHER},
    "compare": {"gold": TREEBANK, "a": OTHER, "b": TREEBANK},
    "systems": {},
    "coverage": {"treebank": TREEBANK, "system": "arc-eager"},
    "trace": {"sentence": TREEBANK, "model": TRANSITION},
    "help": {},
    "version": {},
}
"""Command → parameter → value."""

PLAIN = {
    "command": "a command",
    "by": "names of breakdowns, or of units",
    "columns": "names of columns",
    "keep": "names of columns",
    "source": "a format",
    "target": "a format",
    "sentence": "which sentences",
    "parts": "names and shares",
    "rule_names": "names of rules",
    "parser": "a kind of parser",
    "note": "notes to keep",
    "name": "how messages call a file",
    "trainer": "a name",
    "features": "a name",
    "size": "a name",
    "objective": "a name",
    "device": "a name",
    "update": "a name",
    "unreachable": "a name",
    "feature_column": "a column",
    "precision": "a name",
    "text": "a text",
    "input_format": "a format",
    "errors": "a name",
    "level": "a name",
    "decode": "a name",
    "capacities": "numbers",
    "distances": "numbers",
    "tags": "a column",
    "rlt": "a name",
    "query": "a query",
    "changes": "what is set",
    "table": "names of properties",
    "to": "a format",
    "text_field": "a name",
    "id_field": "a name",
    "engine": "a name",
    "address": "a machine",
    "compress": "a name",
    "host": "an address",
    "allow_origin": "an address",
    "signals": "names of signals",
    "sha256": "a hash",
    "licence": "a licence",
    "language_name": "a language",
}
"""Parameters that take text and name no file, and what they are."""


def names() -> list[str]:
    """All commands."""
    return [name for section in COMMANDS.values() for name in section]


def module(command: str) -> Any:
    return import_module(f"arcwise.cli.{re.sub('[- ]', '_', command)}")


def files_of(command: str) -> Files:
    return getattr(module(command), "FILES", Files())


def text_parameters(command: str) -> set[str]:
    """The parameters of a command that take text, in which the name of a file might stand."""
    hints = get_type_hints(module(command).run)
    return {
        name
        for name in inspect.signature(module(command).run).parameters
        if str in (hints[name], *get_args(hints[name])) or list[str] in (hints[name], *get_args(hints[name]))
    }


@dataclass(frozen=True)
class Prepared:
    """A folder with the files of ``GIVEN`` in it, each under its name."""

    folder: Path

    def arguments(self, command: str, **changed: str | None) -> list[str]:
        """The command line of a command, with parameters given, changed or (None) left out."""
        here = {
            TREEBANK,
            OTHER,
            MODEL,
            TRANSITION,
            CERTIFICATE,
            PIPELINE,
            RELEASED,
            "new",
            "parts",
            "installed",
        }
        given = {
            name: str(self.folder / value) if value in here else value
            for name, value in GIVEN[command].items()
        } | changed
        line = [*command.split(), *(["--quiet"] if command in ("train", "models train") else [])]
        line += ["--learn", "--overwrite"] if "learned" in changed else []
        line += ["--overwrite"] if command == "models train" else []
        positions: list[str] = []
        group: Any = typer.main.get_command(app)
        for parameter in group.get_command(None, command).params:
            value = given.pop(parameter.name, None)
            if value is not None and parameter.param_type_name == "argument":
                positions.append(value)
            elif value is not None:
                line += [max(parameter.opts, key=len), value]
        assert not given, f"arcwise {command} has no parameter {given}"
        return [*line, *positions]
