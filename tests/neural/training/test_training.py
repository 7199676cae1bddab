"""Training from treebank to parser: seeds, ensembles, folds, Ctrl-C, and going on after a kill, to the
bit."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arcwise.engine import Processes
from arcwise.errors import InputError, ModelError
from arcwise.learning.progress import Progress
from arcwise.neural import NeuralConfig, NeuralModel, NeuralParser
from arcwise.neural.tags import PredictedTags
from arcwise.treebanks import Treebank
from contracts.small_treebank import partial, small_treebank
from contracts.test_interruption import Stopped
from neural.random_models import SMALL

TINY: dict[str, Any] = SMALL | {"epochs": 4, "batch_words": 12, "warm_up": 4, "dropout": 0.2}


def train(train: Treebank | None = None, dev: Any = None, **options: Any) -> NeuralModel:
    others = {
        name: options.pop(name)
        for name in ("progress", "checkpoint", "threads", "predicted_tags", "engine")
        if name in options
    }
    config = NeuralConfig(**TINY | options)
    return NeuralParser.train(
        small_treebank() if train is None else train, dev, config=config, **others
    ).model


def same(one: NeuralModel, other: NeuralModel, *, report: bool = True) -> bool:
    """To the bit, and with the same history."""
    equal = [
        np.array_equal(a[name], b[name])
        for a, b in zip(one.members, other.members, strict=True)
        for name in a
    ]
    return all(equal) and (not report or one.report == other.report)


def test_the_same_seed_gives_the_same_model_and_another_one_another() -> None:
    assert same(train(), train())
    assert not same(train(), train(seed=2), report=False)


def test_the_best_epoch_is_kept() -> None:
    """Without development data the last one is."""
    assert train().report["epoch"] == 4
    model = train(dev=small_treebank(), learning_rate=0.05, epochs=8)
    history = model.report["history"]
    best = max(range(8), key=lambda i: history[i]["dev_las"])
    assert model.report["epoch"] == best + 1
    stopped = train(dev=small_treebank(), learning_rate=1e-9, epochs=8, patience=2)
    assert len(stopped.report["history"]) == stopped.report["epoch"] + 2


def test_an_ensemble_is_its_members_with_seeds_one_after_the_other() -> None:
    both = train(ensemble=2, seed=5)
    assert len(both.members) == 2
    for member, seed in zip(both.members, (5, 6), strict=True):
        alone = train(seed=seed)
        assert all(np.array_equal(member[name], alone.members[0][name]) for name in member)


@pytest.mark.slow
def test_an_ensemble_is_the_same_in_processes() -> None:
    dev = small_treebank()
    assert same(train(ensemble=2, dev=dev), train(ensemble=2, dev=dev, engine=Processes(2)))


@pytest.mark.slow
def test_folds_are_the_same_in_processes() -> None:
    assert same(train(dev="2fold", epochs=2), train(dev="2fold", epochs=2, engine=Processes(2)))


@pytest.mark.slow
def test_it_learns_a_small_treebank_by_heart_and_from_partial_trees_too() -> None:
    quick: dict[str, Any] = {
        "epochs": 60, "learning_rate": 0.02, "hidden": 16, "dropout": 0.0, "word_dropout": 0.0,
        "affix_dropout": 0.0, "tag_dropout": 0.0, "average": 0.9,
    }  # fmt: skip
    for objective in ("likelihood", "softmax-margin", "hinge", "risk", "head-by-head"):
        gold = small_treebank(crossing=True)
        parser = NeuralParser(train(gold, objective=objective, **quick))
        parsed = parser.parse(gold)
        assert (parsed.heads == gold.heads).mean() > 0.95
        assert (
            np.mean([a == b for a, b in zip(parsed.column("deprel"), gold.column("deprel"), strict=True)])
            > 0.95
        )
    gold = small_treebank()
    assert (NeuralParser(train(gold, order=2, **quick)).parse(gold).heads == gold.heads).mean() > 0.95
    some = partial()
    parsed = NeuralParser(train(some, clusters=2, **quick)).parse(small_treebank())
    known = some.heads >= 0
    assert (parsed.heads == some.heads)[known].mean() > 0.95


def test_development_data_choose_decoder_and_temperatures() -> None:
    model = train(dev=small_treebank(), epochs=6)
    assert {"dev_uas", "dev_las", "calibration"} <= set(model.report)
    assert (model.temperatures.heads, model.temperatures.labels) != (1.0, 1.0)
    assert not model.report["interrupted"]


def test_folds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Networks of the folds tell epoch and temperatures; the last one learns from everything, so many epochs,
    as if alone."""
    lines: list[str] = []
    progress = Progress(shown=False)
    monkeypatch.setattr(progress, "say", lines.append)
    model = train(dev="2fold", progress=progress)
    assert any(line.startswith("fold 2 of 2") for line in lines)
    epoch = next(int(line.split()[1]) for line in lines if "is best: 2fold" in line or "is best" in line)
    assert model.report["epoch"] == epoch == len(model.report["history"])
    assert model.report["dev"]
    assert model.report["train_sentences"] == len(small_treebank())
    undisturbed = train()
    if epoch == 4:
        assert same(model, undisturbed, report=False)
    for own, other in zip(model.report["history"], undisturbed.report["history"], strict=False):
        assert own["loss"] == other["loss"]


