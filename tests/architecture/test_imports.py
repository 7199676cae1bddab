"""Rooms import downwards only (ARCHITECTURE.md)."""

import ast
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "arcwise"

BELOW: dict[str, set[str]] = {"trees": set()}
BELOW["treebanks"] = {"trees"}
BELOW["inference"] = {"trees", "treebanks"}
BELOW["features"] = {"trees", "treebanks"}
BELOW["evaluation"] = {"trees", "treebanks"}
BELOW["learning"] = {"trees", "treebanks", "inference", "features", "evaluation"}
BELOW["parsing"] = BELOW["learning"] | {"learning"}
for parser in ("graph", "transition", "induction"):
    BELOW[parser] = BELOW["parsing"] | {"parsing"}
BELOW["text"] = BELOW["parsing"]
BELOW["visual"] = BELOW["graph"] | {"graph", "transition", "induction"}
BELOW["pipeline"] = BELOW["visual"] | {"visual", "text"}
BELOW["models"] = BELOW["pipeline"] | {"pipeline"}
BELOW["spacy_component"] = BELOW["models"] | {"models"}
BELOW["cli"] = BELOW["models"] | {"models"}
OUTSIDE = {"errors", "native", "_cpu", "__version__"}


def rooms_imported(path: Path) -> set[str]:
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
            if node.module == "arcwise":
                names = [f"arcwise.{alias.name}" for alias in node.names]
        rooms |= {name.split(".")[1] for name in names if name.startswith("arcwise.")}
    return rooms


def violations(source: Path) -> list[str]:
    found = []
    for path in sorted(source.rglob("*.py")):
        room = path.relative_to(source).parts[0].removesuffix(".py")
        if room not in BELOW:
            continue
        above = rooms_imported(path) - BELOW[room] - OUTSIDE - {room}
        found += [f"{path.relative_to(source)} imports {other}" for other in sorted(above)]
    return found


def test_rooms_import_downwards_only() -> None:
    assert violations(SOURCE) == []


def test_every_folder_is_a_room_of_the_plan() -> None:
    folders = {p.name for p in SOURCE.iterdir() if p.is_dir() and p.name != "__pycache__"}
    assert folders - {"shipped_models", "data"} == set(BELOW) - {"spacy_component"}


def test_an_upward_import_is_named(tmp_path: Path) -> None:
    (tmp_path / "trees").mkdir()
    (tmp_path / "trees" / "bad.py").write_text("from arcwise.cli.main import main\n")
    assert violations(tmp_path) == ["trees/bad.py imports cli"]
