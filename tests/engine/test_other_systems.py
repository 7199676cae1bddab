"""Systems without fork and without the modules and signals of Unix, such as Windows: everything but the
service imports, and what needs fork says so before it starts.

Another system is imitated by taking these names away in a new process.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from arcwise.optional import is_installed

ROOT = Path(__file__).parents[2]
UNIX_MODULES = ("fcntl", "grp", "pwd", "resource", "termios")
UNIX_NAMES = {
    "os": ("fork", "killpg", "setpgid", "getuid", "sched_getaffinity"),
    "signal": ("SIGCHLD", "SIGHUP", "SIGKILL", "SIG_BLOCK", "pthread_sigmask", "sigtimedwait"),
    "socket": ("recv_fds", "send_fds", "AF_UNIX"),
}
NEED_UNIX = ("arcwise.web.serve_service", "arcwise.web.serve_workers")
IMITATE = f"""
import os, signal, socket, sys
import asyncio, concurrent.futures, multiprocessing, subprocess, tempfile, numpy  # they look once
for module in {UNIX_MODULES!r}:
    sys.modules[module] = None
for module, names in {UNIX_NAMES!r}.items():
    for name in names:
        vars(sys.modules[module]).pop(name, None)
"""


def there(program: str) -> subprocess.CompletedProcess[str]:
    """Run a program as on such a system."""
    return subprocess.run([sys.executable, "-c", IMITATE + program], capture_output=True, text=True, cwd=ROOT)


@pytest.mark.slow
def test_every_module_but_those_of_the_service_imports() -> None:
    done = there(f"""
import importlib, pkgutil
import arcwise
failed = []
for info in pkgutil.walk_packages(arcwise.__path__, "arcwise.", onerror=lambda name: None):
    if info.name in {NEED_UNIX!r} or info.name.endswith("__main__"):
        continue
    try:
        importlib.import_module(info.name)
    except ModuleNotFoundError as error:
        if error.name in {UNIX_MODULES!r}:
            failed.append(info.name)
    except (AttributeError, ImportError) as error:
        if "libraries" not in str(error) and type(error).__name__ != "MissingExtraError":
            failed.append(f"{{info.name}}: {{error}}")
print(failed, flush=True)
os._exit(0)
""")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"


def test_parsing_and_training_work(tmp_path: Path) -> None:
    sample = ROOT / "docs/tutorials/tavi/tavi.conllu"
    done = there(f"""
from arcwise.cli.main import run
model, sample = {str(tmp_path / "m.arcwise")!r}, {str(sample)!r}
assert run(["train", "--train", sample, "--dev", sample, "--model", model, "--epochs", "1"]) == 0
assert run(["parse", {str(sample)!r}, "--model", model, "-o", {str(tmp_path / "out.conllu")!r}]) == 0
""")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out.conllu").exists()


@pytest.mark.parametrize(
    "command, what",
    [
        (["parse", "--in", "texts", "--out", "parsed", "--workers", "2"], "--workers"),
        pytest.param(
            ["serve"],
            "arcwise serve",
            marks=pytest.mark.skipif(not is_installed("uvicorn"), reason="needs uvicorn"),
        ),
    ],
)
def test_what_needs_fork_says_so(tmp_path: Path, command: list[str], what: str) -> None:
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "a.txt").write_text("Birds sing.\n")
    command = [str(tmp_path / word) if word in ("texts", "parsed") else word for word in command]
    done = there(f"from arcwise.cli.main import run\nsys.exit(run({command!r}))")
    assert done.returncode == 2, done.stderr
    message = f"{what} needs processes that fork: on Windows, use WSL or a container"
    assert done.stderr.splitlines()[-1] == f"arcwise: {message}"
