"""What ``make try`` shows: raw text parsed, a drawn tree, statistics and an evaluation of the sample that comes with arcwise.

Every step is a command that can be typed as it is printed.
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
    ("A tree in the terminal, with an arc that crosses others:", "show {gold} --sentence letter-1"),
    ("A right-to-left script:", "show {gold} --sentence gan-1"),
    ("What a treebank holds:", "stats {gold}"),
    ("How good a parser's output is:", "evaluate {gold} {system}"),
)


def main() -> int:
    """Run the steps, each after the command that makes it; 0 if all went well."""
    data = Path(str(files("arcwise") / "data"))
    names = {name: _shown(data / f"sample-{name}.conllu") for name in ("gold", "system")}
    for what, template in STEPS:
        arguments = template.format(**{name: shlex.quote(path) for name, path in names.items()})
        print(f"\n{what}\n$ {_command()} {arguments}\n", flush=True)
        if status := run(shlex.split(arguments)):
            return status
    print(
        f"\nTrees as a page for the browser:\n$ {_command()} show {shlex.quote(names['gold'])} --html trees.html"
    )
    print(f"\nEverything else:\n$ {_command()} --help")
    return 0


def _shown(path: Path) -> str:
    """The path as short as it can be typed from here."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def _command() -> str:
    """``arcwise`` as it can be called from here."""
    script = Path(sys.executable).parent / "arcwise"
    return _shown(script) if script.exists() else "arcwise"


if __name__ == "__main__":
    sys.exit(exit_status(main))
