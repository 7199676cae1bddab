"""docs/how-to/run-a-service.md: its commands are run, on ports that are free."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.process

pytest.importorskip("uvicorn", reason="needs uvicorn")

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "run-a-service.md"
TEXT = PAGE.read_text("utf-8")
LINES = [line for block in re.findall(r"```sh\n(.*?)```", TEXT, re.DOTALL) for line in block.splitlines()]
SERVE = [line for line in LINES if line.startswith("arcwise serve")]
CURL = [line for line in LINES if line.startswith("curl")]


@pytest.fixture(scope="module", params=range(len(SERVE)))
def port(request: Any) -> Iterator[str]:
    """A service that was started by a command of the page; the port is another one."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    line = SERVE[request.param].replace("8080", port)
    command = [sys.executable, "-m", *shlex.split(line)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == f"http://127.0.0.1:{port}/\n"
        yield port
        running.send_signal(signal.SIGTERM)
        assert running.wait(30) == 0


def test_there_is_something_to_run() -> None:
    assert (len(SERVE), len(CURL)) == (2, 5)


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
@pytest.mark.parametrize("line", CURL)
def test_curl(port: str, line: str) -> None:
    done = subprocess.run(shlex.split(line.replace("8080", port)), capture_output=True, text=True, check=True)
    assert "error" not in done.stdout
    if "process" in line or "parse" in line:
        assert "Birds sing." in done.stdout
    elif "metrics" not in line:
        json.loads(done.stdout)


def test_python(port: str) -> None:
    (block,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    names: dict[str, Any] = {}
    exec(block, names)
    found = names["parse"]("Birds sing.", address=f"http://127.0.0.1:{port}")
    assert [word["form"] for word in found[0]["words"]] == ["Birds", "sing", "."]


def test_options_of_the_page_exist() -> None:
    from typer.main import get_command

    from arcwise.cli.main import app

    group: Any = get_command(app)
    known = {opt for parameter in group.get_command(None, "serve").params for opt in parameter.opts}
    for option in re.findall(r"`[^`]*`", TEXT):
        told = re.findall(r"(?<=[ `])--[a-z-]+", option)
        assert "docker" in option or "pip" in option or set(told) <= known, option
