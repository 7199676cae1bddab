"""Opening a model file of any kind."""

from __future__ import annotations

from importlib import import_module

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


def parser_class(kind: str, *, where: str = "--parser") -> type[Parser]:
    """The parser class of a kind; ``ModelError`` with the known kinds for any other."""
    if kind not in PARSERS:
        raise ModelError(f"{where}: found kind {kind!r}, expected one of {', '.join(PARSERS)}")
    module, _, name = PARSERS[kind].rpartition(".")
    found: type[Parser] = getattr(import_module(module), name)
    return found


def open_model(path: PathLike) -> Parser:
    """The parser in a model file, whatever its kind."""
    if starts_as_json(path):
        return parser_class("dmv").load(path)
    model = read_model(path)
    return parser_class(model.kind, where=model.path).from_model(model)
