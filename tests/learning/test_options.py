"""Every option of every configuration, with every kind of value that it cannot have, at every door: Python,
dictionary, TOML, command line.

The values come from the declarations, so a new option is tested by being declared, and one that declares
nothing fails.
"""

import ast
import math
import re
from dataclasses import dataclass, is_dataclass, replace
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import arcwise
from arcwise.cli import parse, train
from arcwise.cli.main import run
from arcwise.distillation import DistillationConfig
from arcwise.distributed import CorpusOptions
from arcwise.errors import InputError, OptionError
from arcwise.graph import TRAINERS, GraphConfig, GraphParser
from arcwise.graph.trainer_table import own_options
from arcwise.induction.global_search import CountOptions, ThetaOptions
from arcwise.learning.config import from_dict, from_toml, to_dict
from arcwise.learning.options import Declared, check_options, declared, option
from arcwise.models.train_pipeline import PipelineConfig
from arcwise.neural import NeuralConfig
from arcwise.parsing import ParseOptions
from arcwise.siblings import SiblingConfig
from arcwise.text.tagger import TaggerConfig
from arcwise.text.tokenizer import TokenizerConfig
from arcwise.transition import TransitionConfig, TransitionParser
from contracts.small_treebank import small_treebank

CONFIGURATIONS: tuple[type[Any], ...] = (
    GraphConfig,
    TransitionConfig,
    SiblingConfig,
    NeuralConfig,
    TokenizerConfig,
    TaggerConfig,
    PipelineConfig,
    ParseOptions,
    CorpusOptions,
    DistillationConfig,
    CountOptions,
    ThetaOptions,
)
FIELDS = [(kind, known) for kind in CONFIGURATIONS for known in declared(kind).values()]
SMALL = {"arc_bits": 10, "row_bits": 11, "epochs": 1}


def named(value: object) -> str:
    return value.__name__ if isinstance(value, type) else getattr(value, "name", repr(value))


@pytest.mark.slow
def test_every_configuration_is_here() -> None:
    found = set()
    for path in Path(arcwise.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and re.fullmatch(r"\w+(Config|Options)", node.name):
                found.add(node.name)
    assert found == {kind.__name__ for kind in CONFIGURATIONS}


# ---- values that an option cannot have


def wrong_items(known: Declared) -> list[Any]:
    """Values that the option (or an item of it) refuses: of other types, out of bounds, not among the
    choices."""
    if is_dataclass(known.base):
        return [3, "text"]
    if known.base is bool:
        return [1, 0, "yes", 0.5]
    if known.name in ("encoder", "model"):  # whether there is such a folder or file is asked when work starts
        return [3, True, "", " "]
    if known.base is str:
        return [3, True, "no such thing", ""]
    found: list[Any] = ["ten", True, math.nan, math.inf, -math.inf]
    o = known.option
    assert o is not None
    step = 1 if known.base is int else 1e-6
    found += [2.5] if known.base is int else []
    found += [o.low - step, o.low - 1000] if o.low is not None else []
    found += [o.high + step, o.high * 10] if o.high is not None else []
    found += [o.above, o.above - 1] if o.above is not None else []
    found += [o.below, o.below + 1] if o.below is not None else []
    return found


def wrong_values(known: Declared) -> list[Any]:
    none = [] if known.optional else [None]
    if known.many:
        return [*none, "text", 3, *([item] for item in wrong_items(known))]
    return [*none, *wrong_items(known), ["a list"]]


def right_values(known: Declared) -> list[Any]:
    """The ends of the range, each choice."""
    if is_dataclass(known.base):
        return [known.default]
    if known.base is bool:
        return [True, False]
    assert known.option is not None
    found = [*known.choices, *(b for b in (known.option.low, known.option.high) if b is not None)]
    found += [bound + 1e-6 for bound in (known.option.above,) if bound is not None]
    return [[item] for item in found] if known.many else [*found, known.default]


@pytest.mark.parametrize("kind, known", FIELDS, ids=named)
def test_every_option_declares_its_values_and_its_meaning(kind: type[Any], known: Declared) -> None:
    assert known.is_declared, f"{kind.__name__}.{known.name} declares neither bounds nor choices nor a check"
    assert known.text.endswith("."), f"{kind.__name__}.{known.name} does not say what it means"
    assert Declared.checked(replace(known, default=object()), known.default) == known.default


@pytest.mark.parametrize("kind, known", FIELDS, ids=named)
def test_python_refuses_what_an_option_cannot_be(kind: type[Any], known: Declared) -> None:
    for value in wrong_values(known):
        with pytest.raises(OptionError) as error:
            kind(**{known.name: value})
        assert error.value.name == known.name
        assert str(error.value).startswith(f"{known.name}: "), value
        assert "expected" in str(error.value), value
    for value in right_values(known):
        kind(**{known.name: value})


@pytest.mark.parametrize("kind, known", FIELDS, ids=named)
def test_dictionaries_and_toml_refuse_it_with_the_same_words(
    kind: type[Any], known: Declared, tmp_path: Path
) -> None:
    for value in wrong_values(known):
        with pytest.raises(OptionError) as python:
            kind(**{known.name: value})
        with pytest.raises(OptionError) as from_values:
            from_dict(kind, {known.name: value})
        assert str(from_values.value) == f"configuration: {python.value}"
        if value is None:
            continue  # TOML has none
        path = tmp_path / "c.toml"
        path.write_text(f"{known.name} = {toml(value)}\n")
        with pytest.raises(OptionError) as from_file:
            from_toml(kind, path)
        assert str(from_file.value) == f"{path}: {python.value}"


def toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml, value))}]"
    return f'"{value}"' if isinstance(value, str) else repr(value)


