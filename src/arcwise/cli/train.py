"""``arcwise train``: a parser from a treebank."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from arcwise.cli._support.files import Files, output_path
from arcwise.cli._support.options import from_declaration, takes_options
from arcwise.cli._support.output import echo
from arcwise.distillation import DistillationConfig
from arcwise.graph.config import TRAINERS, GraphConfig
from arcwise.learning.options import declared
from arcwise.memory import disable_malloc_trim
from arcwise.models.registry import trainable
from arcwise.models.train_pipeline import PipelineConfig
from arcwise.neural.config import NeuralConfig
from arcwise.parsing.parser import ParseOptions
from arcwise.transition.config import TransitionConfig

if TYPE_CHECKING:
    from collections.abc import Callable

    from arcwise.distillation import Distillation
    from arcwise.learning.folds import Development
    from arcwise.learning.model_file import Precision
    from arcwise.learning.progress import Progress
    from arcwise.parsing.parser import Parser

ALIASES = {"kind": "parser", "feature_columns": "feature_column", "notes": "note"}
"""Argument of the library → option, where they differ."""

_OF_ORDER = {1: ("graph", "neural"), 2: ("siblings", "neural")}
"""The kinds of parser of each ``--order``; with the kind graph, order 2 means siblings."""

_TRANSITION_TRAINERS = ", ".join(declared(TransitionConfig)["trainer"].choices)

FILES = Files(
    reads=("train", "config"), may_read=("dev", "system", "teacher", "text", "encoder"), writes=("model",)
)


@dataclass(frozen=True)
class ConfigArguments:
    """Options that override the TOML file; each kind of parser reads some of them."""

    trainer: str | None = typer.Option(
        None,
        help=f"Graph-based: one of {', '.join(TRAINERS)}. Transition-based: one of {_TRANSITION_TRAINERS}.",
    )
    epochs: int | None = from_declaration(TransitionConfig, "epochs")
    projective: bool | None = from_declaration(
        GraphConfig,
        "projective",
        "--projective/--non-projective",
        text="Graph-based: whether to forbid crossing arcs.",
    )
    single_root: bool | None = from_declaration(ParseOptions, "single_root", "--single-root/--multi-root")
    labelled: bool | None = from_declaration(GraphConfig, "labelled", "--labelled/--unlabelled")
    system: str | None = typer.Option(
        None,
        help="Transition system: a name such as arc-eager, a name with parameters such as "
        "'bounded(K=4,D=3)', or a .toml file; 'arcwise systems' lists them.",
    )
    beam: int | None = from_declaration(TransitionConfig, "beam", text="Transition-based: beam size.")
    update: str | None = from_declaration(
        TransitionConfig, "update", text="Transition-based: the step at which a wrong beam is corrected."
    )
    unreachable: str | None = from_declaration(
        TransitionConfig, "unreachable", text="Transition-based: how to handle trees the system cannot build."
    )
    features: str | None = from_declaration(
        GraphConfig, "features", text="Graph-based: feature set; standard is arcwise's default."
    )
    feature_column: list[str] | None = from_declaration(
        GraphConfig,
        "feature_columns",
        text="Graph-based: an additional column to use in features, e.g. MISC:Cluster; may be repeated.",
    )
    size: str | None = from_declaration(NeuralConfig, "size", text="Neural: network size.")
    objective: str | None = from_declaration(NeuralConfig, "objective", text="Neural: training objective.")
    ensemble: int | None = from_declaration(
        NeuralConfig, "ensemble", text="Neural: number of networks to train; their scores are averaged."
    )
    device: str | None = from_declaration(
        NeuralConfig, "device", text="Neural: device to train on; auto uses a GPU if there is one."
    )
    encoder: str | None = from_declaration(
        NeuralConfig,
        "encoder",
        text="Neural: fine-tune the transformer in this folder instead of training embeddings and LSTMs.",
    )


@dataclass(frozen=True)
class TeacherArguments:
    """Knowledge distillation."""

    teacher: str | None = typer.Option(
        None,
        help="Distillation: a model with tree probabilities, e.g. a neural ensemble, to learn from "
        "besides the treebank.",
    )
    text: list[str] | None = typer.Option(
        None,
        help="With --teacher: unannotated text to learn from; CoNLL-U with words and tags, or raw text "
        "if the teacher is a pipeline; may be repeated.",
        metavar="FILE",
    )
    gold_share: float | None = from_declaration(
        DistillationConfig,
        "gold_share",
        text="With --teacher: weight of the gold tree in the targets of a treebank sentence; the "
        "teacher's distribution has the rest.",
        default=True,
    )
    text_weight: float | None = from_declaration(
        DistillationConfig,
        "text_weight",
        text="With --text: loss weight of a text sentence relative to a treebank sentence.",
        default=True,
    )
    teacher_folds: int | None = from_declaration(
        DistillationConfig,
        "teacher_folds",
        text="With --teacher: cross-fit the teacher in N folds of the treebank, so that it labels only "
        "sentences it was not trained on (0 uses the teacher as it is).",
        default=True,
    )


@dataclass(frozen=True)
class WorkerArguments:
    """Parallel training."""

    workers: int = typer.Option(
        1,
        min=1,
        help="Number of training processes. They divide up each epoch (the model then depends on N), values "
        "of C, folds, the taggers of --jackknife or the networks of --ensemble.",
    )
    engine: str = typer.Option(
        "local", help="Where workers run: local (processes on this machine) or ray (a Ray cluster)."
    )
    address: str | None = typer.Option(
        None,
        help="With --engine ray: address of the cluster, e.g. auto or 10.0.0.1:6379. [default: "
        "RAY_ADDRESS, or Ray on this machine]",
    )


@dataclass(frozen=True, kw_only=True)
class TrainArguments:
    """The options of ``arcwise train``, in the order of its help."""

    train: str = typer.Option(..., help="Training treebank (CoNLL-U; .gz, .xz).")
    model: str = typer.Option(..., help="Model file to write.")
    dev: str | None = typer.Option(
        None,
        help="Development data for model selection and calibration: a treebank; 5fold (or any number), "
        "cross-validation on the training data; or none. [default: 5fold for 10 to 1,000 sentences, "
        "else none]",
    )
    parser: str | None = typer.Option(
        None,
        help=f"Kind of parser: {', '.join(trainable())}. [default: graph, or the kind in the TOML "
        f"file of a pipeline]",
    )
    order: int | None = typer.Option(
        None,
        min=1,
        max=2,
        help="Graph-based and neural: 2 also scores pairs of adjacent siblings "
        "(graph-based: same as --parser siblings).",
    )
    pipeline: bool = typer.Option(
        False,
        "--pipeline",
        help="Train a pipeline from raw text to trees: tokenizer, tagger and parser in one model file.",
    )
    jackknife: int | None = from_declaration(
        PipelineConfig,
        "jackknife",
        text="With --pipeline: train the parser on tags predicted by N-fold jackknifing; 0 uses the "
        "gold tags.",
        default=True,
    )
    note: list[str] | None = typer.Option(
        None,
        help="With --pipeline: KEY=VALUE to store in the model and show in 'arcwise info', e.g. "
        "licence=…; may be repeated.",
    )
    config: str | None = typer.Option(
        None, help="TOML file with options; options on the command line take precedence."
    )
    settings: ConfigArguments
    resume: bool = typer.Option(
        False,
        "--resume",
        help="Neural: resume an interrupted training from MODEL.checkpoint, with the same options and data.",
    )
    distillation: TeacherArguments
    seed: int | None = from_declaration(GraphConfig, "seed")
    precision: str | None = typer.Option(
        None,
        help="Precision of the stored weights: float32, float16 or int8; prints the loss in accuracy. "
        "[default: float32, int8 with --pipeline]",
    )
    threads: int = typer.Option(
        1, help="Number of threads. Does not affect the result, except in neural training."
    )
    parallel: WorkerArguments
    quiet: bool = typer.Option(False, "--quiet", help="Show no progress on standard error.")

    def parser_options(self) -> dict[str, Any]:
        """Options for the configuration of the parser; None where the command line has none."""
        options = {**asdict(self.settings), "seed": self.seed}
        options["feature_columns"] = options.pop("feature_column")
        return options

    def kind(self) -> str:
        """The kind of parser: that of the options or, for a pipeline, of the TOML file; else graph."""
        from arcwise.errors import InputError
        from arcwise.learning.config import read_toml

        kind = "graph" if self.parser is None else self.parser
        if self.parser is None and self.pipeline and self.config:
            kind = str(read_toml(self.config).get("kind", "graph"))
        if self.order is None or kind in _OF_ORDER[self.order]:
            return kind
        if kind != "graph":
            raise InputError(f"--order: found {self.order} with the parser {kind}, expected graph or neural")
        return "siblings"

    def development(self) -> Development:
        """The development data."""
        from arcwise.learning.folds import Folds
        from arcwise.treebanks import Treebank

        if self.dev is None or self.dev in ("auto", "none") or Folds.parse(self.dev) is not None:
            return self.dev or "auto"
        return Treebank.read(self.dev)


@takes_options
def run(arguments: TrainArguments) -> None:
    """Train a parser, or with --pipeline everything from raw text to trees, and write it to a model file.

    Ctrl-C stops training and keeps the best model so far. A model that exists already is not overwritten
    then: the new one is written next to it. Before the end of the first epoch there is nothing to keep, and
    nothing is written. 'arcwise parse' uses the model, 'arcwise info' describes it.
    """
    from arcwise.engine import engine_of
    from arcwise.errors import InputError
    from arcwise.learning.model_file import check_precision
    from arcwise.learning.progress import Progress
    from arcwise.models.training import parts_for, precision_cost, train_parser
    from arcwise.treebanks import Treebank

    parallel = arguments.parallel
    engine = engine_of(parallel.engine, workers=parallel.workers, address=parallel.address)
    settings, kind = arguments.parser_options(), arguments.kind()
    if not arguments.pipeline:
        settings["parts"] = parts_for(kind, arguments.config, settings, parallel.workers)
    if kind == "neural":
        settings["order"] = arguments.order
        from arcwise.neural.config import check_device

        check_device(arguments.settings.device or "auto")  # before the treebank is read, which takes a while
        disable_malloc_trim()
    checkpoint = _checkpoint(arguments.model, kind, resume=arguments.resume)
    for name, value in (("jackknife", arguments.jackknife), ("note", arguments.note)):
        if value not in (None, []) and not arguments.pipeline:
            raise InputError(f"--{name}: needs --pipeline")
    teach = _distillation(arguments)
    precision = check_precision(arguments.precision or ("int8" if arguments.pipeline else "float32"))
    development = arguments.development()
    with Progress(shown=not arguments.quiet) as progress:
        common: dict[str, Any] = {
            "threads": arguments.threads,
            "progress": progress,
            "engine": engine,
            "checkpoint": checkpoint,
        }
        if arguments.pipeline:
            _train_pipeline(arguments, kind, settings, development, precision, teach, common)
            return
        trained = train_parser(
            kind,
            Treebank.read(arguments.train),
            development,
            config=arguments.config,
            options=settings,
            distillation=None if teach is None else teach(None),
            **common,
        )
        _save(trained, arguments.model, precision, bool(trained.info.get("interrupted")), progress)
        if precision != "float32" and isinstance(development, Treebank):
            progress.say(precision_cost(trained, arguments.model, development, threads=arguments.threads))


def _train_pipeline(
    arguments: TrainArguments,
    kind: str,
    settings: dict[str, Any],
    development: Development,
    precision: Precision,
    teach: Callable[..., Distillation] | None,
    common: dict[str, Any],
) -> None:
    from arcwise.models.train_pipeline import read_config, read_notes, train_pipeline
    from arcwise.models.training import parts_for
    from arcwise.treebanks import Treebank

    config, from_file = read_config(
        arguments.config,
        kind=kind,
        jackknife=arguments.jackknife,
        seed=arguments.seed,
        taught=teach is not None,
    )
    parser_options = from_file | {name: value for name, value in settings.items() if value is not None}
    parts = parts_for(config.kind, None, parser_options, arguments.parallel.workers)
    pipeline = train_pipeline(
        Treebank.read(arguments.train),
        development,
        config=config,
        parser=parser_options if parts is None else {**parser_options, "parts": parts},
        card=read_notes(arguments.note or []),
        teach=teach,
        **common,
    )
    interrupted = bool(pipeline.parser.info.get("interrupted"))
    _save(pipeline, arguments.model, precision, interrupted, common["progress"])


def _checkpoint(model: str, parser: str, *, resume: bool) -> str | None:
    """The checkpoint of a neural training. One that exists is neither overwritten nor resumed without being
    asked."""
    from arcwise.errors import InputError

    if parser != "neural":
        if resume:
            raise InputError("--resume: needs --parser neural")
        return None
    path = f"{model}.checkpoint"
    if Path(path).exists() and not resume:
        raise InputError(f"{path}: a training was interrupted; continue it with --resume, or delete the file")
    if resume and not Path(path).exists():
        raise InputError(f"{path}: no such file, expected the checkpoint of a training to --resume")
    return path


def _distillation(arguments: TrainArguments) -> Callable[..., Distillation] | None:
    """The loader of the distillation, given the student pipeline's tokenizer and tagger (or None)."""
    from arcwise.errors import InputError

    values = asdict(arguments.distillation)
    teacher, texts = values.pop("teacher"), values["text"] or []
    if teacher is None:
        for name, value in values.items():
            if value not in (None, []):
                raise InputError(f"--{name.replace('_', '-')}: needs --teacher")
        return None
    from arcwise.distillation.teacher import read_distillation_config
    from arcwise.models.teacher import load_distillation, open_teacher

    del values["text"]
    config = read_distillation_config(arguments.config, values)
    open_teacher(teacher)  # an unsuitable teacher is refused now, not after the treebank was read
    return lambda student: load_distillation(
        teacher, texts, config=config, student=student, threads=arguments.threads
    )


def _save(trained: Parser, model: str, precision: Precision, interrupted: bool, progress: Progress) -> None:
    """Write the model. An interrupted training does not overwrite a model that exists."""
    target = output_path(model, interrupted=interrupted)
    trained.save(target, precision=precision)
    if not interrupted:
        Path(f"{model}.checkpoint").unlink(missing_ok=True)
    if target == model:
        progress.say(f"model written to {target}")
        return
    echo(f"training was stopped: {model} is unchanged, the new model is {target}", err=True)
    raise KeyboardInterrupt
