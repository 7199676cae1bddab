"""Train a parser of any kind by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from inspect import signature
from typing import Any

from arcwise.distillation import Distillation
from arcwise.distillation.teacher import SECTION, distillation_section
from arcwise.engine import Engine, ThisProcess
from arcwise.errors import OptionError
from arcwise.evaluation import UasLas, evaluate
from arcwise.factors import learned_rules
from arcwise.learning.config import from_dict, read_toml
from arcwise.learning.folds import Development
from arcwise.learning.options import declared
from arcwise.learning.progress import Progress
from arcwise.learning.trained_model import TrainedParser
from arcwise.learning.training import COUNTING
from arcwise.models.registry import open_model, trainable, trainable_kind
from arcwise.parsing.parser import Parser
from arcwise.treebanks import Treebank
from arcwise.treebanks.files import PathLike


def parser_config(
    kind: str, config: PathLike | None, options: Mapping[str, Any], *, taught: bool = False
) -> Any:
    """Return a parser configuration; ``options`` other than None override the TOML file ``config``.

    ``taught``: the file may have a section [distillation], which is not part of the configuration.
    """
    _, settings = trainable_kind(kind)
    file = {} if config is None else read_toml(config)
    if distillation_section(file) is not None and not taught:
        raise OptionError(SECTION, f"the section [{SECTION}] needs a teacher", str(config))
    overrides = {name: value for name, value in options.items() if value is not None}
    _refuse_foreign(kind, file, where="" if config is None else str(config))
    _refuse_foreign(kind, overrides)
    return from_dict(settings, file | overrides, where=f"a {kind} parser" if config is None else str(config))


def _refuse_foreign(kind: str, values: Mapping[str, Any], *, where: str = "") -> None:
    """Raise ``OptionError`` for an option or a trainer that only another kind of parser has."""
    allowed = declared(trainable_kind(kind)[1])
    others = {other: declared(trainable_kind(other)[1]) for other in trainable() if other != kind}
    for name, value in values.items():
        for other, foreign in others.items():
            if name not in allowed and name in foreign:
                raise OptionError(name, f'is an option of kind="{other}", found kind="{kind}"', where)
            choices = allowed[name].choices if name in allowed else ()
            if choices and value not in choices and name in foreign and value in foreign[name].choices:
                expected = f"found {value!r}, expected {allowed[name].values}"
                raise OptionError(name, f'{expected} ({value} is for kind="{other}")', where)


def train_parser(
    kind: str,
    train: Treebank,
    dev: Development,
    *,
    config: PathLike | None,
    options: Mapping[str, Any],
    threads: int,
    progress: Progress,
    checkpoint: PathLike | None = None,
    distillation: Distillation | None = None,
    engine: Engine = ThisProcess(),
    **others: Any,
) -> Parser:
    """Train a parser of a kind; ``options`` other than None override the TOML file ``config``.

    ``checkpoint``: file to resume from, for kinds that support it. ``distillation``: a teacher to learn from.
    ``engine``: runs parallel work. ``others``: further arguments of the parser's ``train``.
    """
    chosen = parser_config(kind, config, options, taught=distillation is not None)
    parser, _ = trainable_kind(kind)
    if checkpoint is not None:
        others["checkpoint"] = checkpoint
    if distillation is not None:
        if "distillation" not in signature(parser.train).parameters:
            raise OptionError("teacher", f"is not supported: a {kind} parser learns only from treebanks")
        others["distillation"] = distillation
    trained: Parser = parser.train(
        train, dev, config=chosen, threads=threads, progress=progress, engine=engine, **others
    )
    if trained.capabilities.legal and isinstance(trained, TrainedParser):
        rules = learned_rules(train).plain()
        trained.model = replace(trained.model, report={**trained.model.report, "legal": rules})
    return trained


def parts_for(kind: str, config: PathLike | None, options: Mapping[str, Any], workers: int) -> int | None:
    """Return the default of ``parts`` for ``workers`` workers: one part each.

    None if the trainer does not split epochs (workers then try values of C, or train networks of an
    ensemble).

    >>> parts_for("graph", None, {}, 4), parts_for("graph", None, {"trainer": "eg"}, 4)
    (4, None)
    >>> parts_for("neural", None, {}, 4)
    """
    file = {} if config is None else read_toml(config)
    settings = file | {name: value for name, value in options.items() if value is not None}
    parts = declared(trainable_kind(kind)[1]).get("parts")
    if workers == 1 or parts is None or "parts" in settings or settings.get("try_C"):
        return None
    trial = parser_config(kind, config, {**options, "parts": workers}, taught=True)
    try:
        trial.refuse_unread()
    except OptionError as error:
        if error.name == "parts":
            return None
        raise
    return workers


def precision_cost(parser: Parser, path: PathLike, dev: Treebank, *, threads: int) -> str:
    """Describe the cost of the stored precision by attachment scores on the development data."""
    parsed = [p.parse(dev, threads=threads) for p in (parser, open_model(path))]
    scores = [evaluate(dev, treebank).attachment for treebank in parsed]
    before, after = (str(UasLas(score.uas, score.las)) for score in scores)
    return (
        f"cost of the stored precision on the development data ({COUNTING}): {before} before, {after} after"
    )
