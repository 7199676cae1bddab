"""docs/how-to/compare-two-parsers.md shows what the commands print."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from arcwise.cli.main import run
from evaluation.damage import damaged
from evaluation.samples import BIRDS, CONTRACTION, treebank

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "compare-two-parsers.md"


def test_the_page_shows_what_the_commands_print(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    gold = treebank(*[BIRDS, CONTRACTION] * 20)
    gold.write(tmp_path / "gold.conllu")
    damaged(gold, seed=1, share=0.2).write(tmp_path / "a.conllu")
    damaged(gold, seed=2, share=0.1).write(tmp_path / "b.conllu")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```console\n\$ arcwise (.*)\n((?:.*\n)*?)```", PAGE.read_text())
    assert len(blocks) == 2
    for command, expected in blocks:
        assert run(command.split()) == 0
        shown = capsys.readouterr().out
        assert [line.rstrip() for line in shown.splitlines()] == expected.splitlines()
    for command in re.findall(r"```sh\narcwise (.*)\n```", PAGE.read_text()):
        assert run(command.split()) == 0
