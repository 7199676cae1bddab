"""``arcwise validate --level`` through the command line, and files in other encodings (with every command:
test_files)."""

from __future__ import annotations

import codecs
import io
import json
import sys
from pathlib import Path

import pytest

from arcwise.cli.main import run
from arcwise.treebanks.edits import edit_from_json, edited
from treebanks.validation.defects import DEFECTS
from treebanks.validation.sound import SOUND, with_field

Output = pytest.CaptureFixture[str]


@pytest.fixture
def sound(tmp_path: Path) -> Path:
    path = tmp_path / "sound.conllu"
    path.write_text(SOUND)
    return path


def written(folder: Path, text: str) -> Path:
    path = folder / "bad.conllu"
    path.write_text(text)
    return path


@pytest.mark.parametrize("level", ["format", "1", "2", "3", "ud"])
def test_nothing_is_wrong(level: str, sound: Path, capsys: Output) -> None:
    assert run(["validate", "--level", level, str(sound)]) == 0
    told = capsys.readouterr()
    assert (told.out, told.err) == ("", "1 file: nothing wrong\n")


def test_each_finding_is_a_line(tmp_path: Path, capsys: Output) -> None:
    bad = written(tmp_path, with_field(SOUND, "c", "2", "feats", "VerbForm=Fin|Mood=Ind"))
    assert run(["validate", str(bad)]) == 0
    assert run(["validate", "--level", "1", str(bad)]) == 0
    capsys.readouterr()
    assert run(["validate", "--level", "ud", str(bad)]) == 1
    assert capsys.readouterr().out == (
        f"{bad}:35 (c): FEATS: features should be in alphabetical order: 'VerbForm=Fin|Mood=Ind' "
        f"[unsorted-features]\n"
    )


def test_the_levels_go_up_to_their_rules(tmp_path: Path, capsys: Output) -> None:
    for rule, level in (("leading-whitespace", 1), ("unsorted-features", 2), ("too-many-subjects", 3)):
        bad = written(tmp_path, DEFECTS[rule].text)
        for asked in (1, 2, 3):
            assert run(["validate", "--level", str(asked), str(bad)]) == (asked >= level), (rule, asked)
    capsys.readouterr()
    assert run(["validate", "--level", "6", str(bad)]) == 2
    assert "--level: found '6', expected one of format, 1, 2, 3, 4, 5, ud" in capsys.readouterr().err


def test_json(tmp_path: Path, capsys: Output) -> None:
    """A JSON object a line, with edits that repair the sentence."""
    bad = written(tmp_path, DEFECTS["unknown-upos"].text)
    assert run(["validate", "--level", "ud", "--json", str(bad)]) == 1
    (line,) = capsys.readouterr().out.splitlines()
    values = json.loads(line)
    edits = [edit_from_json(edit) for edit in values.pop("repair")["edits"]]
    assert values == {
        "path": str(bad),
        "rule": "unknown-upos",
        "level": 2,
        "warning": False,
        "sentence": 2,
        "sent_id": "c",
        "line": 38,
        "row": "5",
        "column": "upos",
        "message": "UPOS: 'NOUNS' is not a universal POS tag; did you mean NOUN? (NOUNS occurs once, NOUN 6 "
        "times)",
    }
    sentences = bad.read_bytes().split(b"\n\n")
    assert edited(sentences[2] + b"\n\n", edits).decode() == SOUND.split("\n\n")[2] + "\n\n"
    assert run(["validate", "--json", str(written(tmp_path, DEFECTS["invalid-head"].text))]) == 1
    assert json.loads(capsys.readouterr().out)["rule"] == "bad-head"


