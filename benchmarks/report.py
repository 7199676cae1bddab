"""Sections of benchmarks/RESULTS.md: one per benchmark, with its command line, date and machine."""

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

The command above each table printed its figures. Contenders took turns within the same run; times are the
minimum of several rounds.
"""


def table_rows(name: str, header: Sequence[str], results: str) -> list[list[str]]:
    """Return the rows below ``header`` in section ``name`` of RESULTS.md (empty if the section is
    missing).
    """
    section = _section(name).search(results)
    lines = section[0].splitlines() if section else ()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [row for row in rows if len(row) == len(header) and row != list(header) and set(row) != {"---"}]


def _section(name: str) -> re.Pattern[str]:
    return re.compile(rf"<!-- {re.escape(name)} -->\n.*?<!-- /{re.escape(name)} -->\n", re.DOTALL)


def write_section(
    name: str, title: str, body: str, *, module: str | None = None, results: Path = RESULTS
) -> None:
    """Replace or append section ``name`` of RESULTS.md, headed by this run's command line, date and machine.

    ``module`` is the benchmark to name in the command line where it differs from ``name``.
    """
    command = shlex.join(["python", "-m", f"benchmarks.{module or name}", *sys.argv[1:]])
    date = datetime.now(timezone.utc).date().isoformat()
    section = (
        f"<!-- {name} -->\n## {title}\n\n`{command}` · {date} · {machine()}\n\n{body.strip()}\n<!-- "
        f"/{name} -->\n"
    )
    text = results.read_text() if results.exists() else HEADING
    pattern = _section(name)
    if pattern.search(text):
        text = pattern.sub(lambda _: section, text)
    else:
        text = text.rstrip() + "\n\n" + section
    results.write_text(text)
