"""Train a whole pipeline on one treebank: tokenizer, tagger, and a parser on jackknifed tags."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from arcwise.distillation import Distillation
from arcwise.distillation.teacher import SECTION, distillation_section
from arcwise.engine import Engine, ThisProcess
from arcwise.errors import InputError, OptionError
from arcwise.graph import GraphParser
from arcwise.learning.config import from_dict, read_toml
from arcwise.learning.folds import Development, Folds, development
from arcwise.learning.options import SEEDS, check_options, option, section, short_repr
from arcwise.learning.progress import Progress
from arcwise.learning.trained_model import TrainedParser
from arcwise.models.averaged_tags import MOST_SENTENCES, average_tags
from arcwise.models.raw_text import calibrate_on_raw_text, raw_text_scores
from arcwise.models.registry import trainable
from arcwise.models.training import parser_config, train_parser
from arcwise.neural.config import INPUTS
from arcwise.pipeline.pipeline import Pipeline
from arcwise.text.jackknife import jackknife_tags
from arcwise.text.plain_text import spacing_of
from arcwise.text.tagger import Tagger, TaggerConfig
from arcwise.text.tokenizer import Tokenizer, TokenizerConfig
from arcwise.treebanks import Treebank
from arcwise.treebanks.files import PathLike

NEURAL: dict[str, Any] = {
    "inputs": [*INPUTS, "xpos", "feats"],
    "learns": ["upos", "xpos", "feats"],
}
"""Default inputs and targets of a neural parser in a pipeline."""
SMALL_DATA_TRAINER = "log-linear"
"""The trainer of the graph-based parser up to ``MOST_SENTENCES``."""


@dataclass(frozen=True)
class PipelineConfig:
    """Options of ``arcwise train --pipeline``.

    A TOML file may set any of them, and the parser's options under [parser].
    """

    tokenizer: TokenizerConfig = section(TokenizerConfig, "Training of the tokenizer.")
    tagger: TaggerConfig = section(TaggerConfig, "Training of the tagger.")
    kind: str = option("graph", "Kind of parser.", choices=tuple(trainable()))
    jackknife: int = option(
        5,
        "Jackknife folds: the parser trains on tags predicted by taggers trained on the other folds "
        "(0: on gold tags).",
        low=0,
        high=1_000_000,
    )
    seed: int = option(1, "Random seed for data order and dropout.", low=0, high=SEEDS)

    __repr__ = short_repr

    def __post_init__(self) -> None:
        check_options(self)


def read_config(
    path: PathLike | None, *, kind: str, jackknife: int | None, seed: int | None, taught: bool = False
) -> tuple[PipelineConfig, dict[str, Any]]:
    """Read the configuration of a pipeline, and the parser's options from the section [parser].

    ``taught``: the file may have a section [distillation].
    """
    values = {} if path is None else read_toml(path)
    parser = values.pop("parser", {})
    if distillation_section(values) is not None and not taught:
        raise OptionError(SECTION, f"the section [{SECTION}] needs a teacher", str(path))
    if not isinstance(parser, dict):
        raise InputError(f"{path}: parser: found {parser!r}, expected a section [parser]")
    overrides = {"kind": kind, "jackknife": jackknife, "seed": seed}
    values |= {name: value for name, value in overrides.items() if value is not None}
    return from_dict(PipelineConfig, values, where=str(path or "a pipeline")), parser


def read_notes(notes: Sequence[str]) -> dict[str, str]:
    """Parse notes, each ``KEY=VALUE``.

    >>> read_notes(["language=English", "licence=CC BY-SA 4.0"])
    {'language': 'English', 'licence': 'CC BY-SA 4.0'}
    """
    values: dict[str, str] = {}
    for note in notes:
        key, equals, value = note.partition("=")
        if not equals or not key.strip():
            raise OptionError("notes", f"found {note!r}, expected KEY=VALUE")
        values[key.strip()] = value.strip()
    return values


Teach = Callable[[tuple[Tokenizer, Tagger]], Distillation]
"""From the tokenizer and the tagger of a pipeline to the distillation of its parser."""


def train_pipeline(
    train: Treebank,
    dev: Development = None,
    *,
    config: PipelineConfig = PipelineConfig(),
    parser: Mapping[str, Any] | None = None,
    card: Mapping[str, Any] | None = None,
    threads: int = 1,
    progress: Progress | None = None,
    engine: Engine = ThisProcess(),
    checkpoint: PathLike | None = None,
    teach: Teach | None = None,
) -> Pipeline:
    """Train tokenizer, tagger and parser on one treebank. ``parser``: options of the parser.

    ``card``: notes to store in the model; ``engine``: runs the jackknife's taggers, and the parallel parts of
    parser training; ``checkpoint``: file from which the training of a neural parser resumes; ``teach``:
    loads the distillation, given the tokenizer and the tagger that process the text.

    A neural parser reads the tagger's tags and jointly learns better ones (``learns``); which columns it
    fills in is selected on ``dev``.

    ``dev`` selects the parser's epoch, decoder and temperatures; if it is a treebank, the temperatures are
    then fitted on its raw text, and the card gets the scores of the whole pipeline. With folds (``"5fold"``)
    they are selected by cross-validation on the training data with jackknifed tags.
    """
    if not train.word_count:
        raise InputError("train: found no word, expected a treebank to learn from")
    progress = progress or Progress(shown=False)
    chosen = development(train, dev)
    options = {"seed": config.seed, **_defaults(config.kind, parser or {}, len(train)), **(parser or {})}
    parser_settings = parser_config(config.kind, None, options)
    parser_settings.refuse_unread()  # reported before long work, not after
    if spacing_of(train) == "printed":
        progress.say(
            f"{train.source} has no spaces recorded (SpaceAfter=No or # text): assuming none before closing "
            "and after opening punctuation"
        )
    tokenizer = Tokenizer.train(train, config=config.tokenizer, seed=config.seed)
    progress.say("tokenizer trained")
    tagger = Tagger.train(train, config=config.tagger, seed=config.seed)
    progress.say("tagger trained")
    read = tagger.look_alikes.view
    seen = read(_jackknifed(train, config, progress, engine))
    seen_dev = read(tagger.tag(chosen, threads=threads)) if isinstance(chosen, Treebank) else None
    if config.kind == "neural":
        from arcwise.neural.tags import PredictedTags

        others: dict[str, Any] = {"predicted_tags": PredictedTags(seen, seen_dev), "checkpoint": checkpoint}
        data = read(train), read(chosen) if isinstance(chosen, Treebank) else chosen
    else:
        others, data = {}, (seen, seen_dev or chosen)
    trained = train_parser(
        config.kind,
        *data,
        config=None,
        options=options,
        threads=threads,
        progress=progress,
        engine=engine,
        distillation=None if teach is None else teach((tokenizer, tagger)),
        **others,
    )
    if isinstance(trained, TrainedParser):
        trained = trained.reading(tagger.look_alikes)
    small = config.jackknife and len(train) <= MOST_SENTENCES and teach is None
    # Interrupted: the user wants the parser as it is, now.
    small = small and not trained.info.get("interrupted")
    if small and isinstance(trained, GraphParser) and isinstance(chosen, Folds):
        trained = average_tags(
            trained,
            train,
            seen,
            chosen,
            config=parser_settings,
            tagging=config.tagger,
            seed=config.seed,
            progress=progress,
            threads=threads,
        )
    pipeline = Pipeline(tokenizer, tagger, trained, card=card)
    if isinstance(chosen, Treebank) and not trained.info.get("interrupted"):
        pipeline = _calibrated(pipeline, chosen, threads, progress)
        _log_scores(pipeline, chosen, threads, progress)
    return pipeline


def _defaults(kind: str, options: Mapping[str, Any], sentences: int) -> dict[str, Any]:
    """Return the defaults of a parser in a pipeline.

    A neural parser has inputs and targets, a transformer reads the words alone. A graph-based parser of few
    sentences is trained by likelihood, whose confidences are better, unless options of another trainer are
    set.
    """
    if kind == "graph" and sentences <= MOST_SENTENCES:
        likelihood = {"trainer": SMALL_DATA_TRAINER}
        try:
            parser_config(kind, None, {**likelihood, **options}).refuse_unread()
        except OptionError:
            return {}
        return likelihood
    if kind != "neural":
        return {}
    return {name: value for name, value in NEURAL.items() if name != "inputs" or not options.get("encoder")}


def _calibrated(pipeline: Pipeline, dev: Treebank, threads: int, progress: Progress) -> Pipeline:
    """Fit the parser's temperatures on the raw text of ``dev``; Ctrl-C keeps those fitted on gold words."""
    if (dev.heads < 0).any():  # partial trees: their missing heads would count as errors
        return pipeline
    try:
        calibrated = calibrate_on_raw_text(pipeline, dev, threads=threads)
    except KeyboardInterrupt:
        progress.say("stopped after training; confidences are calibrated on gold words")
        return pipeline
    if calibrated is not pipeline:
        progress.say("temperatures fitted on the raw text of the development data")
    return calibrated


def _log_scores(pipeline: Pipeline, dev: Treebank, threads: int, progress: Progress) -> None:
    """Add the scores on the development data to the card and log them; Ctrl-C skips only them."""
    try:
        pipeline.card["dev"] = raw_text_scores(pipeline, dev, threads=threads)
    except KeyboardInterrupt:
        progress.say("stopped after training; scores on the development data are missing")
        return
    scores = "  ".join(f"{name} {score:.2f}" for name, score in pipeline.card["dev"].items())
    progress.say(f"development data from raw text:  {scores}")


def _jackknifed(train: Treebank, config: PipelineConfig, progress: Progress, engine: Engine) -> Treebank:
    """Return the training data with tags of the quality the parser will see."""
    folds = min(config.jackknife, len(train))
    if folds < 2:
        return train
    return jackknife_tags(
        train, folds=folds, config=config.tagger, seed=config.seed, say=progress.say, engine=engine
    )