def test_warnings_alone_are_nothing_wrong(tmp_path: Path, capsys: Output) -> None:
    bad = written(
        tmp_path, DEFECTS["fixed-gap"].text.replace("2\tspite\tspite\tNOUN", "2\tspite\tspite\tADV")
    )
    assert run(["validate", "--level", "ud", str(bad)]) == 0
    told = capsys.readouterr()
    assert told.out.endswith(" [fixed-gap, warning]\n")
    assert told.err == "1 file: nothing wrong, 1 warning\n"
    assert run(["validate", "--level", "ud", "--no-warnings", str(bad)]) == 0
    assert capsys.readouterr().out == ""


def test_partial_trees(tmp_path: Path, capsys: Output) -> None:
    text = with_field(with_field(SOUND, "c", "4", "head", "_"), "c", "4", "deprel", "_")
    bad = written(tmp_path, text)
    assert run(["validate", "--level", "ud", str(bad)]) == 1
    assert run(["validate", "--level", "ud", "--partial", str(bad)]) == 0


def test_stopping_and_several_files(tmp_path: Path, sound: Path, capsys: Output) -> None:
    bad = written(tmp_path, SOUND.replace("zoo/1", "zoo/2"))
    assert run(["validate", "--level", "2", "--max-errors", "3", str(sound), str(bad)]) == 1
    told = capsys.readouterr()
    assert [line.split(" ")[-1] for line in told.out.splitlines()] == ["[non-unique-sent-id]"] * 3
    assert "stopped after 3 problems" in told.err
    assert run(["validate", "--level", "2", str(tmp_path / "missing")]) == 2


def test_standard_input(monkeypatch: pytest.MonkeyPatch, capsys: Output) -> None:
    def given(data: bytes) -> int:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        return run(["validate", "--level", "ud", "-"])

    assert given(SOUND.encode()) == 0
    assert given(DEFECTS["unknown-upos"].text.encode()) == 1
    assert capsys.readouterr().out.startswith("-:38 (c): UPOS: 'NOUNS' is not a universal POS tag")
    assert given(SOUND.encode("utf-16")) == 2
    assert capsys.readouterr().err == (
        "arcwise: -: is UTF-16 text, expected UTF-8 (iconv -f UTF-16 -t UTF-8 converts it)\n"
    )


# ---- other encodings

ENCODINGS = {
    "utf-16": (codecs.BOM_UTF16_LE + SOUND.encode("utf-16-le"), "UTF-16"),
    "utf-16, big-endian": (codecs.BOM_UTF16_BE + SOUND.encode("utf-16-be"), "UTF-16"),
    "utf-16 without mark": (SOUND.encode("utf-16-le"), "UTF-16LE"),
    "utf-16 without mark, big-endian": (SOUND.encode("utf-16-be"), "UTF-16BE"),
    "utf-32": (codecs.BOM_UTF32_LE + SOUND.encode("utf-32-le"), "UTF-32"),
    "utf-32, big-endian": (codecs.BOM_UTF32_BE + SOUND.encode("utf-32-be"), "UTF-32"),
    "utf-32 without mark": (SOUND.encode("utf-32-le"), "UTF-32LE"),
    "utf-7": (b"+/v8-" + SOUND.encode("utf-7"), "UTF-7"),
    "gb18030": ("\ufeff".encode("gb18030") + SOUND.encode("gb18030"), "GB18030"),
}


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_encodings_are_named(encoding: str, tmp_path: Path, capsys: Output) -> None:
    path = tmp_path / "other.conllu"
    data, called = ENCODINGS[encoding]
    path.write_bytes(data)
    for level in ("format", "ud"):
        assert run(["validate", "--level", level, str(path)]) == 2
        told = capsys.readouterr()
        assert told.out == ""
        assert told.err.startswith(f"arcwise: {path}: is ")
        assert told.err.endswith(f" text, expected UTF-8 (iconv -f {called} -t UTF-8 converts it)\n")


def test_utf8_with_a_mark_is_read(tmp_path: Path) -> None:
    path = tmp_path / "mark.conllu"
    path.write_bytes(codecs.BOM_UTF8 + SOUND.encode())
    assert run(["validate", "--level", "ud", str(path)]) == 0
