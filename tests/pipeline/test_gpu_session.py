"""The script of a session on a GPU: the whole of it on invented treebanks, without a GPU."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

SCRIPT = Path(__file__).parents[2] / "recipes" / "gpu_session.py"
SMALL = {
    "epochs": 2,
    "hidden": 8,
    "layers": 1,
    "arc_size": 8,
    "label_size": 4,
    "word_size": 8,
    "affix_size": 4,
    "tag_size": 4,
    "rare": 0,
    "batch_words": 200,
    "device": "cpu",
}
PLAN = {
    "languages": {"Danish-CDT": SMALL},
    "teachers": {"c": SMALL},
    "students": {"English-EWT": SMALL},
    "copies": 2,
    "text_weight": 0.7,
}
GLUED = "SpaceAfter=No"
NOUNS, VERBS = ("mala", "soru", "pite", "luno"), ("sari", "vedi")


def treebank(seed: int, count: int) -> str:
    draw = random.Random(seed)
    sentences = []
    for _ in range(count):
        rows = [(draw.choice(NOUNS), "NOUN", 2, "nsubj"), (draw.choice(VERBS), "VERB", 0, "root")]
        rows += [(draw.choice(NOUNS), "NOUN", 2, "obj"), (".", "PUNCT", 2, "punct")]
        sentences.append(
            "".join(
                f"{i}\t{form}\t{form}\t{tag}\t{tag}\t_\t{head}\t{label}\t_\t{GLUED if i == 3 else '_'}\n"
                for i, (form, tag, head, label) in enumerate(rows, 1)
            )
        )
    return "\n".join(sentences) + "\n"


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import lzma

    folder = tmp_path_factory.mktemp("session")
    for name in ("Danish-CDT", "English-EWT"):
        for seed, (part, count) in enumerate((("train", 40), ("dev", 8), ("test", 8))):
            file = folder / "treebanks" / name / f"{part}.conllu.xz"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(lzma.compress(treebank(seed, count).encode()))
    (folder / "text.txt").write_text("Mala sari soru. " * 20)
    (folder / "plan.json").write_text(json.dumps(PLAN))
    return folder


def session(inputs: Path, *arguments: object) -> str:
    command = [sys.executable, str(SCRIPT), *map(str, arguments)]
    environment = os.environ | {"ARCWISE_TREEBANKS": str(inputs / "treebanks")}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_a_session_trains_all_parsers_and_brings_them_back(inputs: Path, tmp_path: Path) -> None:
    from arcwise.neural import NeuralParser

    folder = inputs / "folder"
    packed = ("pack", folder, "--text", inputs / "text.txt", "--plan", inputs / "plan.json", "--no-wheels")
    assert "bytes to carry" in session(inputs, *packed)
    assert "all jobs are done" in session(inputs, "run", folder, "--minutes", 4, "--out", tmp_path / "out")
    pieces = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert pieces == ["session.tar.00"]
    commands = session(inputs, "collect", folder, tmp_path / "out").splitlines()
    assert [command.split()[2] for command in commands] == ["Danish-CDT", "English-EWT"]
    for command in commands:
        assert NeuralParser.load(command.split()[-1]).info["config"].epochs == 2
    # What is done is not done again.
    assert "started" not in session(inputs, "run", folder, "--minutes", 1, "--out", tmp_path / "again")


def test_a_compact_checkpoint_continues_the_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(SCRIPT.parent))
    import compact_files

    from arcwise.learning.config import from_dict
    from arcwise.learning.model_file import read_model
    from arcwise.neural import NeuralConfig, NeuralParser
    from arcwise.treebanks import Treebank

    train, dev = (Treebank.from_string(treebank(seed, 20)) for seed in (1, 2))
    config = from_dict(NeuralConfig, SMALL)
    checkpoint = tmp_path / "checkpoint.arcwise"
    NeuralParser.train(train, dev, config=config, checkpoint=checkpoint)
    whole = read_model(checkpoint)
    compact = compact_files.compact_checkpoint(checkpoint)
    assert len(compact) < checkpoint.stat().st_size / 4
    (tmp_path / "compact").write_bytes(compact)
    compact_files.expand_checkpoint(tmp_path / "compact", tmp_path / "expanded")
    restored = read_model(tmp_path / "expanded")
    assert restored.header == whole.header
    assert set(restored.arrays) == set(whole.arrays)
    for name in ("state.average", "best.0"):
        assert np.allclose(restored.arrays[name], whole.arrays[name], atol=1e-2)
    again = NeuralParser.train(train, dev, config=config, checkpoint=tmp_path / "expanded")
    assert again.info["config"].epochs == 2


def test_a_transformer_survives_being_shrunk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from safetensors.numpy import load_file, save_file

    monkeypatch.syspath_prepend(str(SCRIPT.parent))
    import compact_files

    draw = np.random.default_rng(1)
    arrays = {
        "embeddings.word_embeddings.weight": draw.normal(size=(20, 8)).astype("float32"),
        "layer.weight": draw.normal(size=(8, 8)).astype("float32"),
        "embeddings.position_ids": np.arange(4),
    }
    source = tmp_path / "source"
    source.mkdir()
    save_file(arrays, source / "model.safetensors")
    for name in ("config.json", "tokenizer.json"):
        (source / name).write_text("{}")
    compact_files.shrink_encoder(source, tmp_path / "small")
    compact_files.restore_encoder(tmp_path / "small", tmp_path / "restored")
    restored = load_file(tmp_path / "restored" / "model.safetensors")
    assert set(restored) == set(arrays)
    for name, values in arrays.items():
        assert restored[name].dtype == values.dtype
        assert np.allclose(restored[name], values, atol=0.02), name
