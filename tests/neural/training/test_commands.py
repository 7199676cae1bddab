"""``arcwise train --parser neural``: from the command line, interrupted, resumed, parsed with, calibrated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arcwise.cli.main import run
from arcwise.models import open_model
from arcwise.treebanks import Treebank
from contracts.small_treebank import small_treebank
from contracts.test_interruption import interrupt

CONFIG = """
inputs = ["lower", "suffix2", "upos"]
word_size = 6
affix_size = 4
tag_size = 5
hidden = 8
layers = 1
arc_size = 7
label_size = 6
batch_words = 12
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    small_treebank().write(tmp_path / "train.conllu")
    (tmp_path / "tiny.toml").write_text(CONFIG)
    monkeypatch.setattr("arcwise.neural.checkpoint.MIN_INTERVAL", 0.0)
    return tmp_path


def train(folder: Path, *more: str, model: str = "m.arcwise") -> int:
    files = ["--train", str(folder / "train.conllu"), "--model", str(folder / model)]
    own = ["--parser", "neural", "--config", str(folder / "tiny.toml"), "--epochs", "3", "--device", "cpu"]
    return run(["train", *files, *own, *more])


def names(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir() if p.suffix not in (".conllu", ".toml"))


def test_order_2_trains_siblings_and_parses_as_any_other(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train(folder, "--order", "2") == 0
    model, out = folder / "m.arcwise", folder / "out.conllu"
    opened: Any = open_model(model)
    assert opened.model.config.order == 2
    assert np.abs(opened.model.members[0]["sibling.product"]).max() > 0
    files = [str(folder / "train.conllu"), "--model", str(model), "-o", str(out)]
    assert run(["parse", *files, "--confidence", "--legal", "ud"]) == 0
    assert all(sentence.tree.is_complete for sentence in Treebank.read(out))
    assert run(["info", str(model)]) == 0
    assert "order" in capsys.readouterr().out
    assert train(folder, "--order", "2", "--objective", "hinge") == 2
    assert "expected likelihood" in capsys.readouterr().err
    assert train(folder, "--order", "2", "--parser", "transition") == 2
    assert "--order: found 2 with the parser transition, expected graph or neural" in capsys.readouterr().err


def test_order_1_is_the_default(folder: Path) -> None:
    assert train(folder) == train(folder, "--order", "1", model="one.arcwise") == 0
    first, one = ((folder / name).read_bytes() for name in ("m.arcwise", "one.arcwise"))
    assert first == one


def test_train_and_parse(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert train(folder, "--ensemble", "2", "--size", "small", "--objective", "hinge") == 0
    told = capsys.readouterr().err
    assert "epoch 3/3" in told
    assert "network 2 of 2" in told
    assert names(folder) == ["m.arcwise"]  # no checkpoint is left
    out = folder / "out.conllu"
    assert (
        run(["parse", str(folder / "train.conllu"), "--model", str(folder / "m.arcwise"), "-o", str(out)])
        == 0
    )
    assert all(sentence.tree.is_complete for sentence in Treebank.read(out))
    assert run(["info", str(folder / "m.arcwise")]) == 0
    assert "neural" in capsys.readouterr().out


def test_8_bit_weights_tell_their_cost(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert train(folder, "--precision", "int8", "--dev", str(folder / "train.conllu")) == 0
    assert "cost of the stored precision" in capsys.readouterr().err
    assert open_model(folder / "m.arcwise").info["precision"] == "int8"


def test_calibrate_tells_the_temperatures_that_the_model_has(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train(folder, "--dev", str(folder / "train.conllu")) == 0
    at = open_model(folder / "m.arcwise").info["temperature"]
    capsys.readouterr()
    once = folder / "once.arcwise"
    calibrate = ["calibrate", str(folder / "train.conllu"), "--model"]
    assert run([*calibrate, str(folder / "m.arcwise"), "--output", str(once)]) == 0
    assert f"as the model is: temperature {at:.4g}," in capsys.readouterr().out
    assert run([*calibrate, str(once)]) == 0
    fitted = open_model(once).info["temperature"]
    assert f"as the model is: temperature {fitted:.4g}," in capsys.readouterr().out


def test_an_interrupted_training_is_resumed_to_the_same_bytes(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert train(folder, model="whole.arcwise") == 0
    with monkeypatch.context() as patch:
        interrupt(patch, epoch=1)
        assert train(folder) == 130
        assert names(folder) == ["whole.arcwise"]
        interrupt(patch, epoch=3)
        assert train(folder) == 0  # what there is so far is written
    assert names(folder) == ["m.arcwise", "m.arcwise.checkpoint", "whole.arcwise"]
    assert open_model(folder / "m.arcwise").info["interrupted"]
    capsys.readouterr()
    assert train(folder) == 2
    told = capsys.readouterr().err
    assert told == (
        f"arcwise: {folder / 'm.arcwise'}.checkpoint: a training was interrupted; continue it with --resume, "
        f"or delete the file\n"
    )
    assert train(folder, "--resume", "--seed", "9") == 2
    assert "belongs to a training run with other options or data" in capsys.readouterr().err
    assert train(folder, "--resume") == 0
    assert "resuming after epoch 2" in capsys.readouterr().err
    assert names(folder) == ["m.arcwise", "whole.arcwise"]
    assert (folder / "m.arcwise").read_bytes() == (folder / "whole.arcwise").read_bytes()


@pytest.mark.parametrize(
    "more, message",
    [
        (
            ["--resume"],
            "m.arcwise.checkpoint: no such file, expected the checkpoint of a training to --resume",
        ),
        (["--beam", "4"], "--beam: is an option of --parser transition, found --parser neural"),
        (["--size", "huge"], "--size: found 'huge', expected one of small, base, large"),
        (["--unlabelled", "--config", "{clusters}"], "clusters"),
        (["--device", "tpu"], "--device: found 'tpu', expected one of auto, cpu, cuda"),
    ],
)
def test_bad_options_are_told_in_one_line(
    more: list[str], message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "clusters.toml").write_text("clusters = 2\n")
    assert train(folder, *(part.format(clusters=folder / "clusters.toml") for part in more)) == 2
    told = capsys.readouterr().err
    assert message in told
    assert told.count("\n") == 1
    assert names(folder) == []


def test_an_empty_treebank(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "train.conllu").write_text("")
    assert train(folder) == 2
    assert "train.conllu: found no sentence" in capsys.readouterr().err
