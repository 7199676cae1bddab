"""``arcwise models train`` and ``arcwise models card``: from a folder to a model and its card."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import arcwise
from arcwise.cli.main import run
from arcwise.errors import InputError
from arcwise.models import train_by_name
from arcwise.models.model_card import ModelCard
from arcwise.models.treebank_folder import TreebankFolder, settings_for
from contracts.small_treebank import small_treebank

Output = pytest.CaptureFixture[str]
TRAIN = "sm_tiny-ud-train.conllu.xz"
README = "A treebank.\n\n=== Machine-readable metadata ===\nData available: yes\nLicense: CC BY-SA 4.0\n"


@pytest.fixture(autouse=True)
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of installed models."""
    monkeypatch.setenv("ARCWISE_MODELS", str(tmp_path / "models"))
    return tmp_path / "models"


@pytest.fixture
def released(tmp_path: Path) -> Path:
    folder = tmp_path / "UD_Small-Tiny"
    folder.mkdir()
    for part in ("train", "dev", "test"):
        small_treebank().write(folder / f"sm_tiny-ud-{part}.conllu{'.xz' * (part == 'train')}")
    (folder / "README.md").write_text(README)
    (folder / "stats.xml").write_text("")
    return folder


def train(*arguments: object) -> list[str]:
    return ["models", "train", "--quiet", *map(str, arguments)]


def front_matter(card: str) -> Any:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    return yaml.safe_load(card.split("---\n")[1])


@pytest.mark.slow
def test_from_a_treebank_to_a_card(released: Path, models: Path, tmp_path: Path, capsys: Output) -> None:
    assert run(train("sm", "--treebank", released, "--language", "Small")) == 0
    printed = capsys.readouterr().out
    assert printed == f"sm: installed in {models / 'sm.arcwise'}, its card in {models / 'sm.md'}\n"
    assert sorted(path.name for path in models.iterdir()) == ["sm.arcwise", "sm.md"]
    nlp = arcwise.load("sm")
    assert nlp.card["made by"] == "arcwise models train sm --treebank UD_Small-Tiny"
    assert nlp.card["licence"] == "CC BY-SA 4.0"
    assert set(nlp.card["test"]) >= {"UPOS", "LAS"}
    card = (models / "sm.md").read_text()
    assert "# Small: sm.arcwise" in card
    assert "**Data**: UD_Small-Tiny, training part, 8 sentences, 34 words" in card
    assert "| dev | 100.00" in card
    assert "Expected calibration error" in card
    assert str(tmp_path) not in card
    assert run(["models", "card", "sm"]) == 0
    printed = capsys.readouterr().out
    assert card.startswith(printed.rstrip("\n"))  # without the calibration, which needs the treebank
    assert run(["models", "card", "sm", "--treebank", str(released), "-o", str(tmp_path / "c.md")]) == 0
    assert (tmp_path / "c.md").read_text() == card  # the figures again
    assert run(["models", "card", str(models / "sm.arcwise")]) == 0
    assert 'arcwise.load("sm.arcwise")' in capsys.readouterr().out
    assert run(["info", "sm"]) == 0
    assert "test: from raw text: Tokens 100" in capsys.readouterr().out
    values = front_matter(card)
    assert values["language"] == ["sm"]
    assert values["license"] == "cc-by-sa-4.0"
    results = {r["dataset"]["split"]: r["metrics"] for r in values["model-index"][0]["results"]}
    assert {m["type"]: m["value"] for m in results["test"]}["las"] == nlp.card["test"]["LAS"]


def test_options_and_a_treebank_with_a_training_part_alone(
    released: Path, models: Path, tmp_path: Path, capsys: Output
) -> None:
    for part in ("dev", "test"):
        (released / f"sm_tiny-ud-{part}.conllu").unlink()
    (released / "README.md").unlink()
    (tmp_path / "small.toml").write_text("jackknife = 0\n[parser]\nepochs = 1\n")
    (tmp_path / "elsewhere").mkdir()
    options = ["--config", tmp_path / "small.toml", "--folder", tmp_path / "elsewhere", "--licence", "MIT"]
    assert run(train("sm", "--treebank", released, *options)) == 0
    card = (tmp_path / "elsewhere" / "sm.md").read_text()
    assert "**Licence**: MIT" in card
    assert "|" not in card
    assert "model-index" not in front_matter(card)
    assert not models.exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda folder: (folder / TRAIN).unlink(),
            "has no file such as xx_name-ud-train",
        ),
        (
            lambda folder: small_treebank().write(folder / "train.conllu"),
            "has several files of the train part",
        ),
        (
            lambda folder: (folder / TRAIN).write_bytes(b"x"),
            "is not an intact .xz file",
        ),
        (lambda folder: (folder / "sm_tiny-ud-dev.conllu").write_text("1\tx\n"), "sm_tiny-ud-dev.conllu:1"),
        (lambda folder: folder.rename(folder.parent / "other"), "no such folder"),
    ],
)
def test_folders_that_are_no_treebanks(
    change: Callable[[Path], object], message: str, released: Path, models: Path, capsys: Output
) -> None:
    change(released)
    assert run(train("sm", "--treebank", released)) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not models.exists() or not list(models.iterdir())


