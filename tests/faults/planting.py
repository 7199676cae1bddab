"""One native module that holds all planted faults, and the tests run with one of them.

``native/`` is copied to ``build/faults/source``, where each place of the table becomes a choice at run time:
``arcwise_fault()`` is the number that the environment variable ``ARCWISE_FAULT`` names (0: no fault). The
module is compiled once and kept; only files that changed since are compiled again.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).parents[2]
NATIVE = ROOT / "native"
BUILD = ROOT / "build" / "faults"

HEADER = """// Which planted fault is in force: tests/faults.
#pragma once
#include <cstdlib>

inline int arcwise_fault() {
  static const int number = std::getenv("ARCWISE_FAULT") ? std::atoi(std::getenv("ARCWISE_FAULT")) : 0;
  return number;
}
"""


@dataclass(frozen=True)
class Fault:
    """``original`` stands once in ``file`` (under native/kernels); with ``faulty`` in its place,
    ``caught_by`` must fail.

    An original that ends with ; or } is one or more statements, any other an expression.
    """

    name: str
    file: str
    original: str
    faulty: str
    caught_by: str
    """The pytest id of the test, from the folder of the repository."""


@dataclass(frozen=True)
class Place:
    """A stretch of a file and what may stand there instead, by the number of the fault."""

    first: int
    last: int
    choices: dict[int, str]


def places(text: str, faults: Sequence[tuple[int, Fault]]) -> list[Place]:
    """Where the faults of one file belong, from left to right. Several faults may share a place, but not a
    part of one."""
    found: dict[tuple[int, int], dict[int, str]] = defaultdict(dict)
    for number, fault in faults:
        times = text.count(fault.original)
        assert times == 1, (
            f"{fault.name}: {fault.file} has {times} places with {fault.original!r}, expected 1"
        )
        first = text.index(fault.original)
        found[first, first + len(fault.original)][number] = fault.faulty
    ordered = [Place(*span, choices) for span, choices in sorted(found.items())]
    for one, other in pairwise(ordered):
        overlap = text[other.first : one.last]
        assert not overlap, f"two originals share {overlap!r}; expected the same original, or places apart"
    return ordered


def planted(text: str, faults: Sequence[tuple[int, Fault]]) -> str:
    """The text of a file with its faults, each a choice at run time."""
    for place in reversed(places(text, faults)):
        original = text[place.first : place.last]
        written = (_statement if original.endswith((";", "}")) else _expression)(original, place.choices)
        text = text[: place.first] + written + text[place.last :]
    return '#include "planted_fault.hpp"\n' + text if faults else text


def _expression(original: str, choices: dict[int, str]) -> str:
    return "(" + "".join(f"arcwise_fault() == {n} ? ({c}) : " for n, c in choices.items()) + f"({original}))"


def _statement(original: str, choices: dict[int, str]) -> str:
    return (
        "".join(f"if (arcwise_fault() == {n}) {{ {c} }} else " for n, c in choices.items())
        + f"{{ {original} }}"
    )


def write_sources(faults: Sequence[Fault], folder: Path) -> None:
    """``native/`` with the faults, under ``folder``; files that would not change are left alone, with their
    dates."""
    of_file: dict[str, list[tuple[int, Fault]]] = defaultdict(list)
    for number, fault in enumerate(faults, 1):
        of_file[f"native/kernels/{fault.file}"].append((number, fault))
    texts = {"native/planted_fault.hpp": HEADER, "CMakeLists.txt": (ROOT / "CMakeLists.txt").read_text()}
    for path in NATIVE.rglob("*.[ch]*"):
        name = path.relative_to(ROOT).as_posix()
        texts[name] = planted(path.read_text(), of_file.pop(name, []))
    assert not of_file, f"no such file: {', '.join(of_file)}"
    for path in [p for p in folder.rglob("*") if p.is_file()]:
        if path.relative_to(folder).as_posix() not in texts:
            path.unlink()
    for name, text in texts.items():
        path = folder / name
        if not path.exists() or path.read_text() != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)


def what_is_missing() -> str | None:
    """Why the module cannot be compiled here, if it cannot."""
    for needed in ("cmake", "c++"):
        if shutil.which(needed) is None:
            return f"needs {needed}"
    return None if find_spec("nanobind") else "needs nanobind, which `make setup` installs"


def build(faults: Sequence[Fault]) -> Path:
    """The compiled module; one process compiles, the others wait for it."""
    with locked(BUILD):
        write_sources(faults, BUILD / "source")
        configure(_options())
        jobs = os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL") or str(os.cpu_count() or 1)
        run(["cmake", "--build", str(BUILD / "module"), "--target", "_native_faults", "-j", jobs])
        (module,) = (BUILD / "module").glob("_native_faults*.so")
        return module


def configure(options: list[str]) -> None:
    """Once for the same options; with others, or after a failure, from the start."""
    done = BUILD / "configured"
    if done.exists() and done.read_text() == "\n".join(options):
        return
    shutil.rmtree(BUILD / "module", ignore_errors=True)
    run(["cmake", "-S", str(BUILD / "source"), "-B", str(BUILD / "module"), *options])
    done.write_text("\n".join(options))


def _options() -> list[str]:
    nanobind = subprocess.check_output([sys.executable, "-m", "nanobind", "--cmake_dir"], text=True).strip()
    return [
        *(["-G", "Ninja"] if shutil.which("ninja") else []),
        "-DARCWISE_VARIANTS=faults",
        "-DARCWISE_OPTIMIZE=-O1",
        "-DCMAKE_BUILD_TYPE=Release",
        "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG",
        "-DSKBUILD_PROJECT_VERSION=faults",
        f"-DPython_EXECUTABLE={sys.executable}",
        f"-Dnanobind_DIR={nanobind}",
    ]


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Nobody else is in the folder meanwhile."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def run(command: list[str]) -> None:
    """Runs a step of the build; its output is the message if it fails."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout[-6000:]}{done.stderr[-2000:]}"


@dataclass(frozen=True)
class Outcome:
    """How a run of tests ended."""

    status: int
    """That of pytest: 0 all passed, 1 some failed."""
    output: str


@cache
def _runner(module: Path) -> subprocess.Popen[str]:
    """The process that runs tests on that module (``faults.runner``); it ends with this one."""
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")},
        "ARCWISE_NATIVE": "faults",
        "ARCWISE_FAULTS_MODULE": str(module),
        "PYTHONPATH": str(ROOT / "tests"),
    }
    return subprocess.Popen(
        [sys.executable, "-m", "faults.runner"],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def run_tests(module: Path, number: int, ids: Sequence[str]) -> Outcome:
    """The tests in a process of their own, on the module with one fault (0: none)."""
    unneeded = ["cacheprovider", "xdist", "hypothesispytest"]  # they take longer than the tests
    options = [f"-pno:{name}" for name in unneeded] + ["-pfaults.plugin", "-oaddopts=--import-mode=importlib"]
    options.append("-Wignore::pytest.PytestAssertRewriteWarning")  # what the runner has imported already
    arguments = ["-q", "--tb=short", *options, *(["-x"] if number else []), *ids]
    runner = _runner(module)
    assert runner.stdin is not None
    assert runner.stdout is not None
    runner.stdin.write(json.dumps({"number": number, "arguments": arguments, "seconds": 300}) + "\n")
    runner.stdin.flush()
    return Outcome(**json.loads(runner.stdout.readline()))
