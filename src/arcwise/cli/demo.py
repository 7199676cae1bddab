"""The demo of ``make try``: parsed text, a drawn tree, statistics and an evaluation, on the sample that comes
with arcwise.

Every step prints the command that it runs.
"""

from __future__ import annotations

import shlex
import sys
from importlib.resources import files
from pathlib import Path

from arcwise.cli.main import exit_status, run

STEPS: tuple[tuple[str, str], ...] = (
    (
        "Raw text to trees, each arc with its probability:",
        'parse --show --text "I saw the man with a telescope. He didn\'t mind!"',
    ),
    ("A tree in the terminal, with a crossing arc:", "show {gold} --sentence letter-1"),
    ("A right-to-left script:", "show {gold} --sentence gan-1"),
    ("Statistics of a treebank:", "stats {gold}"),
    ("Scores of a parser's output:", "evaluate {gold} {system}"),
)


def main() -> int:
    """Run the steps, each under its command; the exit status, 0 if all succeed."""
    data = Path(str(files("arcwise") / "data"))
    names = {name: _shown(data / f"sample-{name}.conllu") for name in ("gold", "system")}
    for title, template in STEPS:
        arguments = template.format(**{name: shlex.quote(path) for name, path in names.items()})
        print(f"\n{title}\n$ {_command()} {arguments}\n", flush=True)
        if status := run(shlex.split(arguments)):
            return status
    print(f"\nTrees as an HTML page:\n$ {_command()} show {shlex.quote(names['gold'])} --html trees.html")
    print(f"\nEverything else:\n$ {_command()} --help")
    return 0


def _shown(path: Path) -> str:
    """The path relative to the current folder, if it is in it."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def _command() -> str:
    """The command that calls ``arcwise`` from the current folder."""
    script = Path(sys.executable).parent / "arcwise"
    return _shown(script) if script.exists() else "arcwise"


if __name__ == "__main__":
    sys.exit(exit_status(main))
