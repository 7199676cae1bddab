"""What the library says to its users names arguments as Python spells them; ``--options`` are the command
line's own."""

import ast
import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "arcwise"
_OPTION = re.compile(r"(?<![\w-])--[a-z]")
_COMMAND = re.compile(r"'arcwise [^']*'")
"""A whole command in quotes, which names options as one types them."""


def options_in_messages(path: Path) -> list[str]:
    """Strings of a file, but for docstrings, that speak of ``--options``."""
    tree = ast.parse(path.read_text())
    said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    strings = [n for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    return [
        f"{path.name}:{node.lineno}: {node.value}"
        for node in strings
        if id(node) not in said
        and _OPTION.search(_COMMAND.sub("", str(node.value)))
        and "var(--" not in node.value
    ]


@pytest.mark.slow
def test_messages_of_the_library_do_not_speak_of_options() -> None:
    files = [p for p in SOURCE.rglob("*.py") if p.relative_to(SOURCE).parts[0] != "cli"]
    assert [line for path in files for line in options_in_messages(path)] == []


def test_a_message_that_does_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(
        '"""Of --beam."""\nraise ValueError(f"--beam: {1}")\nx = "run \'arcwise train --pipeline\'"\n'
    )
    assert options_in_messages(tmp_path / "a.py") == ["a.py:2: --beam: "]
