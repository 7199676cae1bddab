"""docs/how-to/coming-from-other-tools.md: everything in the columns of arcwise runs, in its order."""

from __future__ import annotations

import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import arcwise
from arcwise.cli.main import run
from arcwise.optional import is_installed

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs/how-to/coming-from-other-tools.md").read_text("utf-8")
TREEBANK = ROOT / "docs/tutorials/tavi/tavi.conllu"
SECTIONS = [part.split("\n", 1) for part in re.split(r"(?m)^## ", TEXT)[1:]]


def ours(section: str) -> list[str]:
    """The code in the right columns of a section."""
    cells = re.findall(r"^\| .* \| (.*) \|$", section, re.MULTILINE)
    return [code for cell in cells[1:] for code in re.findall(r"`([^`]+)`", cell)]


def test_every_tool_of_the_list_has_a_section_with_several_lines() -> None:
    tools = [
        "spaCy",
        "Stanza",
        "UDPipe",
        "SuPar",
        "torch-struct",
        "MaltParser",
        "ArboratorGrew",
        "Grew-match",
    ]
    assert [name for name, _ in SECTIONS] == tools
    assert all(len(ours(section)) >= 6 for _, section in SECTIONS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that the page speaks of."""
    place = tmp_path_factory.mktemp("coming-from")
    for name in ("train", "dev", "test", "parsed"):
        shutil.copy(TREEBANK, place / f"{name}.conllu")
    (place / "folder").mkdir()
    shutil.copy(TREEBANK, place / "folder")
    (place / "text.txt").write_text("Birds sing.\nFish swim.\n")
    model = ["--model", str(place / "my.arcwise"), "--epochs", "2", "--quiet"]
    assert run(["train", "--train", str(TREEBANK), *model]) == 0
    return place


def opens_an_editor(command: list[str], folder: Path) -> None:
    if not (is_installed("uvicorn") and is_installed("starlette")):
        pytest.skip("needs starlette and uvicorn")
    line = [sys.executable, "-m", *command, "--no-browser", "--port", "0"]
    with subprocess.Popen(line, cwd=folder, stdout=subprocess.PIPE, text=True) as editor:
        assert editor.stdout is not None
        assert "http://" in editor.stdout.readline()
        editor.send_signal(signal.SIGINT)
        editor.wait(60)


@pytest.mark.slow
@pytest.mark.parametrize("name, section", SECTIONS, ids=[name for name, _ in SECTIONS])
def test_every_line_runs(
    name: str, section: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    names: dict[str, Any] = {
        "arcwise": arcwise,
        "scores": np.log([[1, 2, 6, 1], [1, 1, 2, 1], [1, 8, 1, 4], [1, 1, 2, 1]]),
    }
    names["nlp"] = arcwise.load("en")
    names["doc"] = names["nlp"]("I saw the man. He laughed.")
    for code in ours(section):
        if code.startswith("arcwise annotate"):
            opens_an_editor(shlex.split(code), folder)
        elif code.startswith("arcwise "):
            differs = 1 if code.startswith("arcwise diff") else 0  # its status, as that of diff
            assert run(shlex.split(code)[1:]) == differs, (code, capfd.readouterr().err)
        else:
            exec(code, names)
            value = eval(code.partition(" = ")[2] or code, names)
            assert value is not None, code
