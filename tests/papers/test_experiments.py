"""Quick versions of all experiments on small synthetic treebanks: they run and write their tables."""

import importlib
import lzma
from collections.abc import Iterator
from pathlib import Path

import pytest
from measuring import trainings

from contracts.small_treebank import small_treebank

TREEBANKS = (
    "Arabic-PADT-rs",
    "Czech-Mix-rs",
    "Danish-CDT",
    "Dutch-Alpino-cdbl",
    "English-EWT",
    "English-WSJsample",
    "Japanese-GSD",
    "Slovenian-SSJ-rs",
    "Spanish-AnCora-rs",
    "Turkish-IMST",
)


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of treebanks, all of them the same small one, and an empty cache."""
    text = lzma.compress(small_treebank(crossing=True).data)
    for name in TREEBANKS:
        (tmp_path / "treebanks" / name).mkdir(parents=True)
        for part in ("train", "dev", "test"):
            (tmp_path / "treebanks" / name / f"{part}.conllu.xz").write_bytes(text)
    (tmp_path / "treebanks" / "English-WSJsample" / "wsj10-200.conllu.xz").write_bytes(text)
    monkeypatch.setenv("ARCWISE_TREEBANKS", str(tmp_path / "treebanks"))
    monkeypatch.setenv("ARCWISE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(trainings, "run_all", lambda wanted, engine: [t.run() for t in wanted])
    monkeypatch.setattr("experiments.page.run_all", lambda wanted, engine: [t.run() for t in wanted])
    trainings.read.cache_clear()
    yield tmp_path
    trainings.read.cache_clear()


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["mcdonald2005", "koo2007", "smith2007", "bohnet2016", "gormley2013", "neural_objectives"]
)
def test_the_quick_version_writes_its_page(name: str, world: Path) -> None:
    if name == "neural_objectives":
        pytest.importorskip("torch", reason="networks are trained with torch")
    importlib.import_module(f"experiments.{name}").main(["--quick", "--output", str(world / "results")])
    text = (world / "results" / f"{name}.md").read_text()
    assert f"python -m experiments.{name}" in text
    assert text.count("\n| --- |") >= 3
    for picture in (line.split("](")[1].rstrip(")") for line in text.splitlines() if line.startswith("![")):
        assert (world / "results" / picture).exists()
    importlib.import_module(f"experiments.{name}").main(
        ["--quick", "--report", "--output", str(world / "again")]
    )
    assert (world / "again" / f"{name}.md").exists()


def test_a_report_without_cells_says_what_is_missing(world: Path) -> None:
    from experiments import koo2007

    with pytest.raises(SystemExit, match="108 trainings are missing"):
        koo2007.main(["--quick", "--report", "--output", str(world / "results")])


def test_a_training_is_done_once_and_in_a_process_of_its_own(world: Path) -> None:
    from arcwise.transition import TransitionConfig

    training = trainings.Training("Turkish-IMST", TransitionConfig(epochs=1, move_bits=12, label_bits=10))
    assert training.trained is None
    assert trainings.Training.from_json(training.to_json()) == training
    first = training.run()
    assert first.dev.words > 0
    assert first.seconds > 0
    assert training.run() == first
