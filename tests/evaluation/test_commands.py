"""``arcwise evaluate`` and ``arcwise compare``, from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from arcwise.cli.main import run
from evaluation.damage import damaged
from evaluation.samples import BIRDS, CONTRACTION, treebank


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    gold = treebank(*[BIRDS, CONTRACTION] * 5)
    made = {
        "gold": gold,
        "a": damaged(gold, seed=1, share=0.3),
        "b": damaged(gold, seed=2, share=0.1),
        "broken": treebank(*[BIRDS.replace("0\troot", "2\troot"), CONTRACTION] * 5),
    }
    for name, bank in made.items():
        bank.write(tmp_path / f"{name}.conllu")
    bank.write(tmp_path / "packed.conllu.xz")
    (tmp_path / "empty.conllu").write_bytes(b"")
    (tmp_path / "other.conllu").write_text(BIRDS)
    names = (*made, "empty", "other", "missing")
    return {name: str(tmp_path / f"{name}.conllu") for name in names}


def test_evaluate(files: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["evaluate", files["gold"], files["gold"], "--punctuation", "skip", "--subtypes", "keep"]) == 0
    out, err = capsys.readouterr()
    assert "Attachment (punctuation skipped, label subtypes kept)" in out
    assert "CoNLL 2018 (punctuation counted, label subtypes cut)" in out
    lines = {line.split("  ")[0]: line.split() for line in out.splitlines()}
    assert lines["UAS (head)"][-3:] == ["100.00", "55", "55"]
    assert lines["MLAS"] == ["MLAS", "100.00", "100.00", "100.00", "100.00"]
    assert err == ""


def test_evaluate_with_everything(files: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [files["gold"], files["a"], "--by", "label,length, crossing,sentence", "--confusion"]
    assert run(["evaluate", *arguments]) == 0
    out = capsys.readouterr().out
    for title in ("By label", "By arc length", "By crossing", "By sentence length", "Confused labels"):
        assert f"\n{title}" in out
    assert run(["evaluate", *arguments, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert list(result["by"]) == ["label", "length", "crossing", "sentence"]
    assert result["attachment"]["las"] == result["conll18"]["LAS"]["recall"] < 1
    assert sum(row["count"] for row in result["confusions"]) == 70 - result["attachment"]["labels_right"]
    assert result["options"] == {"punctuation": "count", "subtypes": "cut"}


def test_broken_trees_are_reported_and_scored(
    files: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["evaluate", files["gold"], files["broken"], "--json"]) == 0
    out, err = capsys.readouterr()
    result = json.loads(out)
    assert result["attachment"]["heads_right"] == 65
    assert result["system"]["problems"] == {"cycle": 5}
    assert err.startswith(f"warning: {files['broken']}: 5 × cycle, 5 sentences without a root\n")
    assert "broken.conllu:3 (birds): " in err


def test_packed_files(files: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    packed = files["gold"].replace("gold.conllu", "packed.conllu.xz")
    assert run(["evaluate", files["broken"], packed]) == 0
    assert "UAS" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["evaluate", "compare"])
@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("missing", "no such file"),
        ("empty", "found no sentence, expected CoNLL-U"),
        ("other", "the texts of gold and system differ"),
    ],
)
def test_bad_input_is_one_line(
    files: dict[str, str], capsys: pytest.CaptureFixture[str], command: str, bad: str, message: str
) -> None:
    others = [files["gold"]] if command == "compare" else []
    assert run([command, files["gold"], *others, files[bad]]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert err.count("\n") == 1


def test_bad_options(files: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    two = [files["gold"], files["a"]]
    for options, message in (
        (["--by", "colour"], "by: found 'colour', expected one of label, length, crossing, sentence"),
        (["--punctuation", "drop"], "'count', 'skip', 'skip-label'"),
    ):
        assert run(["evaluate", *two, *options]) == 2
        assert message in capsys.readouterr().err
    assert run(["compare", *two, files["b"], "--samples", "0"]) == 2
    assert "--samples" in capsys.readouterr().err


def test_compare(files: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [files["gold"], files["a"], files["b"], "--samples", "300", "--seed", "5"]
    assert run(["compare", *arguments, "--worst", "2"]) == 0
    out = capsys.readouterr().out
    assert "Differences (punctuation counted, label subtypes cut)" in out
    assert "B has a significantly higher LAS" in out
    shown = out[out.index("Sentences that differ most") :].splitlines()
    assert len(shown) == 4
    assert {line.split()[-1] for line in shown[2:]} <= {"birds", "contraction"}


def test_compare_json_is_the_same_for_the_same_seed(
    files: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    results = []
    for _ in range(2):
        assert run(["compare", files["gold"], files["a"], files["b"], "--seed", "5", "--json"]) == 0
        results.append(json.loads(capsys.readouterr().out))
    assert results[0] == results[1]
    las = results[0]["differences"]["LAS"]
    assert las["interval"]["low"] <= las["difference"] <= las["interval"]["high"]
    assert las["sign"]["a"] + las["sign"]["b"] + las["sign"]["ties"] == results[0]["sentences"] == 10
    assert las["mcnemar"]["a"] + las["mcnemar"]["b"] + las["mcnemar"]["ties"] == results[0]["words"] == 70
    assert len(results[0]["worst"]) <= 10
