"""A cell's hash covers the sources that can change its figures, and nothing that cannot."""

from __future__ import annotations

import importlib.util
import os
import sys
import threading
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from experiments import grammar_searches
from measuring import inputs, second_order, sources
from measuring.trainings import Training
from measuring.votes import VOTE_TEMPLATES

import arcwise.native
from architecture.rooms import NATIVE
from architecture.test_native import registered
from arcwise.graph import GraphConfig
from arcwise.graph.templates import ARC_TEMPLATES
from arcwise.neural import NeuralConfig
from arcwise.transition import TransitionConfig

TREEBANK = "Danish-CDT"
GRAPH = GraphConfig(epochs=2, arc_bits=14, row_bits=14)
TRANSITION = TransitionConfig(epochs=1, move_bits=12, label_bits=10)
RISK = "test decode=mbr projective=False"


def _trained(config: Any, *measures: str, **options: Any) -> Callable[[], object]:
    return Training(TREEBANK, config, measures=measures, **options).run


def _induction() -> None:
    five = grammar_searches.synthetic(3, longest=4, seed=1)
    for method in ("count", "Max.0k"):
        grammar_searches.trace_of(five, method, 0.2)
        grammar_searches.estimate(five, method, 0.2)
    grammar_searches.root_bound(five, 0.1, 0.2)
    grammar_searches.learn("theta-parses", True, 0.5, 1)
    grammar_searches.block_bound(0.2)


CELLS: dict[str, list[Callable[[], object]]] = {
    "graph": [
        _trained(replace(GRAPH, trainer="mira", k=3, labelled=False), RISK),
        _trained(replace(GRAPH, trainer="eg", projective=True), "report"),
        _trained(replace(GRAPH, trainer="log-linear"), RISK, "greedy"),
        _trained(replace(GRAPH, trainer="latent", clusters=2, labelled=False), "test decode=max-z"),
        _trained(replace(GRAPH, trainer="split-merge", clusters=2), "parse CPU s"),
        _trained(replace(GRAPH, trainer="eg-log-linear"), "report"),
        _trained(replace(GRAPH, list_columns=("MISC:Clusters",)), soft_clusters=2),
    ],
    "transition": [
        _trained(TRANSITION, "words/s"),
        _trained(replace(TRANSITION, beam=4)),
        _trained(
            replace(TRANSITION, system="non-projective(D=2)", unreachable="skip", single_root=False),
            "crossing recall",
            "coverage",
        ),
    ],
    "graph+votes": [
        _trained(replace(GRAPH, arc_templates=(*ARC_TEMPLATES, *VOTE_TEMPLATES)), votes=TRANSITION)
    ],
    "transition+text": [_trained(TRANSITION, sentences=60, tag_folds=2)],
    "graph+text": [_trained(GRAPH, sentences=60, tag_folds=2, simple_tags=True, nested=True)],
    "neural": [
        _trained(NeuralConfig(epochs=1, layers=1, hidden=16, arc_size=16, label_size=8, device="cpu"), RISK)
    ],
    "graph+siblings": [
        partial(second_order.figures, TREEBANK, kind, order, 1, "tiny")
        for kind, order in (("linear", 1), ("linear", 2), ("crossing", 2))
    ],
    "neural+siblings": [
        partial(second_order.figures, TREEBANK, kind, order, 1, "tiny")
        for kind, order in (("small", 1), ("neural", 2))
    ],
    "induction": [_induction],
    "data": [
        partial(inputs.sizes, TREEBANK, 5),
        partial(inputs.has_several_roots, TREEBANK, 5),
    ],
}
"""Small cells of every kind that a page uses."""


def modules_that_ran(run: Callable[[], object]) -> set[str]:
    """The modules of arcwise and measuring of which a function ran, in any thread."""
    files: set[str] = set()

    def profile(frame: types.FrameType, event: str, argument: object) -> None:
        if event == "call" and frame.f_code.co_name != "<module>":  # importing a module is not using it
            files.add(frame.f_code.co_filename)

    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        run()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    return {
        ".".join(path.relative_to(base).with_suffix("").parts).removesuffix(".__init__")
        for path in map(Path, files)
        for base in (sources.PACKAGE.parent, sources.ROOT)
        if path.is_relative_to(base / ("arcwise" if base == sources.PACKAGE.parent else "measuring"))
    }


class _Recording(types.ModuleType):
    """A module that remembers which of its names were used."""

    def __getattribute__(self, name: str) -> Any:
        types.ModuleType.__getattribute__(self, "used_names").add(name)
        return types.ModuleType.__getattribute__(self, name)


@contextmanager
def recorded_native() -> Iterator[set[str]]:
    """The names of ``arcwise.native`` that are used meanwhile."""
    used: set[str] = set()
    arcwise.native.used_names = used  # type: ignore[attr-defined]
    arcwise.native.__class__ = _Recording
    try:
        yield used
    finally:
        arcwise.native.__class__ = types.ModuleType
        del arcwise.native.used_names  # type: ignore[attr-defined]


