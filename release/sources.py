"""The hash of a wheel's sources: ``make try`` installs a wheel from ``dist/`` only if the hash matches."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]
PARTS = ("src", "native", "CMakeLists.txt", "pyproject.toml")
RECORD = "sources.txt"
"""The file next to the wheels: a line for each, with its name and the hash of its sources."""


def sources_hash(root: Path = ROOT) -> str:
    """The hash of all tracked and new files that go into a wheel, as they are in the working tree."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *PARTS]
    names = subprocess.check_output(command, cwd=root).decode().split("\0")
    digest = hashlib.sha256()
    for name in sorted(filter(None, set(names))):
        if (root / name).is_file():
            digest.update(f"{name} {hashlib.sha256((root / name).read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()


def record(wheel: Path) -> None:
    """Record the hash of a wheel's sources next to it."""
    file = wheel.parent / RECORD
    lines = recorded(wheel.parent) | {wheel.name: sources_hash()}
    file.write_text("".join(f"{name} {value}\n" for name, value in sorted(lines.items())))


def recorded(folder: Path) -> dict[str, str]:
    """The hash of the sources of each wheel in a folder."""
    file = folder / RECORD
    lines = file.read_text().splitlines() if file.exists() else []
    return {name: value for name, _, value in (line.partition(" ") for line in lines)}
