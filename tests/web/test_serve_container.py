"""The container of ``arcwise serve``: what its Dockerfile says, and (``make test-long``) what its steps make,
run without Docker."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

pytest.importorskip("uvicorn", reason="needs uvicorn")

ROOT = Path(__file__).parents[2]
LINES = [
    line
    for line in (ROOT / "Dockerfile").read_text("utf-8").splitlines()
    if line and not line.startswith("#")
]
BASE = 53 * 10**6
"""Bytes of gcr.io/distroless/python3-debian12, rounded up: Python of Debian, its library and that of C++."""
MOST = 200 * 10**6
"""Bytes of the whole image."""
NOBODY = 65532
"""The user of such images that may do nothing."""


def lines(word: str) -> list[str]:
    return [line.removeprefix(f"{word} ") for line in LINES if line.startswith(f"{word} ")]


def test_what_runs_is_small_and_has_no_rights() -> None:
    last = lines("FROM")[-1]
    assert last.endswith(":nonroot")
    assert "python3-debian12" in last
    assert not any("root" in line for line in lines("USER"))
    assert len(lines("FROM")) == 2  # compilers stay behind


def test_what_runs_is_the_command() -> None:
    python, *arguments = json.loads(lines("ENTRYPOINT")[-1])
    assert python == "/usr/bin/python3"
    assert arguments == ["-m", "arcwise", "serve", "--host", "0.0.0.0"]
    assert lines("EXPOSE") == ["8080"]  # the default of --port


def test_what_is_copied_is_there() -> None:
    ignored = (ROOT / ".dockerignore").read_text("utf-8").split()
    needed = {"src", "native", "CMakeLists.txt", "pyproject.toml", "README.md", "LICENSE"}
    assert not needed & set(ignored)
    assert all((ROOT / name).exists() for name in needed)


def test_libraries_of_others_are_left_as_they_came() -> None:
    """strip makes numpy's OpenBLAS unreadable, and the service does not start."""
    stripping = [step for step in lines("RUN") if "strip " in step]
    assert stripping
    assert all("-path '*/site-packages/arcwise/*'" in step for step in stripping)


@pytest.mark.skipif(not os.environ.get("ARCWISE_LONG_TESTS"), reason="takes minutes: make test-long")
@pytest.mark.timeout(3600)
def test_the_steps_make_an_image_of_less_than_200_mb(tmp_path: Path) -> None:
    source, installed = tmp_path / "src", tmp_path / "install"
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True
    ).stdout.decode()
    for name in filter(None, listed.split("\0")):
        if name.split("/")[0] in ("src", "native") or "/" not in name:
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, source / name)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for step in lines("RUN"):
        if step.startswith("apt-get"):
            continue
        step = re.sub(r"^pip ", f"{sys.executable} -m pip ", step).replace("/install", str(installed))
        step = step.replace("python3.11", version)
        subprocess.run(["bash", "-ec", step], cwd=source, check=True, timeout=3000)
    packages = installed / "lib" / version / "site-packages"
    size = sum(path.lstat().st_size for path in packages.rglob("*"))
    print(f"{size / 1e6:.1f} MB beside {BASE / 1e6:.0f} MB of Python")
    assert size + BASE < MOST
    _serves(packages)


def _may_run_python(user: int) -> bool:
    """Not where this Python lies in a folder of root's own."""
    try:
        subprocess.run([sys.executable, "-S", "-c", ""], cwd="/", user=user, check=True, capture_output=True)
    except (PermissionError, subprocess.CalledProcessError):
        return False
    return True


def _serves(packages: Path) -> None:
    """What was installed answers, with nothing but the standard library beside it, as a user without
    rights."""
    for folder in (packages, *packages.parents):
        if os.geteuid() == 0 and folder.owner() == "root" and "pytest" in str(folder):
            folder.chmod(0o755)
    command = [
        sys.executable,
        "-S",
        "-m",
        *json.loads(lines("ENTRYPOINT")[-1])[2:],
        "--port",
        "0",
        "--workers",
        "1",
    ]
    environment = {"PYTHONPATH": str(packages), "PYTHONDONTWRITEBYTECODE": "1"}
    user = NOBODY if os.geteuid() == 0 and _may_run_python(NOBODY) else None
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, text=True, cwd="/", user=user
    ) as server:
        assert server.stdout is not None
        address = server.stdout.readline().strip().replace("0.0.0.0", "127.0.0.1")
        assert address, "the service did not start"
        asked = [
            "curl",
            "-sf",
            "-F",
            "data=Birds sing.",
            "-F",
            "tokenizer=",
            "-F",
            "parser=",
            f"{address}process",
        ]
        found = json.loads(subprocess.run(asked, capture_output=True, check=True).stdout)
        server.send_signal(signal.SIGTERM)
        assert server.wait(30) == 0
    assert "# text = Birds sing." in found["result"]