@pytest.mark.slow
@pytest.mark.parametrize("kind", CELLS)
def test_what_runs_for_a_cell_is_declared(kind: str, world: Path) -> None:
    if kind.startswith("neural"):
        pytest.importorskip("torch", reason="networks are trained with torch")
    if kind == "induction" and importlib.util.find_spec("highspy") is None:
        pytest.skip("the search over parameters needs highspy")
    rooms = registered(NATIVE / "bindings")
    with recorded_native() as native_names:
        modules = {name for run in CELLS[kind] for name in modules_that_ran(run)}
    assert len(modules) > 4, "the profiler saw the cell"
    assert [name for name in sorted(modules) if not sources.covers(kind, name)] == []
    kernels = {name for part in kind.split("+") for name in sources.KINDS[part].kernels}
    native_rooms = {rooms[name] for name in native_names if name in rooms} - {None}
    assert native_rooms, "native code ran"
    assert native_rooms <= kernels


def test_every_kind_of_a_page_is_tried_above() -> None:
    """``votes`` is part of graph+votes, ``text`` of transition+text."""
    tried = {part for kind in CELLS for part in kind.split("+")}
    assert sources.KINDS.keys() == tried


def test_kernels_are_declared_with_all_that_they_include() -> None:
    """A kernel folder brings the folders whose headers its files include."""
    for kind, declared in sources.KINDS.items():
        for path in sources.files_of(declared):
            if path.is_relative_to(sources.KERNELS) or path.is_relative_to(sources.BINDINGS):
                for line in path.read_text().splitlines():
                    if line.startswith('#include "kernels/') and path.suffix not in (".cu", ".cuh"):
                        room = line.split("/")[1]
                        shared = path.parent == sources.BINDINGS and path.suffix == ".hpp"
                        assert room in declared.kernels or shared, f"{kind}: {path.name} includes {room}"


def test_every_file_that_is_hashed_exists_and_none_is_forgotten() -> None:
    for declared in sources.KINDS.values():
        files = set(sources.files_of(declared))
        assert all(path.exists() for path in files)
        for room in declared.packages:
            assert any(path.is_relative_to(sources.PACKAGE.joinpath(*room.split("."))) for path in files)
    graph = set(sources.files_of(sources.KINDS["graph"]))
    assert sources.PACKAGE / "graph" / "trainers.py" in graph
    assert sources.KERNELS / "graph" / "arc_margin.cpp" in graph
    assert sources.PACKAGE / "treebanks" / "search" / "query.py" not in graph
    assert not any("transition" in path.relative_to(sources.ROOT).parts for path in graph)


def test_sources_newer_than_the_compiled_module_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hash is that of the sources: a cell of an older compiled module would carry a wrong one."""
    compiled = [Path(name) for name in sources._module_files(arcwise.native)]
    assert len(compiled) == 1
    assert "_native_" in compiled[0].name
    module, kernel = tmp_path / "_native_v3.so", tmp_path / "graph.cpp"
    for path, when in ((module, 100), (kernel, 90)):
        path.touch()
        os.utime(path, (when, when))
    monkeypatch.setattr(sources, "ROOT", tmp_path)
    monkeypatch.setattr(sources, "_module_files", lambda native: [str(module)])
    monkeypatch.setattr(sources, "files_of", lambda declared: [kernel])
    sources.require_built(["graph"])
    os.utime(kernel, (110, 110))
    with pytest.raises(SystemExit, match=r"graph\.cpp is newer than the compiled module"):
        sources.require_built(["graph"])


@pytest.mark.parametrize(
    "before, after, same",
    [
        ("x = 1", "x = 1  # one", True),
        ('def f():\n    """Old."""\n    return 1', 'def f():\n    """New."""\n    return 1', True),
        ("a = f(1,\n      2)", "a = f(1, 2)", True),
        ("class A:\n    b: int = 1\n    'about b'", "class A:\n    b: int = 1", True),
        ('e = option(3, "Epochs.", low=1)', 'e = option(3, "Passes.", low=1)', True),
        ('e = option(3, "Epochs.", low=1)', 'e = option(4, "Epochs.", low=1)', False),
        ("x = 1", "x = 1.0", False),
        ("x = 1", "x = True", False),
        ("x = a < b", "x = a <= b", False),
        ("x = f'{a:.2f}'", "x = f'{a:.3f}'", False),
        ("def f(a, b): ...", "def f(b, a): ...", False),
    ],
)
def test_python_is_hashed_by_what_it_does(before: str, after: str, same: bool) -> None:
    assert (sources.python_essence(before) == sources.python_essence(after)) is same


@pytest.mark.parametrize(
    "before, after, same",
    [
        ("int a = 1;", "int  a=1; // one", True),
        ("f(a /* first */, b);", "f(a,\n  b);", True),
        ('const char* s = "// no comment";', 'const char* s = "";', False),
        ("char c = '\"'; // x", "char c = '\"';", True),
        ("n = 1'000; // \"x", "n = 1'000;", True),
        ('s = R"(a // b)"; // c', 's = R"(a // b)";', True),
        ('s = R"(a // b)";', 's = R"(a // c)";', False),
        ("#define A 1\nint b;", "#define A 1 int b;", False),
        ("x = a+ +b;", "x = a++b;", False),
        ("x = a - b;", "x = a-b;", True),
        ("return a / b; // a", "return a * b; // a", False),
        ("return 1e-3;", "return 1e-4;", False),
    ],
)
def test_cpp_is_hashed_by_what_it_does(before: str, after: str, same: bool) -> None:
    assert (sources.cpp_essence(before) == sources.cpp_essence(after)) is same
