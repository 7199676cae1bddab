"""Where torch, or a GPU, is missing: which, said in one line before anything is read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from arcwise.cli.main import run
from arcwise.errors import MissingExtraError, OptionError
from arcwise.neural import NeuralConfig, NeuralParser
from arcwise.optional import is_installed
from contracts.small_treebank import small_treebank


@pytest.fixture
def no_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)


@pytest.fixture
def bank(tmp_path: Path) -> Path:
    small_treebank().write(tmp_path / "train.conllu")
    return tmp_path / "train.conllu"


def train(bank: Path, *more: str) -> int:
    model = str(bank.with_name("m.arcwise"))
    return run(["train", "--train", str(bank), "--model", model, "--parser", "neural", *more])


@pytest.mark.parametrize("more", [[], ["--pipeline"], ["--device", "cuda"], ["--dev", "5fold"]])
def test_the_command_line_says_which_library_is_missing(
    more: list[str], bank: Path, no_torch: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train(bank, *more) == 2
    told = capsys.readouterr().err
    assert told.startswith("arcwise: ")
    assert told.count("\n") == 1
    assert "torch" in told
    assert "install" in told
    assert [path.name for path in bank.parent.iterdir()] == ["train.conllu"]


def test_it_is_said_before_the_data_are_read(
    bank: Path, no_torch: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(*_: object, **__: object) -> None:
        raise AssertionError("the data are read first")

    monkeypatch.setattr("arcwise.treebanks.Treebank.read", read)
    assert train(bank) == 2
    assert train(bank, "--dev", str(bank)) == 2
    assert train(bank, "--pipeline") == 2
    assert "torch" in capsys.readouterr().err


def test_in_python(no_torch: None) -> None:
    with pytest.raises(MissingExtraError, match="torch"):
        NeuralParser.train(small_treebank(), config=NeuralConfig(epochs=1))


def test_no_gpu(bank: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    if not is_installed("torch"):
        pytest.skip("needs torch: make test-torch")
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert train(bank, "--device", "cuda") == 2
    assert capsys.readouterr().err == (
        "arcwise: --device: found cuda, but torch finds no GPU here; expected cpu or auto\n"
    )
    with pytest.raises(OptionError, match="device: found cuda"):
        NeuralParser.train(small_treebank(), config=NeuralConfig(device="cuda"))


def test_the_room_is_imported_without_torch() -> None:
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "import arcwise.neural, arcwise.neural.training, arcwise.cli.train, arcwise.models.training\n"
        "from arcwise.neural import NeuralConfig, NeuralModel, NeuralParser"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
