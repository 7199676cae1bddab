"""Writing a section of benchmarks/RESULTS.md: each benchmark owns one, with the command, date and machine beside it."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path

from measuring.tables import machine

RESULTS = Path(__file__).parent / "RESULTS.md"
HEADING = """# Results

Every figure below was printed by the command that stands above it. Contenders ran in the same run, taking turns; times are the
minimum of several rounds.
"""


def table_rows(name: str, header: Sequence[str], results: str) -> list[list[str]]:
    """The cells of every row, beside the header, of tables with that header in the section ``name`` of RESULTS.md; none if there is no such section."""
    own = _section(name).search(results)
    lines = own[0].splitlines() if own else ()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [row for row in rows if len(row) == len(header) and row != list(header) and set(row) != {"---"}]


def _section(name: str) -> re.Pattern[str]:
    return re.compile(rf"<!-- {re.escape(name)} -->\n.*?<!-- /{re.escape(name)} -->\n", re.DOTALL)


def write_section(
    name: str, title: str, body: str, *, module: str | None = None, results: Path = RESULTS
) -> None:
    """Replace (or add) the section ``name`` of RESULTS.md, by the module of that name or another one, and by the command line of this run."""
    command = shlex.join(["python", "-m", f"benchmarks.{module or name}", *sys.argv[1:]])
    date = datetime.now(timezone.utc).date().isoformat()
    section = f"<!-- {name} -->\n## {title}\n\n`{command}` · {date} · {machine()}\n\n{body.strip()}\n<!-- /{name} -->\n"
    text = results.read_text() if results.exists() else HEADING
    pattern = _section(name)
    if pattern.search(text):
        text = pattern.sub(lambda _: section, text)
    else:
        text = text.rstrip() + "\n\n" + section
    results.write_text(text)
