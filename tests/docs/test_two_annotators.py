"""docs/how-to/two-annotators.md shows what the commands print."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from arcwise.cli.main import run
from evaluation.samples import BIRDS, CONTRACTION

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "two-annotators.md"


def test_the_page_shows_what_the_commands_print(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    base = BIRDS.replace("3\tobl:loc", "3\tnmod")
    Path("base.conllu").write_text(base + CONTRACTION)
    Path("a.conllu").write_text(base.replace("3\tnmod", "3\tobl") + CONTRACTION)
    changed = BIRDS.replace("3\tnsubj", "3\tobj").replace("6\tcase", "3\tcase")
    Path("b.conllu").write_text(changed.replace("tree\tNOUN", "tree\tPROPN") + CONTRACTION)
    blocks = re.findall(r"```console\n\$ arcwise (.*)\n((?:.*\n)*?)```", PAGE.read_text())
    assert len(blocks) == 2
    for command, expected in blocks:
        assert run(command.split()) == 1
        shown = "".join(capsys.readouterr())
        assert [line.rstrip() for line in shown.splitlines()] == expected.splitlines()
    commands = re.findall(r"^arcwise (.*)$", PAGE.read_text(), re.MULTILINE)
    assert len(commands) == 3
    for command in commands:
        assert run(command.split()) == 1
    assert Path("differences.html").stat().st_size > 1000
