"""Names say what things are: no two classes share a name, and no variable is called ``found``."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from pathlib import Path

from architecture.rooms import SOURCE

VAGUE = {"found", "own", "told", "known", "given"}
"""Names that say nothing about a value (docs/contributing/style.md)."""
ALLOWED = 20
"""How many may be left, each where the word is the right one."""


def trees() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text("utf-8")) for path in sorted(SOURCE.rglob("*.py"))}


def bound_names(tree: ast.AST) -> Counter[str]:
    """How often each name is bound: assigned, looped over, or a parameter."""
    names: Counter[str] = Counter()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names[node.id] += 1
        elif isinstance(node, ast.arg):
            names[node.arg] += 1
    return names


def test_no_two_classes_share_a_name() -> None:
    places = defaultdict(list)
    for path, tree in trees().items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                places[node.name].append(str(path.relative_to(SOURCE)))
    assert {name: files for name, files in places.items() if len(files) > 1} == {}


def test_names_say_what_a_value_is() -> None:
    vague = {
        str(path.relative_to(SOURCE)): count
        for path, tree in trees().items()
        if (count := sum(bound_names(tree)[name] for name in VAGUE))
    }
    assert sum(vague.values()) <= ALLOWED, vague
