"""The native half of the house: headers are included downwards only, and rooms use native names of their own
or of rooms below."""

import ast
import re
from pathlib import Path

from architecture.rooms import BELOW, NATIVE, NATIVE_BELOW, SOURCE, room_of_binding

_INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)
_REGISTERED = re.compile(
    r'\bm\.(?:def|attr)\(\s*"(\w+)"|\b(?:class_|enum_)<[^;{]*?>\(\s*m,\s*"(\w+)"|\bexception<[^;{]*?>\(\s*m,\s*"(\w+)"'
)


def may_include(room: str) -> set[str]:
    return NATIVE_BELOW[room] | {room, "base"}


def include_violations(native: Path) -> list[str]:
    """Kernels that include rooms above them, bindings, Python, or a file that does not say its room; bindings
    that reach above."""
    found = []
    for path in sorted([*native.glob("kernels/**/*.[ch]pp"), *native.glob("bindings/*.[ch]pp")]):
        is_kernel = path.is_relative_to(native / "kernels")
        room = path.relative_to(native).parts[1] if is_kernel else room_of_binding(path.stem)
        where = path.relative_to(native)
        if is_kernel and room not in NATIVE_BELOW:
            found.append(f"{where} is in no room of the plan")
            continue
        for quoted, system in _INCLUDE.findall(path.read_text()):
            top, _, rest = quoted.partition("/")
            if is_kernel and (system.startswith(("Python", "nanobind")) or top == "bindings"):
                found.append(f"{where} includes {quoted or system}, which kernels do not know")
            elif quoted and top not in ("kernels", "bindings"):
                found.append(f"{where} includes {quoted}, expected kernels/ROOM/FILE")
            elif top == "kernels" and room is not None and rest.split("/")[0] not in may_include(room):
                found.append(f"{where} includes {rest.split('/')[0]}")
    return found


def registered(bindings: Path) -> dict[str, str | None]:
    """Native name → its room, by the file that registers it; None for what belongs to all."""
    return {
        next(filter(None, names)): room_of_binding(path.stem)
        for path in sorted(bindings.glob("*.cpp"))
        for names in _REGISTERED.findall(path.read_text())
    }


def native_names(path: Path) -> set[str]:
    """The native names that a Python file uses: ``native.NAME`` and ``from arcwise.native import NAME``."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "native":
            names.add(node.attr)
        elif isinstance(node, ast.ImportFrom) and node.module == "arcwise.native":
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module == "arcwise":
            assert not any(a.name == "native" and a.asname for a in node.names), f"{path} renames native"
    return names


def native_violations(source: Path, rooms: dict[str, str | None]) -> list[str]:
    """The files that use native names of a room above them, or names that no room registers."""
    found = []
    for path in sorted(source.rglob("*.py")):
        room = path.relative_to(source).parts[0].removesuffix(".py")
        for name in sorted(native_names(path)) if room in BELOW else ():
            where = f"{path.relative_to(source)} uses native.{name}"
            if name not in rooms:
                found.append(f"{where}, which no file of native/bindings registers")
            elif rooms[name] is not None and rooms[name] not in BELOW[room] | {room}:
                found.append(f"{where} of {rooms[name]}")
    return found


def test_kernels_and_bindings_include_downwards_only() -> None:
    assert include_violations(NATIVE) == []


def test_every_folder_of_kernels_is_a_room() -> None:
    assert {p.name for p in (NATIVE / "kernels").iterdir() if p.is_dir()} == set(NATIVE_BELOW)
    assert set(NATIVE_BELOW) - {"base"} <= set(BELOW)


def test_native_and_python_rooms_have_one_order() -> None:
    for room, below in NATIVE_BELOW.items():
        assert room == "base" or below <= BELOW[room], room


def test_rooms_use_native_names_of_their_own_or_of_rooms_below() -> None:
    assert native_violations(SOURCE, registered(NATIVE / "bindings")) == []


def test_every_native_name_has_a_place() -> None:
    from arcwise import native

    names = {name for name in vars(native) if not name.startswith("_")}
    assert names <= set(registered(NATIVE / "bindings"))


def test_an_upward_include_is_named(tmp_path: Path) -> None:
    for folder in ("kernels/trees", "kernels/shrubs", "bindings"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "kernels/shrubs/a.hpp").write_text("")
    (tmp_path / "kernels/trees/bad.cpp").write_text(
        '#include "kernels/trees/bad.hpp"\n#include "kernels/base/random.hpp"\n#include '
        '"kernels/graph/arcs.hpp"\n'
        '#include <vector>\n#include <nanobind/nanobind.h>\n#include "bindings/arrays.hpp"\n#include '
        '"random.hpp"\n'
    )
    (tmp_path / "bindings/inference_bad.cpp").write_text(
        '#include "bindings/rooms.hpp"\n#include "kernels/trees/t.hpp"\n#include "kernels/graph/arcs.hpp"\n'
    )
    assert include_violations(tmp_path) == [
        "bindings/inference_bad.cpp includes graph",
        "kernels/shrubs/a.hpp is in no room of the plan",
        "kernels/trees/bad.cpp includes graph",
        "kernels/trees/bad.cpp includes nanobind/nanobind.h, which kernels do not know",
        "kernels/trees/bad.cpp includes bindings/arrays.hpp, which kernels do not know",
        "kernels/trees/bad.cpp includes random.hpp, expected kernels/ROOM/FILE",
    ]


def test_an_upward_native_name_is_named(tmp_path: Path) -> None:
    for folder in ("bindings", "source/trees"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "bindings/graph.cpp").write_text(
        'm.def(\n  "arc_parse", &f);\nnb::class_<std::vector<int>>(m, "ArcTable", "a");\nm.attr("BLOCK") = '
        "1;\n"
    )
    (tmp_path / "bindings/trees.cpp").write_text(
        'm.def("tree_properties", &f);\nnb::class_<A>(m, "A").def("f");\n'
    )
    (tmp_path / "bindings/module.cpp").write_text('m.attr("__version__") = V;\n')
    rooms = registered(tmp_path / "bindings")
    assert rooms == {
        "arc_parse": "graph",
        "ArcTable": "graph",
        "BLOCK": "graph",
        "tree_properties": "trees",
        "A": "trees",
        "__version__": None,
    }
    (tmp_path / "source/trees/bad.py").write_text(
        "from arcwise import native\nfrom arcwise.native import BLOCK\n"
        "x: native.ArcTable = native.tree_properties(native.__version__, native.unheard_of)\n"
    )
    assert native_violations(tmp_path / "source", rooms) == [
        "trees/bad.py uses native.ArcTable of graph",
        "trees/bad.py uses native.BLOCK of graph",
        "trees/bad.py uses native.unheard_of, which no file of native/bindings registers",
    ]
