"""The version stands in pyproject.toml; everything that tells it agrees."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import arcwise
from arcwise import native
from arcwise.cli.main import run

ROOT = Path(__file__).parents[2]


def test_all_agree(capsys: pytest.CaptureFixture[str]) -> None:
    found = re.search(r'^version = "([\w.]+)"', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert found is not None
    version = found[1]
    assert arcwise.__version__ == version
    assert native.__version__ == version
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"arcwise {version}\n"


def test_it_stands_in_one_place() -> None:
    files = [*ROOT.glob("src/**/*.py"), *ROOT.glob("native/**/*.[ch]pp"), ROOT / "CMakeLists.txt"]
    version = arcwise.__version__
    assert [str(path) for path in files if f'"{version}"' in path.read_text()] == []


def test_importing_arcwise_does_not_look_it_up() -> None:
    code = "import sys, arcwise; print('importlib.metadata' in sys.modules, 'numpy' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout == "False False\n"