def test_bad_names_and_existing_models(released: Path, models: Path, capsys: Output) -> None:
    models.mkdir()
    (models / "sm.arcwise").write_bytes(b"mine")
    for name, message in (
        ("sm", "exists already"),
        ("en", "shipped with arcwise"),
        ("a/b", "cannot name a model"),
    ):
        assert run(train(name, "--treebank", released)) == 2
        assert message in capsys.readouterr().err
    assert run(train("xx", "--treebank", released, "--parser", "none")) == 2
    assert "'none'" in capsys.readouterr().err
    assert [path.name for path in models.iterdir()] == ["sm.arcwise"]
    assert (models / "sm.arcwise").read_bytes() == b"mine"


def test_an_interrupted_training_installs_nothing(
    released: Path, models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*arguments: Any, **options: Any) -> Any:
        pipeline = arcwise.load("en-fast")
        pipeline.parser.info["interrupted"] = True
        monkeypatch.setattr(type(pipeline.parser), "info", {"interrupted": True})
        return pipeline

    monkeypatch.setattr(train_by_name, "train_pipeline", stopped)
    assert run(train("sm", "--treebank", released)) == 130
    assert not list(models.iterdir())


# ---- the parts


def test_the_files_of_a_folder(tmp_path: Path) -> None:
    for name in ("xx_a-ud-train.conllu", "xx_a-ud-test.conllu.gz", "xx_a-ud-train.txt", "README"):
        (tmp_path / name).write_text("")
    folder = TreebankFolder.find(tmp_path)
    assert {part: file.name for part, file in folder.files.items()} == {
        "train": "xx_a-ud-train.conllu",
        "test": "xx_a-ud-test.conllu.gz",
    }
    assert (folder.code, folder.licence) == ("xx", "")
    with pytest.raises(InputError, match=r"xx_name-ud-dev.conllu \(found train, test\)"):
        TreebankFolder.find(tmp_path, ("dev",))


def test_settings_depend_on_the_size() -> None:
    class Large:
        word_count = 60_000

    large: Any = Large()
    assert settings_for(small_treebank(), "graph") == ({}, {})
    assert settings_for(large, "graph")[1] == {"epochs": 8}
    assert settings_for(large, "neural")[1] == {}


def test_the_front_matter_is_valid_for_any_text() -> None:
    card = ModelCard(
        file="x.arcwise",
        load="x",
        language='a "b": c',
        treebank="# é: [no] yes\n---",
        licence="my own: free",
        scores={"test": {"LAS": 80.5, "Words": 1.0}},
    )
    values = front_matter(card.markdown())
    assert values["license"] == "other"
    assert values["license_name"] == "my own: free"
    (result,) = values["model-index"][0]["results"]
    assert result["dataset"]["name"] == "# é: [no] yes\n---"
    assert result["metrics"] == [{"type": "las", "name": "LAS (F1)", "value": 80.5}]


def test_a_card_needs_a_pipeline(tmp_path: Path, capsys: Output) -> None:
    small_treebank().write(tmp_path / "t.conllu")
    model = tmp_path / "graph.arcwise"
    assert (
        run(
            [
                "train",
                "--quiet",
                "--train",
                str(tmp_path / "t.conllu"),
                "--model",
                str(model),
                "--dev",
                "none",
            ]
        )
        == 0
    )
    capsys.readouterr()
    assert run(["models", "card", str(model)]) == 2
    assert re.search("is not a pipeline; only pipelines have cards", capsys.readouterr().err)
    assert run(["models", "card", "nothing"]) == 2
    assert run(["models", "card", "en-fast", "--treebank", str(tmp_path)]) == 2
    assert "xx_name-ud-test.conllu" in capsys.readouterr().err
