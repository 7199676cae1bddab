"""Rooms import downwards only (ARCHITECTURE.md), by import statements and by strings that name modules."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import arcwise
from architecture.rooms import BELOW, BESIDE, FILES, OUTSIDE, ROOT, SOURCE

_MODULE = re.compile(r"arcwise(\.\w+)+(:\w+)?")


def imported(tree: ast.AST, package: str = "arcwise") -> set[str]:
    """The modules of a package that import statements name."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module == package:
            names |= {f"{package}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return {name for name in names if name.startswith(f"{package}.")}


def import_strings(tree: ast.AST) -> set[str]:
    """The modules that strings name: whole strings, and what stands before the braces of an f-string."""
    found: set[str] = set()
    parts: set[ast.AST] = set()  # of f-strings, which come before them in the walk
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts |= set(node.values)
            if node.values and isinstance(node.values[0], ast.Constant):
                found.add(str(node.values[0].value).rpartition(".")[0])
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in parts:
            found.add(node.value)
    return {name.partition(":")[0] for name in found if _MODULE.fullmatch(name)}


def room_of(path: Path, source: Path) -> str:
    return path.relative_to(source).parts[0].removesuffix(".py")


def parsed(source: Path) -> Iterator[tuple[Path, ast.AST]]:
    for path in sorted(source.rglob("*.py")):
        yield path, ast.parse(path.read_text())


def violations(source: Path) -> list[str]:
    found = []
    for path, tree in parsed(source):
        room = room_of(path, source)
        if room not in BELOW:
            continue
        rooms = {name.split(".")[1] for name in imported(tree) | import_strings(tree)}
        above = rooms - BELOW[room] - OUTSIDE - {room}
        found += [f"{path.relative_to(source)} imports {other}" for other in sorted(above)]
    return found


def violations_beside(root: Path) -> list[str]:
    """The files of benchmarks, experiments and measuring that import what they may not."""
    return [
        f"{path.relative_to(root)} imports {other}"
        for folder, below in BESIDE.items()
        for path, tree in parsed(root / folder)
        for other in sorted(set(BESIDE) - below - {folder})
        if imported(tree, other)
    ]


def is_module(name: str, source: Path) -> bool:
    """Whether a module (or folder of modules) of that name is in the source."""
    path = source.joinpath(*name.split(".")[1:])
    return path.is_dir() or path.with_suffix(".py").is_file()


def missing_modules(source: Path) -> list[str]:
    """The files with strings that name a module of arcwise that there is not."""
    return [
        f"{path.relative_to(source)} names {name}, which is no module"
        for path, tree in parsed(source)
        for name in sorted(import_strings(tree))
        if not is_module(name, source)
    ]


def missing_entry_points(project: str, source: Path) -> list[str]:
    """The entry points of a pyproject.toml that lead nowhere."""
    found = []
    for module, function in re.findall(r'^\w+ = "(arcwise[\w.]*):(\w+)"', project, re.MULTILINE):
        path = source.joinpath(*module.split(".")[1:]).with_suffix(".py")
        if not path.is_file() or f"\ndef {function}(" not in path.read_text():
            found.append(f"{module}:{function}")
    return found


@pytest.mark.slow
def test_rooms_import_downwards_only() -> None:
    assert violations(SOURCE) == []


def test_benchmarks_and_experiments_do_not_import_each_other() -> None:
    assert violations_beside(ROOT) == []


def test_every_folder_is_a_room_of_the_plan() -> None:
    folders = {p.name for p in SOURCE.iterdir() if p.is_dir() and p.name != "__pycache__"}
    assert folders - {"shipped_models", "data"} == set(BELOW) - FILES
    assert all((SOURCE / f"{name}.py").is_file() for name in FILES)


@pytest.mark.slow
def test_strings_that_name_modules_name_some() -> None:
    assert missing_modules(SOURCE) == []
    assert missing_entry_points((ROOT / "pyproject.toml").read_text(), SOURCE) == []


def test_every_public_name_is_there() -> None:
    assert set(arcwise._HOME) == set(arcwise.__all__)
    assert all(getattr(arcwise, name) is not None for name in arcwise.__all__)
    page = (ROOT / "docs" / "reference" / "arcwise.md").read_text()
    assert [name for name in arcwise.__all__ if f"`{name}`" not in page] == []


def test_an_upward_import_is_named(tmp_path: Path) -> None:
    (tmp_path / "trees").mkdir()
    (tmp_path / "trees" / "bad.py").write_text("from arcwise.cli.main import main\n")
    assert violations(tmp_path) == ["trees/bad.py imports cli"]


def test_an_import_from_one_folder_beside_to_another_is_named(tmp_path: Path) -> None:
    for folder in BESIDE:
        (tmp_path / folder).mkdir()
    (tmp_path / "benchmarks" / "bad.py").write_text(
        "from experiments import trainings\nimport measuring.timing\n"
    )
    (tmp_path / "measuring" / "bad.py").write_text("def f():\n    from benchmarks.report import table\n")
    assert violations_beside(tmp_path) == [
        "measuring/bad.py imports benchmarks",
        "benchmarks/bad.py imports experiments",
    ]


def test_an_upward_import_by_a_string_is_named(tmp_path: Path) -> None:
    (tmp_path / "trees").mkdir()
    (tmp_path / "trees" / "bad.py").write_text(
        "A = 'arcwise.graph.parser'\nB = f'arcwise.models.{A}'\nC = 'arcwise.cli is a room'\n"
    )
    assert violations(tmp_path) == ["trees/bad.py imports graph", "trees/bad.py imports models"]


def test_a_string_that_names_no_module_is_named(tmp_path: Path) -> None:
    (tmp_path / "home.py").write_text("HOME = {'Tree': 'arcwise.shrubs', 'here': 'arcwise.home'}\n")
    assert missing_modules(tmp_path) == ["home.py names arcwise.shrubs, which is no module"]


def test_an_entry_point_that_leads_nowhere_is_named(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("\ndef main():\n    pass\n")
    project = 'good = "arcwise.main:main"\nbad = "arcwise.main:mane"\nworse = "arcwise.mane:main"\n'
    assert missing_entry_points(project, tmp_path) == ["arcwise.main:mane", "arcwise.mane:main"]
