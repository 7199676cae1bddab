"""release/: which wheel ``make try`` installs, and which lines of the pages are tried."""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def release() -> Iterator[dict[str, ModuleType]]:
    sys.path.insert(0, str(ROOT / "release"))
    yield {name: importlib.import_module(name) for name in ("sources", "fitting_wheel", "try_wheel")}
    sys.path.remove(str(ROOT / "release"))


def make_wheel(folder: Path, tags: str) -> Path:
    """A wheel without content."""
    path = folder / f"arcwise-9.0-{tags}.whl"
    with zipfile.ZipFile(path, "w") as archive:
        about = "arcwise-9.0.dist-info"
        archive.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: arcwise\nVersion: 9.0\n")
        archive.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: " + tags + "\n")
        archive.writestr(f"{about}/RECORD", "")
    return path


def test_a_wheel_fits_this_python_and_these_sources(release: dict[str, ModuleType], tmp_path: Path) -> None:
    fitting, sources = release["fitting_wheel"].fitting_wheel, release["sources"]
    assert fitting(tmp_path) is None
    wheel = make_wheel(tmp_path, "py3-none-any")
    assert fitting(tmp_path) is None  # nobody knows what it was made of
    sources.record(wheel)
    assert fitting(tmp_path) == wheel
    (tmp_path / sources.RECORD).write_text(f"{wheel.name} {'0' * 64}\n")
    assert fitting(tmp_path) is None  # other sources


def test_a_wheel_of_another_python_does_not_fit(release: dict[str, ModuleType], tmp_path: Path) -> None:
    release["sources"].record(make_wheel(tmp_path, "cp27-cp27m-manylinux_2_28_s390x"))
    assert release["fitting_wheel"].fitting_wheel(tmp_path) is None


def test_the_sources_are_those_of_the_package(release: dict[str, ModuleType], tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    for name in ("src/a.py", "native/a.cpp", "CMakeLists.txt", "docs/a.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("a\n")
    hashed = release["sources"].sources_hash
    before = hashed(tmp_path)
    (tmp_path / "docs/a.md").write_text("b\n")
    assert hashed(tmp_path) == before
    (tmp_path / "native/b.cpp").write_text("b\n")
    changed = hashed(tmp_path)
    (tmp_path / "src/a.py").write_text("b\n")
    assert len({before, changed, hashed(tmp_path)}) == 3


def test_commands_of_the_pages_are_seen(release: dict[str, ModuleType]) -> None:
    tried = release["try_wheel"]
    readme = (ROOT / "README.md").read_text("utf-8")
    assert [line.split()[1] for line in tried.shell_lines(readme, True)] == ["parse", "train", "annotate"]
    assert [line.split()[1] for line in tried.shell_lines(readme, False)] == ["parse", "train"]
    tavi = (tried.TUTORIALS / "a-treebank-from-nothing.md").read_text("utf-8")
    commands = [command.split()[1] for command, _ in tried.console_sessions(tavi)]
    assert commands == ["validate", "validate", "diff", "train", "parse"]
    induction = (tried.TUTORIALS / "find-the-best-grammar.md").read_text("utf-8")
    assert any("--plot bounds.png" in line for line in tried.shell_lines(induction, True))


def test_the_lines_about_uv_and_pipx_are_tried(release: dict[str, ModuleType], tmp_path: Path) -> None:
    tried = release["try_wheel"]
    wheel = make_wheel(tmp_path, "py3-none-any")
    lines = tried.installer_lines(tried.INSTALL.read_text("utf-8"), tmp_path, wheel)
    assert [line.split()[:2] for line in lines] == [["uv", "tool"], ["pipx", "run"]]
    assert f"--find-links {tmp_path} " in lines[0]
    assert f"--spec {wheel} " in lines[1]


def test_every_tutorial_is_tried(release: dict[str, ModuleType]) -> None:
    names = {page.stem for page in release["try_wheel"].TUTORIALS.glob("*.md")}
    assert set(release["try_wheel"].NEEDS) < names


ASKED = ("avx2", "fma", "bmi", "bmi2", "avx512f", "avx512bw", "avx512vl", "avx512dq", "avx512vnni")


@pytest.mark.skipif(not shutil.which("cc") or os.uname().machine != "x86_64", reason="needs cc on x86-64")
def test_our_processor_model_agrees_with_that_of_the_compiler(tmp_path: Path) -> None:
    """native/cpu_model.c, which the wheels have, says the same as the compiler's runtime library."""
    asked = ", ".join(f'!!__builtin_cpu_supports("{name}")' for name in ASKED)
    program = tmp_path / "asks.c"
    program.write_text(
        "#include <stdio.h>\nint main(void) {\n"
        f"  const int answers[] = {{{asked}}};\n"
        f'  for (int i = 0; i < {len(ASKED)}; ++i) printf("%d\\n", answers[i]);\n  return 0;\n}}\n'
    )
    answers = []
    for sources in ([program], [program, ROOT / "native" / "cpu_model.c"]):
        built = tmp_path / f"asks{len(sources)}"
        subprocess.run(
            ["cc", "-Wall", "-Wextra", "-Werror", *map(str, sources), "-o", str(built)], check=True
        )
        answers.append(subprocess.check_output([str(built)], text=True).split())
    assert answers[0] == answers[1]
    assert len(answers[0]) == len(ASKED)
