"""Validation rules that a project does not report, in a text file next to its treebanks."""

from __future__ import annotations

from pathlib import Path

from arcwise.errors import InputError
from arcwise.treebanks.files import open_output
from arcwise.treebanks.validation import RULES

FILE_NAME = "arcwise-muted-rules.txt"
_HEAD = "# Rules that arcwise annotate does not report for the files of this folder, one per line.\n"


class MutedRules:
    """The muted rules of the folder of a treebank.

    The file has a rule per line; text after ``#`` is a comment. Rules that arcwise does not have are ignored.
    """

    def __init__(self, treebank: Path) -> None:
        self.path = treebank.parent / FILE_NAME

    def read(self) -> frozenset[str]:
        """The muted rules; empty without a file."""
        return frozenset(rule for rule in map(_rule, self._lines()) if rule in RULES)

    def set(self, rule: str, *, muted: bool) -> None:
        """Mute a rule or report it again; all other lines of the file stay as they are."""
        if rule not in RULES:
            raise InputError(f"rule: there is no rule {rule!r}; see docs/reference/validation.md")
        lines = self._lines()
        if muted == (rule in map(_rule, lines)):
            return
        lines = (
            [*(lines or [_HEAD]), f"{rule}\n"] if muted else [line for line in lines if _rule(line) != rule]
        )
        with open_output(self.path) as output:
            output.write("".join(lines).encode())

    def _lines(self) -> list[str]:
        try:
            text = self.path.read_text("utf-8")
        except FileNotFoundError:
            return []
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{self.path}: cannot be read ({error})") from error
        lines = text.splitlines(keepends=True)
        return [line if line.endswith("\n") else f"{line}\n" for line in lines]


def _rule(line: str) -> str:
    return line.partition("#")[0].strip()