@pytest.mark.slow
def test_a_network_sees_other_tags_than_those_that_it_learns() -> None:
    gold = small_treebank()
    wrong = gold.annotate(upos=["X"] * gold.word_count)
    model = train(
        gold,
        gold,
        predicted_tags=PredictedTags(wrong, wrong),
        learns=("upos",),
        epochs=80,
        learning_rate=0.02,
    )
    assert model.tags.values[0] == tuple(sorted(set(gold.column("upos"))))
    assert len(model.inputs.vocabularies[3].hashes) == 1
    assert model.writes == ("upos",)
    parsed = NeuralParser(model).parse(wrong)
    assert np.mean([a == b for a, b in zip(parsed.column("upos"), gold.column("upos"), strict=True)]) > 0.5


# ---- Ctrl-C


def test_ctrl_c_keeps_the_best_so_far() -> None:
    with pytest.raises(KeyboardInterrupt):
        train(progress=Stopped(epoch=1))
    kept = train(progress=Stopped(epoch=3))
    assert kept.report["interrupted"]
    assert kept.report["epoch"] == 2
    whole = train(dev=small_treebank())
    kept = train(dev=small_treebank(), progress=Stopped(line="temperature of heads"))
    assert kept.report["interrupted"]
    assert same(kept, whole, report=False)


# ---- killed


class Killed(Progress):
    """The process ends at the beginning of an epoch of one of the networks, without a chance to clean up."""

    def __init__(self, network: int, epoch: int) -> None:
        super().__init__(shown=False)
        self.left, self.number = network, epoch

    @contextmanager
    def epoch(self, number: int, epochs: int, sentences: int) -> Iterator[Any]:
        self.left -= number == self.number
        if self.left < 0 and number == self.number:
            os.kill(os.getpid(), signal.SIGKILL)
        yield lambda done: None


