"""arcwise train --teacher from the command line: files of all kinds, sections of TOML, what is refused in one
line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from arcwise.cli.main import run
from arcwise.models import open_model
from arcwise.treebanks import Treebank
from contracts.small_treebank import small_treebank

SETTINGS = 'trainer = "log-linear"\nepochs = 4\narc_bits = 12\nrow_bits = 13\n'


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A treebank, a text without trees, raw text, teachers of two kinds, configurations."""
    folder = tmp_path_factory.mktemp("teach")
    treebank = small_treebank(crossing=True)
    treebank.write(folder / "train.conllu")
    nothing = np.full(treebank.word_count, -1, np.int32)
    bare = treebank.annotate(heads=nothing, deprel=["_"] * treebank.word_count, strict=False)
    bare.write(folder / "text.conllu.gz")
    (folder / "raw.txt").write_text("Birds sing.\n")
    (folder / "empty.conllu").write_text("")
    (folder / "config.toml").write_text(SETTINGS)
    (folder / "taught.toml").write_text(SETTINGS + "[distillation]\ngold_share = 0.25\nleast = 0.02\n")
    (folder / "transition.toml").write_text("epochs = 4\nmove_bits = 12\nlabel_bits = 10\n")
    assert train(folder, "teacher") == 0
    assert train(folder, "greedy", "--parser", "transition", config="transition.toml") == 0
    return folder


def train(folder: Path, model: str, *more: str, config: str = "config.toml") -> int:
    words = [str(folder / word) if (folder / word).exists() else word for word in more]
    line = ["train", "--quiet", "--dev", "none", "--train", str(folder / "train.conllu"), "--model"]
    return run([*line, str(folder / model), "--config", str(folder / config), *words])


def weights(folder: Path, model: str) -> np.ndarray:
    parser = open_model(folder / model)
    found: np.ndarray = parser.model.weights  # type: ignore[attr-defined]
    return found


def test_a_student_says_who_taught_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        train(folder, "student", "--teacher", "teacher", "--text", "text.conllu.gz", "--text-weight", "0.5")
        == 0
    )
    assert run(["info", str(folder / "student")]) == 0
    told = capsys.readouterr().out
    for line in ("teacher: teacher", "text_weight: 0.5", "gold_share: 0.5", "text_sentences: 10"):
        assert line in told


def test_options_of_the_file_and_of_the_command_line(folder: Path) -> None:
    assert train(folder, "a", "--teacher", "teacher", config="taught.toml") == 0
    assert train(folder, "b", "--teacher", "teacher", "--gold-share", "0.25") == 0
    assert train(folder, "c", "--teacher", "teacher", "--gold-share", "1", config="taught.toml") == 0
    assert open_model(folder / "a").info["taught"]["gold_share"] == 0.25
    assert open_model(folder / "a").info["taught"]["least"] == 0.02
    assert open_model(folder / "c").info["taught"]["gold_share"] == 1.0
    assert (weights(folder, "c") == weights(folder, "teacher")).all()
    assert (weights(folder, "b") != weights(folder, "teacher")).any()


@pytest.mark.parametrize("threads", ["1", "2"])
def test_a_transition_student(folder: Path, threads: str) -> None:
    more = [
        "--parser",
        "transition",
        "--teacher",
        "teacher",
        "--text",
        "text.conllu.gz",
        "--threads",
        threads,
    ]
    assert train(folder, f"s{threads}", *more, config="transition.toml") == 0
    treebank = Treebank.read(folder / "train.conllu")
    parsed = open_model(folder / f"s{threads}").parse(treebank)
    assert np.mean(parsed.heads == treebank.heads) > 0.85


def test_teachers_trained_anew(folder: Path) -> None:
    assert train(folder, "folds", "--teacher", "teacher", "--teacher-folds", "2") == 0
    assert open_model(folder / "folds").info["taught"]["teacher_folds"] == 2


def test_a_pipeline_is_taught_with_raw_text(folder: Path) -> None:
    (folder / "pipeline.toml").write_text(
        '[parser]\ntrainer = "log-linear"\nepochs = 2\narc_bits = 12\nrow_bits = '
        "13\n[distillation]\ngold_share = 0.3\n"
    )
    more = ["--pipeline", "--jackknife", "0", "--teacher", "teacher", "--text", "raw.txt"]
    assert train(folder, "pipeline", *more, config="pipeline.toml") == 0
    found = open_model(folder / "pipeline").info["parser"]["taught"]
    assert found["gold_share"] == 0.3
    assert found["text_sentences"] >= 1


@pytest.mark.parametrize(
    "more, told",
    [
        (
            ["--teacher", "greedy"],
            "--teacher: found a transition parser, which has no distributions over trees",
        ),
        (["--teacher", "missing"], "missing: no such model file"),
        (["--teacher", "teacher", "--text", "raw.txt"], "--text: found raw text in"),
        (["--teacher", "teacher", "--text", "missing.conllu"], "missing.conllu: no such file"),
        (
            ["--teacher", "teacher", "--text", "empty.conllu"],
            "empty.conllu: found no sentence, expected CoNLL-U",
        ),
        (["--text", "text.conllu.gz"], "--text: needs --teacher"),
        (["--gold-share", "0.3"], "--gold-share: needs --teacher"),
        (["--teacher-folds", "3"], "--teacher-folds: needs --teacher"),
        (["--teacher", "teacher", "--gold-share", "1.5"], "--gold-share: found 1.5, expected 0..1"),
        (
            ["--teacher", "teacher", "--text-weight", "0"],
            "--text-weight: found 0.0, expected a number above 0",
        ),
        (
            ["--teacher", "teacher", "--teacher-folds", "1"],
            "--teacher-folds: found 1, expected 0, or at least 2 folds",
        ),
        (
            ["--teacher", "teacher", "--trainer", "mira"],
            "--teacher: expected text to learn from",
        ),
        (["--teacher", "en"], "--teacher: found the labels"),
    ],
)
def test_what_does_not_fit_is_told_in_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], more: list[str], told: str
) -> None:
    treebank = folder / "other.conllu"
    if more == ["--teacher", "en"]:  # labels of another kind of treebank
        strange = small_treebank()
        strange.annotate(deprel=["SUB"] * strange.word_count).write(treebank)
        more = [*more, "--train", str(treebank)]
    assert train(folder, "new", *more) == 2
    error = capsys.readouterr().err
    assert told in error
    assert error.count("\n") == 1
    assert not (folder / "new").exists()


def test_a_section_without_a_teacher_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert train(folder, "new", config="taught.toml") == 2
    assert "distillation: the section [distillation] needs a teacher" in capsys.readouterr().err
    (folder / "unknown.toml").write_text(SETTINGS + "[distillation]\nshare = 0.25\n")
    assert train(folder, "new", "--teacher", "teacher", config="unknown.toml") == 2
    assert "share" in capsys.readouterr().err
