"""The types of the public names as a program sees them that installs arcwise and runs mypy --strict."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import arcwise
from architecture.rooms import ROOT

NEEDS_TORCH = pytest.mark.skipif(find_spec("torch") is None, reason="needs torch: make test-torch")


@pytest.mark.slow
@pytest.mark.skipif(find_spec("mypy") is None, reason="needs mypy (extra lint)")
@pytest.mark.parametrize(
    "program", ["typed_client.py", pytest.param("typed_torch_client.py", marks=NEEDS_TORCH)]
)
def test_a_strictly_typed_client_of_the_public_names(program: str, tmp_path: Path) -> None:
    package = Path(arcwise.__file__).parent
    assert (package / "py.typed").exists()
    environment = {
        name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "MYPYPATH")
    }
    if "site-packages" not in package.parts:
        # An editable install redirects imports by a hook, which mypy does not run: name the folder instead.
        environment["MYPYPATH"] = str(package.parent)
    (tmp_path / "mypy.ini").write_text("[mypy]\n")  # not the settings of this repository
    client = tmp_path / "client.py"
    client.write_text(Path(__file__).with_name(program).read_text())
    mypy = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--follow-imports=silent",
        f"--python-executable={sys.executable}",
    ]
    # A cache of its own: mypy starts over when its options change, which takes a minute.
    cache = f"--cache-dir={ROOT / '.mypy_cache' / 'client'}"
    done = subprocess.run(
        [*mypy, cache, "client.py"], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
