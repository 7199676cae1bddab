"""``arcwise train``: a parser from a treebank."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from arcwise.cli._support.files import Files, output_path
from arcwise.cli._support.options import from_declaration
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
    from arcwise.learning.model_file import Precision
    from arcwise.learning.progress import Progress
    from arcwise.parsing.parser import Parser

ALIASES = {"kind": "parser", "feature_columns": "feature_column", "notes": "note"}
"""Argument of the library → option, where they differ."""

_TRANSITION_TRAINERS = ", ".join(declared(TransitionConfig)["trainer"].choices)

_TAUGHT = ("text", "gold_share", "text_weight", "teacher_folds")
"""Options that need --teacher."""

FILES = Files(
    reads=("train", "config"), may_read=("dev", "system", "teacher", "text", "encoder"), writes=("model",)
)


def run(
    train: Annotated[str, typer.Option("--train", help="Treebank to learn from (CoNLL-U, .gz, .xz).")],
    model: Annotated[str, typer.Option("--model", help="Where to write the model.")],
    dev: Annotated[
        str | None,
        typer.Option(
            help="On what epoch, C, decoder and the temperatures of confidences are chosen: a treebank; or 5fold (any number): each fifth "
            "of the training data, parsed by a parser trained on the rest; or none. [default: 5fold for 10 to 1,000 "
            "sentences, else none]",
            show_default=False,
        ),
    ] = None,
    parser: Annotated[
        str | None,
        typer.Option(
            help=f"Kind of parser: {' or '.join(trainable())}. [default: graph, or the kind of the TOML file of a pipeline]",
            show_default=False,
        ),
    ] = None,
    pipeline: Annotated[
        bool,
        typer.Option(
            "--pipeline",
            help="Train everything from raw text to trees: tokenizer, tagger and parser in one model file.",
        ),
    ] = False,
    jackknife: Annotated[
        int | None,
        from_declaration(
            PipelineConfig,
            "jackknife",
            text="With --pipeline: the parser learns from tags as good as it will get, by taggers trained on the other N-1 "
            "of N parts; 0: from the correct tags.",
            default=True,
        ),
    ] = None,
    note: Annotated[
        list[str] | None,
        typer.Option(
            help="With --pipeline: KEY=VALUE to keep in the model and show by 'arcwise info', e.g. licence=…; may be repeated.",
            show_default=False,
        ),
    ] = None,
    config: Annotated[
        str | None, typer.Option(help="TOML file with options; those given on the command line win.")
    ] = None,
    trainer: Annotated[
        str | None,
        typer.Option(
            help=f"Graph-based: one of {', '.join(TRAINERS)}. Transition-based: one of {_TRANSITION_TRAINERS}."
        ),
    ] = None,
    epochs: Annotated[int | None, from_declaration(TransitionConfig, "epochs")] = None,
    projective: Annotated[
        bool | None,
        from_declaration(
            GraphConfig,
            "projective",
            "--projective/--non-projective",
            text="Graph-based: whether trees may have no crossing arcs.",
        ),
    ] = None,
    single_root: Annotated[
        bool | None, from_declaration(ParseOptions, "single_root", "--single-root/--multi-root")
    ] = None,
    labelled: Annotated[
        bool | None, from_declaration(GraphConfig, "labelled", "--labelled/--unlabelled")
    ] = None,
    system: Annotated[
        str | None,
        typer.Option(
            help="Transition system: a name such as arc-eager, a name with parameters such as 'bounded(K=4,D=3)', or a .toml file; "
            "see 'arcwise systems'."
        ),
    ] = None,
    beam: Annotated[
        int | None,
        from_declaration(
            TransitionConfig, "beam", text="Transition-based: how many derivations are followed at once."
        ),
    ] = None,
    update: Annotated[
        str | None,
        from_declaration(TransitionConfig, "update", text="Transition-based: where weights are changed."),
    ] = None,
    unreachable: Annotated[
        str | None,
        from_declaration(
            TransitionConfig,
            "unreachable",
            text="Transition-based: what to do with trees that the system cannot build.",
        ),
    ] = None,
    feature_column: Annotated[
        list[str] | None,
        from_declaration(
            GraphConfig,
            "feature_columns",
            text="Graph-based: a column of your own that takes part in features, e.g. MISC:Cluster; may be repeated.",
        ),
    ] = None,
    size: Annotated[
        str | None, from_declaration(NeuralConfig, "size", text="Neural: how large the network is.")
    ] = None,
    objective: Annotated[
        str | None, from_declaration(NeuralConfig, "objective", text="Neural: what training makes small.")
    ] = None,
    ensemble: Annotated[
        int | None,
        from_declaration(
            NeuralConfig,
            "ensemble",
            text="Neural: train so many networks into one model; their scores are averaged.",
        ),
    ] = None,
    device: Annotated[
        str | None,
        from_declaration(
            NeuralConfig, "device", text="Neural: where to train; auto takes a GPU if there is one."
        ),
    ] = None,
    encoder: Annotated[
        str | None,
        from_declaration(
            NeuralConfig,
            "encoder",
            text="Neural: fine-tune the transformer of this folder, instead of tables and LSTMs.",
        ),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Neural: go on with a training that was killed, from MODEL.checkpoint, with the same options and data.",
        ),
    ] = False,
    teacher: Annotated[
        str | None,
        typer.Option(
            help="A model whose parser knows probabilities of trees, e.g. a neural ensemble: the new parser learns from these too.",
            show_default=False,
        ),
    ] = None,
    text: Annotated[
        list[str] | None,
        typer.Option(
            help="With --teacher: text without trees to learn from; CoNLL-U with words and tags, or raw text if the teacher is a "
            "pipeline; may be repeated.",
            show_default=False,
            metavar="FILE",
        ),
    ] = None,
    gold_share: Annotated[
        float | None,
        from_declaration(
            DistillationConfig,
            "gold_share",
            text="With --teacher: weight of the gold tree in the targets of a treebank sentence; the teacher's "
            "distribution has the rest.",
            default=True,
        ),
    ] = None,
    text_weight: Annotated[
        float | None,
        from_declaration(
            DistillationConfig,
            "text_weight",
            text="With --text: loss weight of a text sentence relative to a treebank sentence.",
            default=True,
        ),
    ] = None,
    teacher_folds: Annotated[
        int | None,
        from_declaration(
            DistillationConfig,
            "teacher_folds",
            text="With --teacher: cross-fit the teacher in N folds of the treebank, so that it labels only sentences it "
            "was not trained on (0 uses the teacher as it is).",
            default=True,
        ),
    ] = None,
    seed: Annotated[int | None, from_declaration(GraphConfig, "seed")] = None,
    precision: Annotated[
        str | None,
        typer.Option(
            help="Of the stored weights: float32, float16 or int8; the cost in accuracy is printed. "
            "[default: float32, int8 with --pipeline]",
            show_default=False,
        ),
    ] = None,
    threads: Annotated[
        int, typer.Option(help="Threads; the result does not depend on them, but for a neural network.")
    ] = 1,
    workers: Annotated[
        int,
        typer.Option(
            min=1,
            help="Processes that train at the same time: parts of each epoch, which are then mixed (so the model depends on N), values of C, folds, "
            "taggers of --jackknife, or networks of --ensemble.",
        ),
    ] = 1,
    engine: Annotated[
        str,
        typer.Option(help="Where the workers are: local, processes of this machine; ray, a cluster of Ray."),
    ] = "local",
    address: Annotated[
        str | None,
        typer.Option(
            help="With --engine ray: the cluster, e.g. auto or 10.0.0.1:6379. [default: that of RAY_ADDRESS, or Ray on this machine]",
            show_default=False,
        ),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress on standard error.")] = False,
) -> None:
    """Train a parser, or with --pipeline everything from raw text to trees, and write it to a model file.

    Ctrl-C ends training and keeps the best model so far; a model that was there before is then left as it is, and the new one is
    written beside it. Before the first epoch is over there is nothing to keep, and nothing is written.
    'arcwise parse' uses the model, 'arcwise info' describes it.
    """
    from arcwise.engine import engine_of
    from arcwise.errors import InputError
    from arcwise.learning.folds import Development, Folds
    from arcwise.learning.model_file import check_precision
    from arcwise.learning.progress import Progress
    from arcwise.models.training import parts_for, train_parser
    from arcwise.treebanks import Treebank

    where = engine_of(engine, workers=workers, address=address)
    options: dict[str, Any] = {
        "trainer": trainer,
        "epochs": epochs,
        "projective": projective,
        "single_root": single_root,
        "labelled": labelled,
        "feature_columns": feature_column,
        "seed": seed,
        "system": system,
        "beam": beam,
        "update": update,
        "unreachable": unreachable,
        "size": size,
        "objective": objective,
        "ensemble": ensemble,
        "device": device,
        "encoder": encoder,
    }
    if parser is None:
        parser = _kind(config, pipeline=pipeline)
    if not pipeline:
        options["parts"] = parts_for(parser, config, options, workers)
    if parser == "neural":
        from arcwise.neural.config import check_device

        check_device(device or "auto")  # said before anything is read
        disable_malloc_trim()
    checkpoint = _checkpoint(model, parser, resume=resume)
    for name, value in (("jackknife", jackknife), ("note", note)):
        if value not in (None, []) and not pipeline:
            raise InputError(f"--{name}: is an option of --pipeline, which was not given")
    taught = dict(zip(_TAUGHT, (text, gold_share, text_weight, teacher_folds), strict=True))
    teach = _teach(teacher, config, taught, threads)
    stored = check_precision(precision or ("int8" if pipeline else "float32"))
    development: Development = dev or "auto"
    if dev is not None and dev not in ("auto", "none") and Folds.parse(dev) is None:
        development = Treebank.read(dev)
    if pipeline:
        from arcwise.models.train_pipeline import read_config, read_notes, train_pipeline

        settings, own = read_config(
            config, kind=parser, jackknife=jackknife, seed=seed, taught=teach is not None
        )
        given = own | {name: value for name, value in options.items() if value is not None}
        options["parts"] = parts_for(settings.kind, None, given, workers)
        with Progress(shown=not quiet) as progress:
            whole = train_pipeline(
                Treebank.read(train),
                development,
                config=settings,
                parser=own | {name: value for name, value in options.items() if value is not None},
                card=read_notes(note or []),
                threads=threads,
                progress=progress,
                engine=where,
                checkpoint=checkpoint,
                teach=teach,
            )
            _save(whole, model, stored, bool(whole.parser.info.get("interrupted")), progress)
        return
    with Progress(shown=not quiet) as progress:
        trained = train_parser(
            parser,
            Treebank.read(train),
            development,
            config=config,
            options=options,
            threads=threads,
            progress=progress,
            engine=where,
            checkpoint=checkpoint,
            distillation=None if teach is None else teach(None),
        )
        _save(trained, model, stored, bool(trained.info.get("interrupted")), progress)
        if stored != "float32" and isinstance(development, Treebank):
            from arcwise.models.training import precision_cost

            progress.say(precision_cost(trained, model, development, threads=threads))


def _kind(config: str | None, *, pipeline: bool) -> str:
    """The kind of parser that the TOML file of a pipeline names, or graph."""
    from arcwise.learning.config import read_toml

    return str(read_toml(config).get("kind", "graph")) if pipeline and config else "graph"


def _checkpoint(model: str, parser: str, *, resume: bool) -> str | None:
    """The file from which a neural training goes on; one that is there is neither overwritten nor taken up unasked."""
    from arcwise.errors import InputError

    if parser != "neural":
        if resume:
            raise InputError("--resume: is an option of --parser neural, which was not given")
        return None
    path = f"{model}.checkpoint"
    if Path(path).exists() and not resume:
        raise InputError(f"{path}: a training was interrupted; go on with --resume, or delete the file")
    if resume and not Path(path).exists():
        raise InputError(f"{path}: no such file, expected the checkpoint of a training to --resume")
    return path


def _teach(
    teacher: str | None, config: str | None, given: dict[str, Any], threads: int
) -> Callable[..., Distillation] | None:
    """How the parser is taught, given the tokenizer and tagger of its pipeline (or None); that the teacher can is asked now."""
    from arcwise.errors import InputError

    if teacher is None:
        for name, value in given.items():
            if value not in (None, []):
                raise InputError(
                    f"--{name.replace('_', '-')}: is an option of --teacher, which was not given"
                )
        return None
    from arcwise.distillation.teacher import read_distillation_config
    from arcwise.models.teacher import load_distillation, open_teacher

    texts = given.pop("text") or []
    settings = read_distillation_config(config, given)
    open_teacher(teacher)
    return lambda student: load_distillation(
        teacher, texts, config=settings, student=student, threads=threads
    )


def _save(trained: Parser, model: str, precision: Precision, interrupted: bool, progress: Progress) -> None:
    """Write the model; what an interrupted training has goes nowhere near a model that was there before."""
    target = output_path(model, interrupted=interrupted)
    trained.save(target, precision=precision)
    if not interrupted:
        Path(f"{model}.checkpoint").unlink(missing_ok=True)
    if target == model:
        progress.say(f"model written to {target}")
        return
    typer.echo(f"training was stopped: {model} is left as it was, the new model is {target}", err=True)
    raise KeyboardInterrupt