def test_an_option_of_a_section_is_named_with_it() -> None:
    with pytest.raises(InputError, match=r"^configuration: tagger\.epochs: found 0, expected 1\.\.10000$"):
        from_dict(PipelineConfig, {"tagger": {"epochs": 0}})


# ---- the command line


@dataclass(frozen=True)
class Door:
    """An option of a command that stands for a field of a configuration."""

    command: str
    known: Declared
    parameter: str
    arguments: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.command} {' '.join(self.arguments)} --{self.parameter}"

    @property
    def flag(self) -> str:
        return f"--{self.parameter.replace('_', '-')}"


def doors() -> list[Door]:
    found = []
    for kind, arguments in (
        (GraphConfig, ("--parser", "graph")),
        (TransitionConfig, ("--parser", "transition")),
        (PipelineConfig, ("--pipeline",)),
    ):
        for known in declared(kind).values():
            parameter = train.ALIASES.get(known.name, known.name)
            if parameter in signature(train.run).parameters:
                found.append(Door("train", known, parameter, arguments if parameter != "parser" else ()))
    for known in declared(ParseOptions).values():
        if known.name in signature(parse.run).parameters:
            found.append(Door("parse", known, known.name))
    return found


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("doors")
    small_treebank().write(folder / "gold.conllu")
    return folder


