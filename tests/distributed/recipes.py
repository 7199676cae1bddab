"""The recipes of docs/how-to/a-billion-words.md, as they stand there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[2] / "docs/how-to/a-billion-words.md"
LONGEST = 15
"""Lines of a recipe at most."""


def recipe(library: str) -> str:
    """The code of the page that imports a library."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    [found] = [block for block in blocks if re.search(rf"^(import|from) {library}\b", block, re.MULTILINE)]
    assert len(found.splitlines()) <= LONGEST
    return str(found)


def run_recipe(library: str) -> dict[str, Any]:
    """Run it in the current folder; the names that it made."""
    made: dict[str, Any] = {}
    exec(compile(recipe(library), str(PAGE), "exec"), made)
    return made