def killed(path: Path, network: int, epoch: int, often: float, options: dict[str, Any], dev: bool) -> None:
    """Train in another process, which is killed there."""
    code = (
        "import sys\n"
        f"sys.path[:0] = {sys.path!r}\n"
        "from neural.training.test_training import Killed, train\n"
        "from contracts.small_treebank import small_treebank\n"
        "import arcwise.neural.checkpoint as checkpoint\n"
        f"checkpoint.MIN_INTERVAL = {often}\n"
        f"train(None, small_treebank() if {dev} else None, progress=Killed({network}, {epoch}), "
        f"checkpoint={str(path)!r}, **{options!r})\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    "network, epoch, often, dev, options",
    [
        (0, 3, 0.0, False, {}),
        (0, 4, 0.0, True, {"clusters": 2, "learns": ("upos",)}),
        (1, 3, 0.0, False, {"ensemble": 2}),
        (1, 3, 0.0, True, {"ensemble": 2, "patience": 1, "learning_rate": 1e-9}),
        (0, 4, 1000.0, False, {}),  # only the first epoch was written
    ],
)
def test_a_killed_training_goes_on_to_the_same_model(
    network: int, epoch: int, often: float, dev: bool, options: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "m.checkpoint"
    if "patience" in options:
        epoch = 2
    killed(path, network, epoch, often, options, dev)
    assert path.exists()
    resumed = train(None, small_treebank() if dev else None, checkpoint=path, **options)
    assert same(resumed, train(None, small_treebank() if dev else None, **options))


def test_networks_that_ended_between_two_writings_are_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first network is written after its first epoch alone, patience ends it later, then the second one
    is written."""
    options: dict[str, Any] = {"ensemble": 2, "patience": 2, "learning_rate": 1e-9}
    often = iter([1000.0] * 3 + [0.0] * 100)

    class Sometimes(float):
        def __gt__(self, other: Any) -> bool:
            return next(often) > other

    monkeypatch.setattr("arcwise.neural.checkpoint.MIN_INTERVAL", Sometimes(0))
    path = tmp_path / "m"
    kept = train(None, small_treebank(), checkpoint=path, progress=StoppedInSecond(2), **options)
    assert kept.report["interrupted"]
    assert same(
        train(None, small_treebank(), checkpoint=path, **options),
        train(None, small_treebank(), **options),
    )


class StoppedInSecond(Stopped):
    """Ctrl-C in that epoch of the second network."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.wanted, self.networks = number, 0

    @contextmanager
    def epoch(self, number: int, epochs: int, sentences: int) -> Iterator[Any]:
        self.networks += number == 1
        if (self.networks, number) == (2, self.wanted):
            raise KeyboardInterrupt
        yield lambda done: None


@pytest.fixture
def checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """That of a training that was stopped in its third epoch."""
    monkeypatch.setattr("arcwise.neural.checkpoint.MIN_INTERVAL", 0.0)
    train(checkpoint=tmp_path / "m", progress=Stopped(epoch=3))
    return tmp_path / "m"


@pytest.mark.parametrize(
    "bank, dev, options",
    [
        (None, None, {"seed": 2}),
        (None, None, {"hidden": 9}),
        (small_treebank(crossing=True), None, {}),
        (None, small_treebank(), {}),
    ],
)
def test_the_checkpoint_of_another_training_is_refused(
    bank: Treebank | None, dev: Treebank | None, options: dict[str, Any], checkpoint: Path
) -> None:
    with pytest.raises(ModelError, match=r"belongs to a training run with other options or data \(delete it"):
        train(bank, dev, checkpoint=checkpoint, **options)


def test_what_is_no_checkpoint_is_refused(checkpoint: Path, tmp_path: Path) -> None:
    NeuralParser(train(epochs=1)).save(tmp_path / "model")
    with pytest.raises(ModelError, match="found a model of kind 'neural', expected 'neural-checkpoint'"):
        train(checkpoint=tmp_path / "model")
    checkpoint.write_bytes(checkpoint.read_bytes()[:100])
    with pytest.raises(ModelError, match="is not an arcwise model, or is damaged"):
        train(checkpoint=checkpoint)


# ---- data that cannot be learned from


def test_an_empty_treebank_is_refused() -> None:
    with pytest.raises(InputError, match=r"empty.conllu: has no words, expected trees to learn from"):
        train(Treebank.from_string("", source="empty.conllu"))


def test_a_treebank_without_heads_is_refused() -> None:
    bare = small_treebank().annotate(heads=np.full(small_treebank().word_count, -1, np.int32))
    with pytest.raises(InputError, match="head"):
        train(bare)
    with pytest.raises(InputError, match="has no heads, expected gold trees"):
        train(small_treebank(), bare)


def test_sentences_of_one_word_and_labels_that_development_data_alone_have() -> None:
    one = Treebank.from_string("1\tYes\t_\tINTJ\t_\t_\t0\troot\t_\t_\n\n")
    model = train(one, small_treebank(), epochs=2)
    assert model.labels == ("root",)
    parsed = NeuralParser(replace(model)).parse(small_treebank())
    assert all(sentence.tree.is_complete for sentence in parsed)
