"""Opening a model file of any kind."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from arcwise.errors import ModelError
from arcwise.learning.model_file import read_model, starts_as_json
from arcwise.learning.parser import Parser
from arcwise.treebanks.files import PathLike

PARSERS = {
    "graph": "arcwise.graph.GraphParser",
    "transition": "arcwise.transition.TransitionParser",
    "dmv": "arcwise.induction.parser.DmvParser",
}
"""Kind of model → the class that reads it; imported only when needed."""


CONFIGS = {
    "graph": "arcwise.graph.GraphConfig",
    "transition": "arcwise.transition.TransitionConfig",
}
"""Kind of model → its configuration, a frozen dataclass."""


def _imported(path: str) -> Any:
    module, _, name = path.rpartition(".")
    return getattr(import_module(module), name)


def config_class(kind: str) -> type[Any]:
    """The configuration of a kind of parser."""
    found: type[Any] = _imported(CONFIGS[kind])
    return found


def parser_class(kind: str, *, where: str = "--parser") -> type[Parser]:
    """The parser class of a kind; ``ModelError`` with the known kinds for any other."""
    if kind not in PARSERS:
        raise ModelError(f"{where}: found kind {kind!r}, expected one of {', '.join(PARSERS)}")
    found: type[Parser] = _imported(PARSERS[kind])
    return found


def open_model(path: PathLike) -> Parser:
    """The parser in a model file, whatever its kind."""
    if starts_as_json(path):
        return parser_class("dmv").load(path)
    model = read_model(path)
    return parser_class(model.kind, where=model.path).from_model(model)
