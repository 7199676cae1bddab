"""Ctrl-C, whenever it comes: a model that was there stays, and nothing is written that is not worth it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from arcwise.cli.main import run
from arcwise.graph import TRAINERS, GraphConfig, GraphParser
from arcwise.learning.progress import Progress
from arcwise.models import open_model
from arcwise.text.tagger import Tagger
from arcwise.text.tokenizer import Tokenizer
from arcwise.transition import TransitionConfig, TransitionParser
from arcwise.treebanks import Treebank
from contracts.every_parser import with_graphs
from contracts.small_treebank import partial, small_treebank

SMALL = {"arc_bits": 12, "row_bits": 12}
KINDS = {
    "graph": ["--parser", "graph"],
    "transition": ["--parser", "transition"],
    "graphs": ["--parser", "transition", "--system", "dag"],
    "pipeline": ["--pipeline", "--jackknife", "2"],
}


class Stopped(Progress):
    """Ctrl-C at the beginning of an epoch, or while a line is said."""

    def __init__(self, *, epoch: int = 0, line: str = "") -> None:
        super().__init__(shown=False)
        self.number, self.line = epoch, line

    def say(self, line: str) -> None:
        if self.line and self.line in line:
            raise KeyboardInterrupt

    @contextmanager
    def epoch(self, number: int, epochs: int, sentences: int) -> Iterator[Any]:
        if number == self.number:
            raise KeyboardInterrupt
        yield lambda done: None


def interrupt(monkeypatch: pytest.MonkeyPatch, epoch: int) -> None:
    """From now on Ctrl-C comes in that epoch of every training."""

    @contextmanager
    def stopped(self: Progress, number: int, epochs: int, sentences: int) -> Iterator[Any]:
        if number == epoch:
            raise KeyboardInterrupt
        yield lambda done: None

    monkeypatch.setattr(Progress, "epoch", stopped)


# ---- in Python


@pytest.mark.parametrize("trainer", TRAINERS)
def test_before_the_first_epoch_is_over_there_is_no_graph_parser(trainer: str) -> None:
    config = GraphConfig(trainer="latent", epochs=3, clusters=2, **SMALL).for_trainer(trainer)
    with pytest.raises(KeyboardInterrupt):
        GraphParser.train(small_treebank(), small_treebank(), config=config, progress=Stopped(epoch=1))
    kept = GraphParser.train(small_treebank(), small_treebank(), config=config, progress=Stopped(epoch=2))
    assert kept.model.report["interrupted"]
    assert kept.model.report["epoch"] == 1
    assert len(kept.model.report["history"]) == 1


@pytest.mark.parametrize("system", ["arc-eager", "dag"])
def test_before_the_first_epoch_is_over_there_is_no_transition_parser(system: str) -> None:
    config = TransitionConfig(system=system, epochs=3, move_bits=12, label_bits=10)
    with pytest.raises(KeyboardInterrupt):
        TransitionParser.train(with_graphs(), config=config, progress=Stopped(epoch=1))
    kept = TransitionParser.train(with_graphs(), config=config, progress=Stopped(epoch=2))
    assert kept.model.report["interrupted"]


@pytest.mark.parametrize("line", ["chosen: epoch", "temperature of heads"])
def test_what_comes_after_the_epochs_may_be_left_out(line: str) -> None:
    config = GraphConfig(epochs=2, **SMALL)
    kept = GraphParser.train(small_treebank(), small_treebank(), config=config, progress=Stopped(line=line))
    assert kept.model.report["interrupted"]
    assert kept.model.report["epoch"] >= 1
    assert kept.model.temperature == 1.0
    assert (kept.parse(small_treebank()).heads == small_treebank().heads).mean() > 0.5


def test_the_values_of_C_that_were_tried_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    config = GraphConfig(trainer="eg", epochs=1, try_C=(0.1, 1.0), **SMALL)
    kept = GraphParser.train(
        small_treebank(), small_treebank(), config=config, progress=Stopped(line="C = 1.0")
    )
    assert kept.model.config.C == 0.1
    assert kept.model.report["interrupted"]
    with pytest.raises(KeyboardInterrupt):
        GraphParser.train(small_treebank(), small_treebank(), config=config, progress=Stopped(line="C = 0.1"))


def test_filling_in_of_unknown_heads_is_interrupted_too(monkeypatch: pytest.MonkeyPatch) -> None:
    config = GraphConfig(trainer="eg", epochs=2, **SMALL)
    interrupt(monkeypatch, epoch=3)  # the perceptron that fills in has five, the trainer itself two
    with pytest.raises(KeyboardInterrupt):
        GraphParser.train(partial(), config=config)


# ---- on the command line


@pytest.fixture
def bank(tmp_path: Path) -> Path:
    with_graphs().write(tmp_path / "train.conllu")
    return tmp_path / "train.conllu"


def trained(bank: Path, kind: str, *more: str) -> list[str]:
    model = str(bank.with_name("m.arcwise"))
    return ["train", "--train", str(bank), "--model", model, "--epochs", "3", *KINDS[kind], *more]


@pytest.mark.parametrize("kind", KINDS)
def test_a_good_model_survives_an_interrupted_training(
    kind: str, bank: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = bank.with_name("m.arcwise")
    assert run(trained(bank, kind)) == 0
    before = model.read_bytes()

    interrupt(monkeypatch, epoch=1)
    capsys.readouterr()
    assert run(trained(bank, kind, "--seed", "7")) == 130
    assert "stopped before the end of the first epoch" in capsys.readouterr().err
    assert model.read_bytes() == before
    assert sorted(p.name for p in bank.parent.iterdir()) == ["m.arcwise", "train.conllu"]

    interrupt(monkeypatch, epoch=2)
    for number in (1, 2):
        beside = bank.with_name(f"m.stopped-{number}.arcwise")
        assert run(trained(bank, kind, "--seed", "7", "--quiet")) == 130
        told = capsys.readouterr().err
        assert told.splitlines()[-2:] == [
            f"training was stopped: {model} is unchanged, the new model is {beside}",
            "arcwise: stopped",
        ]
        assert model.read_bytes() == before
        assert open_model(beside).parse(Treebank.read(bank)).word_count


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_model_the_best_so_far_is_written(
    kind: str, bank: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt(monkeypatch, epoch=1)
    assert run(trained(bank, kind)) == 130
    assert list(bank.parent.iterdir()) == [bank]
    interrupt(monkeypatch, epoch=2)
    assert run(trained(bank, kind)) == 0
    assert open_model(bank.with_name("m.arcwise")).parse(Treebank.read(bank)).word_count


@pytest.mark.parametrize("part", [Tokenizer, Tagger])
def test_a_pipeline_without_all_its_parts_is_not_written(
    part: type[Any], bank: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(part, "train", stopped)
    assert run(trained(bank, "pipeline")) == 130
    assert list(bank.parent.iterdir()) == [bank]


def test_scores_of_a_pipeline_may_be_left_out(bank: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("arcwise.models.train_pipeline.raw_text_scores", stopped)
    assert run(trained(bank, "pipeline", "--dev", str(bank))) == 0
    assert "dev" not in open_model(bank.with_name("m.arcwise")).info


@pytest.mark.parametrize("kind", ["graph", "transition"])
def test_ctrl_c_while_the_model_is_written(kind: str, bank: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = bank.with_name("m.arcwise")
    assert run(trained(bank, kind)) == 0
    before = model.read_bytes()

    def stopped(self: Path, target: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", stopped)
    assert run(trained(bank, kind, "--seed", "7")) == 130
    assert model.read_bytes() == before
    assert sorted(p.name for p in bank.parent.iterdir()) == ["m.arcwise", "train.conllu"]


# ---- grammars


@pytest.mark.parametrize("learner", ["em", "viterbi-em", "global"])
def test_a_grammar_survives_an_interrupted_induction(
    learner: str, bank: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = bank.with_name("dmv.json")
    induce = ["induce", str(bank), "--model", str(model), "--learner", learner, "--restarts", "2"]
    assert run([*induce, "--epsilon", "0.5"]) == 0
    before = model.read_bytes()
    if learner == "global":  # ends at once, with the best so far
        monkeypatch.setattr(
            "arcwise.cli._support.induce_globally.SearchProgress.should_stop", lambda self: True
        )
        assert run([*induce, "--epsilon", "0"]) == 0
        beside = bank.with_name("dmv.stopped-1.json")
        assert f"{model} is unchanged, the new grammar is {beside}" in capsys.readouterr().out
        assert open_model(beside).kind == "dmv"
    else:

        def stopped(*_: Any, **__: Any) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(f"arcwise.induction.{learner.replace('-', '_')}", stopped)
        assert run(induce) == 130
        assert len(list(bank.parent.iterdir())) == 2
    assert model.read_bytes() == before
