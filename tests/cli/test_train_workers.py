"""``arcwise train --workers``: the same model as Python makes in as many parts, and what cannot be is said
before anything is read."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from arcwise.cli.main import run
from arcwise.graph import GraphConfig, GraphParser
from arcwise.models.registry import open_model
from arcwise.models.training import parts_for
from contracts.small_treebank import small_treebank

OPTIONS = GraphConfig(epochs=2, arc_bits=12, row_bits=12)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    small_treebank().write(tmp_path / "train.conllu")
    (tmp_path / "small.toml").write_text("epochs = 2\narc_bits = 12\nrow_bits = 12\n")
    return tmp_path


def train(folder: Path, *more: str) -> int:
    files = {"train": "train.conllu", "model": "model", "config": "small.toml"}
    given = [part for name, file in files.items() for part in (f"--{name}", str(folder / file))]
    return run(["train", *given, "--dev", "none", "--quiet", *more])


@pytest.mark.parametrize("trainer", ["mira", "eg"])
def test_the_model_is_that_of_as_many_parts(folder: Path, trainer: str) -> None:
    """A trainer without parts is trained as if there were one worker."""
    assert train(folder, "--workers", "2", "--trainer", trainer) == 0
    parts = 2 if trainer == "mira" else 1
    expected = GraphParser.train(small_treebank(), config=replace(OPTIONS, trainer=trainer, parts=parts))
    found = open_model(folder / "model")
    assert found.info["config"] == expected.info["config"]
    assert (found.model.weights == expected.model.weights).all()


def test_a_file_says_how_many_parts(folder: Path) -> None:
    with (folder / "small.toml").open("a") as file:
        file.write("parts = 3\n")
    assert train(folder, "--workers", "2") == 0
    assert open_model(folder / "model").info["config"].parts == 3


def test_a_pipeline_is_trained_by_workers_too(folder: Path) -> None:
    (folder / "small.toml").write_text("jackknife = 2\n[parser]\nepochs = 1\narc_bits = 12\nrow_bits = 12\n")
    assert train(folder, "--workers", "2", "--pipeline") == 0
    assert open_model(folder / "model").parser.info["config"].parts == 2


def test_parts_only_where_epochs_are_learned_in_parts() -> None:
    assert parts_for("transition", None, {}, 3) == 3
    assert parts_for("transition", None, {"system": "dag"}, 3) is None
    assert parts_for("graph", None, {"try_C": (0.1, 1.0)}, 3) is None
    assert parts_for("graph", None, {"parts": 2}, 3) is None
    assert parts_for("graph", None, {}, 1) is None


@pytest.mark.parametrize(
    "options, told",
    [
        (["--workers", "0"], "--workers"),
        (["--engine", "spark"], "arcwise: --engine: found 'spark', expected local or ray"),
        (
            ["--address", "auto"],
            "arcwise: --address: found 'auto', but only the engine ray takes an address",
        ),
    ],
)
def test_what_cannot_be_is_said(
    folder: Path, options: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train(folder, *options) == 2
    assert told in capsys.readouterr().err
    assert not (folder / "model").exists()


def test_without_ray_it_is_said_what_to_install(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    assert train(folder, "--workers", "2", "--engine", "ray") == 2
    said = capsys.readouterr().err
    assert said.startswith("arcwise: this needs ray, which is not installed: ")
    assert said.count("\n") == 1
