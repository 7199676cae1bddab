"""Opening a model file of any kind."""

from __future__ import annotations

from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any

from arcwise.errors import ModelError
from arcwise.learning.model_file import read_model, starts_as_json
from arcwise.learning.parser import Parser
from arcwise.treebanks.files import PathLike, path_kind

PARSERS = {
    "graph": "arcwise.graph.GraphParser",
    "transition": "arcwise.transition.TransitionParser",
    "dmv": "arcwise.induction.parser.DmvParser",
    "pipeline": "arcwise.pipeline.pipeline.Pipeline",
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


def shipped_models() -> dict[str, Path]:
    """Name → file of the models that come with arcwise.

    >>> "en" in shipped_models()
    True
    """
    folder = Path(str(files("arcwise") / "models"))
    return {path.stem: path for path in sorted(folder.glob("*.arcwise"))}


def model_path(name: PathLike) -> Path:
    """The file of a model, by the name of a shipped one (``en``) or by its path."""
    shipped = shipped_models()
    if isinstance(name, str) and name in shipped:
        return shipped[name]
    path = Path(name)
    if path_kind(path) is None:
        raise ModelError(
            f"{name}: no such model file, nor a model that comes with arcwise ({', '.join(shipped) or 'none'})"
        )
    return path


def open_model(path: PathLike) -> Parser:
    """The parser in a model file, whatever its kind; or a model that comes with arcwise, by its name."""
    path = model_path(path)
    if starts_as_json(path):
        return parser_class("dmv").load(path)
    model = read_model(path)
    return parser_class(model.kind, where=model.path).from_model(model)
