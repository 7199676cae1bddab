"""Folders that hold no transformer that can be used: one sentence and status 2, before work starts."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arcwise.cli.main import run
from arcwise.errors import OptionError
from arcwise.neural import NeuralConfig
from arcwise.neural.pretrained import Pretrained
from contracts.small_treebank import small_treebank
from neural.tiny_transformer import make_folder, word_pieces


def _weights(folder: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    from safetensors.numpy import load_file, save_file

    arrays = load_file(folder / "model.safetensors")
    change(arrays)
    save_file(arrays, folder / "model.safetensors", metadata={"format": "pt"})


def _settings(folder: Path, **changes: Any) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | changes))


def _as_pickle(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(_Bomb()))


class _Bomb:
    """A pickle of it says so when it is opened."""

    def __reduce__(self) -> Any:
        return print, ("the pickle was opened",)


def _larger_vocabulary(folder: Path) -> None:
    tokenizer = word_pieces()
    tokenizer.add_tokens(["one", "more"])
    tokenizer.save(str(folder / "tokenizer.json"))


WORDS = "embeddings.word_embeddings.weight"
DAMAGE: dict[str, tuple[Callable[[Path], Any], str]] = {
    "no config": (lambda f: (f / "config.json").unlink(), "has no config.json"),
    "config of a list": (lambda f: (f / "config.json").write_text("[]"), "config.json is a list"),
    "no JSON": (lambda f: (f / "config.json").write_text("{"), "config.json is not valid JSON"),
    "no kind": (lambda f: (f / "config.json").write_text("{}"), "config.json has no model_type"),
    "unknown kind": (lambda f: _settings(f, model_type="martian"), "cannot be read as a transformer"),
    "a decoder too": (lambda f: _settings(f, is_encoder_decoder=True), "has an encoder and a decoder"),
    "no weights": (lambda f: (f / "model.safetensors").unlink(), "has no model.safetensors\n"),
    "a pickle": (_as_pickle, "a pickle (.bin), which arcwise does not load because it may run code"),
    "weights cut off": (
        lambda f: (f / "model.safetensors").write_bytes((f / "model.safetensors").read_bytes()[:99]),
        "cannot be read as a transformer",
    ),
    "weights missing": (lambda f: _weights(f, lambda a: a.pop(WORDS)), f"the weights '{WORDS}' are missing"),
    "weights of another size": (
        lambda f: _weights(f, lambda a: a.update({WORDS: a[WORDS][:9]})),
        f"'{WORDS}'",
    ),
    "weights not finite": (
        lambda f: _weights(f, lambda a: a.update({WORDS: a[WORDS] * np.float32("inf")})),
        "some weights are not finite",
    ),
    "no tokenizer": (lambda f: (f / "tokenizer.json").unlink(), "has no tokenizer.json: save its tokenizer"),
    "slow tokenizer": (
        lambda f: (f / "tokenizer.json").rename(f / "vocab.txt"),
        "has no tokenizer.json: save its tokenizer",
    ),
    "no tokenizer inside": (
        lambda f: (f / "tokenizer.json").write_text("{}"),
        "tokenizer.json is not a valid tokenizer",
    ),
    "tokenizer of another": (_larger_vocabulary, "pieces, but the transformer has embeddings for"),
    "no room": (
        lambda f: (f / "tokenizer_config.json").write_text('{"model_max_length": 2}'),
        "the window of 2 pieces has 2 special ones and no room for words",
    ),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_folder(damage: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = make_folder(tmp_path / "encoder")
    change, message = DAMAGE[damage]
    change(folder)
    told = _told(tmp_path, ["--encoder", str(folder)], capfd)
    assert told.startswith(f"arcwise: --encoder: {folder}: ")
    assert "opened" not in told
    assert message in told


@pytest.mark.parametrize(
    "options, message",
    [
        (["--encoder", "{}/none"], "--encoder: {}/none: no such folder, expected a folder with config.json"),
        (["--encoder", "{}/t.conllu"], "--encoder: {}/t.conllu: is a file, expected a folder"),
        (["--encoder", ""], "--encoder: found '', expected a folder name"),
    ],
)
def test_no_folder(
    options: list[str], message: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    told = _told(tmp_path, [o.format(tmp_path) for o in options], capfd)
    assert told.startswith(f"arcwise: {message.format(tmp_path)}")


def _told(tmp_path: Path, options: list[str], capfd: pytest.CaptureFixture[str]) -> str:
    """What the command line says, which must be one line, of a training that cannot start."""
    (tmp_path / "t.conllu").write_text(small_treebank().text)
    common = ["train", "--parser", "neural", "--train", str(tmp_path / "t.conllu"), "--quiet"]
    capfd.readouterr()
    assert run([*common, "--model", str(tmp_path / "m"), "--dev", "none", *options]) == 2
    assert not (tmp_path / "m").exists()
    out, err = capfd.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    return err


@pytest.mark.parametrize(
    "options, message",
    [
        ({"inputs": ("lower",)}, "inputs: found .*a transformer .encoder. replaces embeddings and LSTMs"),
        ({"hidden": 8}, "hidden: found 8"),
        ({"word_dropout": 0.1}, "word_dropout: found 0.1"),
        ({"encoder": None, "encoder_rate": 0.1}, "encoder_rate: found 0.1.*there is no transformer"),
        ({"encoder": None, "encoder_layers": 2}, "encoder_layers: found 2"),
    ],
)
def test_options_that_nothing_reads(options: dict[str, Any], message: str, tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "encoder")
    NeuralConfig(encoder=str(folder)).refuse_unread()
    with pytest.raises(OptionError, match=message):
        NeuralConfig(**({"encoder": str(folder)} | options)).refuse_unread()


def test_more_layers_than_there_are(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "encoder")
    assert Pretrained.read(str(folder), layers=2)
    with pytest.raises(OptionError, match=r"encoder_layers: found 3, but .* has 2 layers"):
        Pretrained.read(str(folder), layers=3)


def test_weights_in_several_files_and_half_precision(tmp_path: Path) -> None:
    from transformers import AutoModel

    folder = make_folder(tmp_path / "encoder")
    whole = Pretrained.read(str(folder))
    model = AutoModel.from_pretrained(folder)
    (folder / "model.safetensors").unlink()
    model.save_pretrained(folder, max_shard_size="10KB")
    assert not (folder / "model.safetensors").exists()
    assert Pretrained.read(str(folder)).digest == whole.digest
    model.half().save_pretrained(folder, max_shard_size="10GB")
    half = Pretrained.read(str(folder)).weights
    assert all(values.dtype == np.float32 for values in half.values())
    np.testing.assert_allclose(half[WORDS], whole.weights[WORDS], atol=1e-3)


def test_weights_under_the_name_of_a_larger_model(tmp_path: Path) -> None:
    """As those of a model with a head for masked words are called."""
    folder = make_folder(tmp_path / "encoder")
    whole = Pretrained.read(str(folder))
    _weights(folder, lambda a: a.update({f"bert.{name}": a.pop(name) for name in list(a)}))
    assert Pretrained.read(str(folder)).digest == whole.digest
