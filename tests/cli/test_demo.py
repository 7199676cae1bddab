"""``make try``, and the picture that the documents show."""

import shlex
from pathlib import Path

import pytest

from arcwise import Treebank
from arcwise.cli import demo
from arcwise.cli.main import run

ROOT = Path(__file__).parents[2]


def test_every_step_is_a_command_that_works(capsys: pytest.CaptureFixture[str]) -> None:
    assert demo.main() == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    commands = [line[2:] for line in captured.out.splitlines() if line.startswith("$ ")]
    assert len(commands) >= 4
    for command in commands[:-2]:  # the last two write a page and print the help
        assert run(shlex.split(command)[1:]) == 0
        assert capsys.readouterr().out in captured.out


def test_the_sample_is_sound_and_the_system_file_slightly_wrong() -> None:
    gold, system = (Treebank.read(ROOT / f"src/arcwise/data/sample-{n}.conllu") for n in ("gold", "system"))
    assert gold.column("form") == system.column("form")
    right = (gold.heads == system.heads).mean()
    assert 0.8 < right < 1


def test_the_picture_of_the_documents_is_what_its_command_makes(tmp_path: Path) -> None:
    sample, picture = ROOT / "src/arcwise/data/sample-gold.conllu", tmp_path / "tree.svg"
    assert run(["show", str(sample), "--sentence", "letter-1", "--svg", str(picture)]) == 0
    assert picture.read_text() == (ROOT / "docs/images/tree.svg").read_text()
