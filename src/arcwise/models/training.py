"""Training a parser of any kind by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from arcwise.learning.config import from_dict, from_toml
from arcwise.learning.progress import Progress
from arcwise.models.registry import open_model, trained_kind
from arcwise.parsing.parser import Parser
from arcwise.treebanks import Treebank
from arcwise.treebanks.files import PathLike


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
    parser, settings = trained_kind(kind, "--parser")
    given = {name: value for name, value in options.items() if value is not None}
    chosen = (
        from_dict(settings, given, where=f"a {kind} parser")
        if config is None
        else from_toml(settings, config, **given)
    )
    trained: Parser = parser.train(train, dev, config=chosen, threads=threads, progress=progress)
    return trained


def precision_cost(parser: Parser, path: PathLike, dev: Treebank, *, threads: int) -> str:
    """What storing the weights in less precision changed: heads and labels of the development data, before and after."""
    before, after = (p.parse(dev, threads=threads) for p in (parser, open_model(path)))
    gold, known = np.asarray(dev.heads), np.asarray(dev.heads) >= 0
    labels = dev.column("deprel")
    told = []
    for parsed in (before, after):
        right = (np.asarray(parsed.heads) == gold) & known
        both = right & np.array([a == b for a, b in zip(parsed.column("deprel"), labels, strict=True)])
        told.append(f"UAS {100 * right.sum() / known.sum():.2f} LAS {100 * both.sum() / known.sum():.2f}")
    return f"cost of the stored precision on the development data: {told[0]} before, {told[1]} after"
