"""The registry of model kinds: open, load and find models."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from arcwise.errors import ArcwiseError, MissingExtraError, ModelError, OptionError
from arcwise.learning.model_file import Packed, read_model, starts_as_json
from arcwise.log import logger
from arcwise.models.installed import find_model, how_to_get, installed_names, shipped_models
from arcwise.models.model_checks import check_column, check_packed, check_parser
from arcwise.parsing.parser import Parser
from arcwise.treebanks.files import PathLike, path_kind

if TYPE_CHECKING:
    from arcwise.pipeline.pipeline import Pipeline, Shipped


@dataclass(frozen=True)
class ModelKind:
    """A kind of model. Its package is imported only when a model of the kind is opened or trained."""

    description: str
    parser: str
    """Its parser class, as ``module:name``; restores a packed model."""
    config: str | None = None
    """Its configuration class, a frozen dataclass; None if ``train_parser`` cannot train this kind."""


def _class(path: str) -> type[Any]:
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)  # type: ignore[no-any-return]


KINDS: dict[str, ModelKind] = {
    "graph": ModelKind(
        "graph-based, exact inference", "arcwise.graph:GraphParser", "arcwise.graph:GraphConfig"
    ),
    "transition": ModelKind(
        "transition-based, greedy or with a beam",
        "arcwise.transition:TransitionParser",
        "arcwise.transition:TransitionConfig",
    ),
    "neural": ModelKind(
        "neural, exact inference", "arcwise.neural:NeuralParser", "arcwise.neural:NeuralConfig"
    ),
    "siblings": ModelKind(
        "graph-based with pairs of siblings, exact inference",
        "arcwise.siblings:SiblingParser",
        "arcwise.siblings:SiblingConfig",
    ),
    "dmv": ModelKind("a grammar, made by 'arcwise induce'", "arcwise.induction.parser:DmvParser"),
    "pipeline": ModelKind(
        "from raw text to trees, made by 'arcwise train --pipeline'", "arcwise.pipeline.pipeline:Pipeline"
    ),
    "tag-averaged": ModelKind(
        "graph-based in a small pipeline, averaged over several taggers",
        "arcwise.pipeline.tag_averaging:TagAveragedParser",
    ),
}
"""Every kind of model by name."""
_CONTAINERS = ("pipeline", "tag-averaged")
"""Kinds that contain a parser of another kind."""


def trainable() -> list[str]:
    """List the kinds of parser that ``train_parser`` can train."""
    return [name for name, kind in KINDS.items() if kind.config is not None]


def trainable_kind(name: str) -> tuple[type[Any], type[Any]]:
    """Return the parser class and the configuration class of a trainable kind."""
    kind = KINDS.get(name)
    if kind is None or kind.config is None:
        hint = f" ({name} is {kind.description})" if kind else ""
        raise OptionError("kind", f"found {name!r}, expected one of {', '.join(trainable())}{hint}")
    return _class(kind.parser), _class(kind.config)


_DAMAGE = (
    ArcwiseError,
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    RecursionError,
    TypeError,
    ValueError,
)
"""Exceptions raised by code that reads values which training never writes."""


def open_packed(packed: Packed) -> Parser:
    """Restore a parser of any kind from a packed model."""
    if packed.kind not in KINDS:
        raise ModelError(f"{packed.path}: found kind {packed.kind!r}, expected one of {', '.join(KINDS)}")
    others = {"parser_of": open_packed} if packed.kind in _CONTAINERS else {}
    restore = _class(KINDS[packed.kind].parser).unpack
    try:
        check_packed(packed)
        parser: Parser = restore(packed, **others)
        check_parser(parser, packed)
        return parser
    except (ModelError, MissingExtraError):
        raise
    except _DAMAGE as error:
        # Whatever an unexpected value of the file leads to: the file is to blame, in one sentence.
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise ModelError(f"{packed.path}: is a damaged {packed.kind} model ({reason})") from error


def open_model(path: PathLike) -> Parser:
    """Open a model file of any kind, or a shipped model by name."""
    path = model_path(path)
    start = perf_counter()
    if starts_as_json(path):
        from arcwise.induction.parser import DmvParser

        return _load_grammar(DmvParser, path)
    packed = read_model(path)
    parser = open_packed(packed)
    _log_loaded(packed, perf_counter() - start)
    return parser


def _load_grammar(parser: Any, path: Path) -> Parser:
    try:
        grammar = parser.load(path)
        check_column(grammar.column, path)
        return grammar  # type: ignore[no-any-return]
    except ArcwiseError:
        raise
    except _DAMAGE as error:
        raise ModelError(f"{path}: is a damaged grammar ({error})") from error


def written_by(name: PathLike) -> str | None:
    """Return the version of arcwise that wrote a model.

    None for files of 0.2 and earlier, which do not record it.
    """
    path = model_path(name)
    if starts_as_json(path):
        from arcwise.induction.dmv import read_json

        values = read_json(path)
        version = values.get("written_by") if isinstance(values, dict) else None
        return None if version is None else str(version)
    return read_model(path).written_by


def _log_loaded(packed: Packed, seconds: float) -> None:
    logger.info(
        "model %s loaded in %.2f s: %s, %.1f MB, written by arcwise %s",
        packed.path,
        seconds,
        packed.kind,
        (packed.size or 0) / 1e6,
        packed.written_by or "(unknown version)",
    )


def model_path(name: PathLike) -> Path:
    """Return the file of a shipped or installed model (``en``), or the path if it is not such a name."""
    path = find_model(name) if isinstance(name, str) else None
    if path is None:
        path = Path(name)
    if path_kind(path) is None:
        raise ModelError(
            f"{name}: no such model file or installed model ({_named(installed_names())}); "
            + how_to_get(str(name))
        )
    return path


def _named(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"


def load(name: PathLike | None = None) -> Pipeline:
    """Load a pipeline: a shipped or installed model by name, or a file of ``arcwise train --pipeline``.

    >>> nlp = load("en")
    >>> doc = nlp("The birds sing. They fly, too!")
    >>> [sentence.forms for sentence in doc]
    [['The', 'birds', 'sing', '.'], ['They', 'fly', ',', 'too', '!']]
    >>> doc.sentences[0].tree.heads[1:].tolist()
    [2, 3, 0, 3]
    """
    from arcwise.pipeline.pipeline import VERSION, Pipeline, Shipped

    if name is None:
        raise ModelError(
            f"name: found none, expected an installed model ({_named(installed_names())}) or a file; "
            + how_to_get("NAME")
        )
    start = perf_counter()
    packed = read_model(model_path(name))
    packed.expect(Pipeline.kind, VERSION)
    pipeline = open_packed(packed)
    assert isinstance(pipeline, Pipeline)
    _log_loaded(packed, perf_counter() - start)
    if isinstance(name, str) and name in shipped_models():
        parts = pipeline.tokenizer, pipeline.tagger, pipeline.parser
        pipeline.shipped = Shipped(parts, reload_shipped, lambda: (name, _digest(name)))
        _IN_USE[name] = pipeline.shipped
    return pipeline


_IN_USE: WeakValueDictionary[str, Shipped] = WeakValueDictionary()
"""Shipped models in use by this process, so that unpickled pipelines can share their parts."""


@cache
def _digest(name: str) -> str:
    """Hash of a shipped model file, which differs between versions of arcwise."""
    return hashlib.sha256(shipped_models()[name].read_bytes()).hexdigest()


def reload_shipped(name: str, digest: str, card: Mapping[str, Any]) -> Pipeline:
    """Unpickle a shipped pipeline by name; it shares the parts of one that this process already uses."""
    from arcwise.pipeline.pipeline import Pipeline

    if name not in shipped_models() or _digest(name) != digest:
        raise ModelError(
            f"{name}: the pickled pipeline is from another version of arcwise, with a different model; "
            "install the same version in both processes"
        )
    shipped = _IN_USE.get(name) or load(name).shipped
    assert shipped is not None
    pipeline = Pipeline(*shipped.parts, card=card)
    pipeline.shipped = shipped
    return pipeline
