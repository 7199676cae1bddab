"""docs/how-to/find-annotation-errors.md shows what the commands print."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from arcwise.cli.main import run
from arcwise.treebanks import Treebank
from mining.planted import planted

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "find-annotation-errors.md"


@pytest.mark.slow
def test_the_page_shows_what_the_commands_print(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("builtins.input", lambda prompt: "q")
    bank, wrong = planted(160)
    bank.write("park.conllu")
    assert len(wrong) == 16
    blocks = re.findall(r"```console\n\$ arcwise (.*)\n((?:.*\n)*?)```", PAGE.read_text())
    assert len(blocks) == 1
    for command, expected in blocks:
        assert run(command.split()) == 0
        assert capsys.readouterr().out == expected
    commands = re.findall(r"^arcwise (.*)$", PAGE.read_text(), re.MULTILINE)
    assert len(commands) == 5
    for command in commands:
        assert run(command.split()) == 0
    assert Path("suspects.html").stat().st_size > 10_000
    marked = Treebank.read("marked.conllu")
    marks = {
        (sentence.number, word)
        for sentence in marked
        for word, misc in enumerate(sentence.misc, 1)
        if "Suspect=" in misc
    }
    assert (len(marks), len(marks & wrong)) == (16, 16)
    assert "Suspect=0.5464|SuspectHead=3|SuspectDeprel=det" in marked.text