@pytest.mark.parametrize("door", [d for d in doors() if d.known.base is not bool], ids=str)
def test_the_command_line_refuses_it_in_one_line(
    door: Door, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gold, model = str(files / "gold.conllu"), str(files / "model")
    base = ["train", "--train", gold, "--model", model] if door.command == "train" else ["parse", gold]
    for value in wrong_items(door.known):
        assert run([*base, *door.arguments, f"{door.flag}={value}"]) == 2, value
        shown = capsys.readouterr()
        assert len(shown.err.strip().splitlines()) == 1, shown.err
        assert door.flag in shown.err
        assert shown.out == ""
    assert not (files / "model").exists()


@pytest.mark.parametrize("door", [d for d in doors() if d.known.base is not bool], ids=str)
def test_help_tells_the_values(door: Door, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([door.command, "--help"]) == 0
    told = "".join(capsys.readouterr().out.split())
    if door.parameter not in ("parser", "system"):  # these say it in words of their own
        assert "".join(door.known.values.split()) in told


def test_a_value_of_the_file_is_not_told_as_one_of_the_command_line(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "c.toml"
    config.write_text("epochs = 0\n")
    gold = str(files / "gold.conllu")
    command = ["train", "--train", gold, "--model", str(tmp_path / "m"), "--config", str(config)]
    assert run(command) == 2
    assert capsys.readouterr().err == f"arcwise: {config}: epochs: found 0, expected 1..10000\n"
    assert run([*command, "--epochs", "-2"]) == 2
    assert capsys.readouterr().err == "arcwise: --epochs: found -2, expected 1..10000\n"


# ---- values that are taken


def test_lists_become_tuples_and_numbers_plain() -> None:
    config = GraphConfig(try_C=[1, np.float32(0.5)], epochs=np.int64(3), C=2)  # type: ignore[arg-type]
    assert config == GraphConfig(try_C=(1.0, 0.5), epochs=3, C=2.0)
    assert (type(config.epochs), type(config.C), type(config.try_C[1])) == (int, float, float)
    assert hash(config) == hash(replace(config))


def test_a_check_and_its_error_are_told_under_the_name_of_the_option() -> None:
    def check(text: str) -> None:
        if text != "right":
            raise InputError(f"word: found {text!r}, expected the right one")

    @dataclass(frozen=True)
    class Own:
        word: str = option("right", "A word.", check=check, form="the right one")

        def __post_init__(self) -> None:
            check_options(self)

    with pytest.raises(OptionError, match=r"^word: found 'wrong', expected the right one$"):
        Own("wrong")


@pytest.mark.parametrize("trainer", TRAINERS)
def test_a_configuration_survives_dictionaries_and_toml(trainer: str, tmp_path: Path) -> None:
    own = {"C": 0.5, "try_C": (0.1, 0.5), "k": 3, "beta": 2.0, "learning_rate": 0.3, "clusters": 2}
    reads = TRAINERS[trainer].reads
    config = GraphConfig(trainer=trainer, seed=7, **{k: v for k, v in own.items() if k in reads})  # type: ignore[arg-type]
    config.refuse_unread()
    values = to_dict(config)
    assert from_dict(GraphConfig, values) == config
    path = tmp_path / "c.toml"
    path.write_text("".join(f"{k} = {toml(v)}\n" for k, v in values.items() if v is not None))
    assert from_toml(GraphConfig, path) == config


# ---- the table of trainers, and options that nothing reads


def test_the_table_names_options_that_exist() -> None:
    known = declared(GraphConfig)
    for name, entry in TRAINERS.items():
        assert set(entry.reads) <= set(known), name
        assert set(entry.defaults) <= {option for option in entry.reads if known[option].default is None}, (
            name
        )
        assert {option for option in ("C", "learning_rate") if option in entry.reads} == set(entry.defaults)


@pytest.mark.parametrize("trainer", TRAINERS)
def test_options_that_a_trainer_does_not_read_are_refused(trainer: str) -> None:
    for name in own_options():
        known = declared(GraphConfig)[name]
        other = next(value for value in [*right_values(known), 0.123] if value != known.default)
        config = GraphConfig(trainer=trainer, **{name: other})  # type: ignore[arg-type]
        if name in TRAINERS[trainer].reads:
            config.refuse_unread()
            continue
        readers = [reader for reader, entry in TRAINERS.items() if name in entry.reads]
        with pytest.raises(OptionError, match=f"the trainer {trainer} ignores it") as error:
            GraphParser.train(small_treebank(), config=config)
        assert error.value.name == name
        assert all(reader in str(error.value) for reader in readers)


def test_a_model_with_options_that_its_trainer_did_not_read_is_loaded(tmp_path: Path) -> None:
    """Models of before may have any: they were told, and not read."""
    parser = GraphParser.train(small_treebank(), config=GraphConfig(trainer="perceptron", **SMALL))  # type: ignore[arg-type]
    old = GraphParser(replace(parser.model, config=replace(parser.model.config, k=3, beta=2.0, C=7.0)))
    old.save(tmp_path / "model")
    assert GraphParser.load(tmp_path / "model").model.config.k == 3


def test_the_same_options_for_another_trainer() -> None:
    config = GraphConfig(trainer="eg", beta=3.0, C=0.5, labelled=False, epochs=4)
    helper = config.for_trainer("perceptron", epochs=5)
    helper.refuse_unread()
    assert helper == GraphConfig(trainer="perceptron", labelled=False, epochs=5)


@pytest.mark.parametrize(
    "options, name",
    [
        ({"C": 1.0}, "C"),
        ({"warm_epochs": 2}, "warm_epochs"),
        ({"explore": 0.5, "beam": 4, "warm_epochs": 1}, "explore"),
        ({"system": "dag", "labelled": False}, "labelled"),
        ({"system": "dag", "unreachable": "skip"}, "unreachable"),
        ({"system": "dag", "single_root": False}, "single_root"),
    ],
)
def test_options_that_the_transition_trainer_does_not_read_are_refused(
    options: dict[str, Any], name: str
) -> None:
    config = TransitionConfig(epochs=3, move_bits=10, label_bits=8, **options)
    with pytest.raises(OptionError, match=r"ignores it|explores only in warm_epochs") as error:
        TransitionParser.train(small_treebank(), config=config)
    assert error.value.name == name


@pytest.mark.parametrize(
    "options",
    [
        {"trainer": "mira", "C": 1.0},
        {"beam": 2, "warm_epochs": 2},
        {"beam": 2, "explore": 0.5},
        {"explore": 0.5},
    ],
)
def test_options_that_the_transition_trainer_reads_are_taken(options: dict[str, Any]) -> None:
    TransitionConfig(**options).refuse_unread()
