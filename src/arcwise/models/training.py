"""Training a parser of any kind by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arcwise.evaluation.attachment import uas_las
from arcwise.learning.config import from_dict, from_toml
from arcwise.learning.progress import Progress
from arcwise.models.registry import open_model, trained_kind
from arcwise.parsing.parser import Parser
from arcwise.treebanks import Treebank
from arcwise.treebanks.files import PathLike


def parser_config(kind: str, config: PathLike | None, options: Mapping[str, Any]) -> Any:
    """The configuration of a kind of parser; ``options`` that are not None win over the TOML file ``config``."""
    _, settings = trained_kind(kind)
    given = {name: value for name, value in options.items() if value is not None}
    if config is None:
        return from_dict(settings, given, where=f"a {kind} parser")
    return from_toml(settings, config, **given)


def train_parser(
    kind: str,
    train: Treebank,
    dev: Treebank | None,
    *,
    config: PathLike | None,
    options: Mapping[str, Any],
    threads: int,
    progress: Progress,
) -> Parser:
    """A parser of that kind; ``options`` that are not None win over the TOML file ``config``."""
    chosen = parser_config(kind, config, options)
    parser, _ = trained_kind(kind)
    trained: Parser = parser.train(train, dev, config=chosen, threads=threads, progress=progress)
    return trained


def precision_cost(parser: Parser, path: PathLike, dev: Treebank, *, threads: int) -> str:
    """What storing the weights in less precision changed: heads and labels of the development data, before and after."""
    before, after = (p.parse(dev, threads=threads) for p in (parser, open_model(path)))
    labels = dev.column("deprel")
    told = [uas_las(dev.heads, parsed.heads, labels, parsed.column("deprel")) for parsed in (before, after)]
    return f"cost of the stored precision on the development data: {told[0]} before, {told[1]} after"
