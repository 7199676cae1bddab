"""What the pages and their servers say is natural English: no expression that the style guide replaces."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import arcwise

SOURCE = Path(arcwise.__file__).parent
STATIC = SOURCE / "web" / "static"
REPLACED = """
    an editor that thinks along | thinks along | gone on with | on what epoch | what training makes small
    learned beside | nobody told | worth telling | is no json | being written all the time | file at rest
    mend this | move it away | waits for company | another address alone | told and left out | reading aloud
    how large shall | nobody is asked | put some in | kept ✓ | file written ✓ | take the decision back
    open again | give up what | take the changes in | look for improbable | improbable words | who proposes
    end the training | its proposals are new | the parser is trained | found pron without
    whole tree on the screen | the other file beside | arcwise made a mistake | who asked has gone
"""
"""The left column of the table in docs/contributing/style.md and the labels that it has replaced."""
DIALECT = (
    r"\b(is|are|was|were) told\b",
    r"\b(nobody|somebody)\b(?! has accepted)",
    r"\bmend(s|ed|ing)?\b",
    r"\bshall\b",
    r"(?<!there )\bis no\b(?! longer)",
    r"(?<!there )\bare no\b(?! longer)",
    r"\bgo(es)? on\b",
    r"\btakes? in\b",
    r"\bproposes?\b",
    r"\bthinks?\b",
    r"\bthoughts\b",
    r"\bmistakes? of ours\b",
    r"\bwhat (is|was) (asked|sent|not)\b",
)
"""The dialect as regular expressions: agentless passives, relative clauses in the place of nouns, and plain
words in the place of terms."""


def script_strings(text: str) -> Iterator[tuple[int, str]]:
    """Line numbers and string literals of JavaScript, comments left out."""
    text = re.sub(r"/\*.*?\*/", lambda comment: "\n" * comment[0].count("\n"), text, flags=re.DOTALL)
    for number, line in enumerate(text.splitlines(), 1):
        code = re.sub(r"(^|\s)//.*", "", line)
        for literal in re.finditer(r'"((?:[^"\\]|\\.)*)"|`((?:[^`\\]|\\.)*)`', code):
            yield number, re.sub(r"\$\{[^}]*\}", "…", literal[1] or literal[2] or "")


def page_strings(text: str) -> Iterator[tuple[int, str]]:
    """Line numbers and visible text of HTML: between tags, and in attributes that are shown or read out."""
    for number, line in enumerate(text.splitlines(), 1):
        for match in re.finditer(r'>([^<>]+)<|(?:title|aria-label|placeholder|content|alt)="([^"]*)"', line):
            yield number, match[1] or match[2] or ""


def python_strings(text: str) -> Iterator[tuple[int, str]]:
    """Line numbers and string literals of Python, docstrings left out; the parts of an f-string as one."""
    tree = ast.parse(text)
    skipped = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = [part.value if isinstance(part, ast.Constant) else "…" for part in node.values]
            skipped.update(id(part) for part in node.values)
            yield node.lineno, "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped:
            yield node.lineno, node.value


READERS = {".js": script_strings, ".html": page_strings, ".py": python_strings}
FILES = sorted(
    path
    for folder in (STATIC, SOURCE / "web", SOURCE / "annotation")
    for path in (folder.rglob("*") if folder == STATIC else folder.glob("*.py"))
    if path.suffix in READERS
)


def faults(path: Path) -> list[str]:
    """Messages of a file with an expression that is replaced, as ``file:line: message``."""
    replaced = [expression.strip() for expression in re.split(r"[|\n]", REPLACED) if expression.strip()]
    lines = []
    for number, message in READERS[path.suffix](path.read_text("utf-8")):
        if " " in message.strip() and (
            any(expression in message.lower() for expression in replaced)
            or any(re.search(pattern, message, re.IGNORECASE) for pattern in DIALECT)
        ):
            lines.append(f"{path.name}:{number}: {message}")
    return lines


def test_no_message_has_an_expression_that_is_replaced() -> None:
    assert len(FILES) > 60
    assert [line for path in FILES for line in faults(path)] == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.js", 'tell("The parser is trained; its proposals are new.");'),
        ("a.js", "tell(`${n} words: who proposes`); // fine"),
        ("a.html", '<button title="take the decision back: open again">Clear</button>'),
        ("a.html", "<p>Nobody is asked who they are</p>"),
        ("a.py", 'raise ValueError(f"{path}: is no JSON")'),
        ("a.py", 'say("the line is told and left out whole")'),
    ],
)
def test_an_expression_that_is_replaced_is_reported(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text, "utf-8")
    assert len(faults(path)) == 1


def test_comments_and_docstrings_are_not_messages(tmp_path: Path) -> None:
    for name, text in (("a.js", '// "nobody is asked"\nf("x");'), ("a.py", '"""Is told and left out."""\n')):
        path = tmp_path / name
        path.write_text(text, "utf-8")
        assert faults(path) == []
