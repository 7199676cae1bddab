"""Results of validation: a ``Finding`` has the rule, the place, a message and perhaps a ``Repair``."""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import dataclass
from typing import Any

from arcwise.treebanks.columns import COLUMNS
from arcwise.treebanks.edits import Edit, edit_to_json
from arcwise.treebanks.rows import Row
from arcwise.treebanks.validation.rules import RULES

MOST_OF_A_RULE = 100
"""Findings of one rule in one field or line; one more says so."""
LONGEST_REPAIR = 100_000
"""Characters that a repair writes. Up to a hundred findings about a field have the whole field in their
repair: without a bound, those about a field of ten megabytes were a gigabyte of JSON."""
_LONGEST_MESSAGE = 1000
_LONGEST_VALUE = 100


def shortened(text: str, length: int = _LONGEST_VALUE) -> str:
    """The start of a text that is longer than ``length``, with an ellipsis.

    >>> shortened("Case=Nom|Number=Sing", 10)
    'Case=Nom|…'
    """
    return text if len(text) <= length else text[: length - 1] + "…"


@dataclass(frozen=True)
class Repair:
    """Edits of the sentence that fix a finding, with a short description."""

    description: str
    edits: tuple[Edit, ...]

    @property
    def told(self) -> str:
        """Deprecated: use ``description``."""
        warnings.warn("Repair.told is now Repair.description", DeprecationWarning, stacklevel=2)
        return self.description

    def to_json(self) -> dict[str, Any]:
        """As a JSON object."""
        return {"description": self.description, "edits": [edit_to_json(edit) for edit in self.edits]}


@dataclass(frozen=True)
class Finding:
    """One problem of a sentence, or of the file at this line.

    ``sentence`` is its index in the treebank, from 0. ``row`` is the ID of the row as written in the file,
    None for comments and whole sentences. ``column`` is the name of a column, or None.
    ``level`` is 1 (format), 2 (tree and inventories), 3 (guidelines), 4 or 5 (language data).
    """

    rule: str
    level: int
    sentence: int
    sent_id: str | None
    line: int
    row: str | None
    column: str | None
    message: str
    repair: Repair | None

    @property
    def warning(self) -> bool:
        """Whether the rule has legitimate exceptions."""
        return RULES[self.rule].warning

    def __str__(self) -> str:
        sent_id = f" ({self.sent_id})" if self.sent_id else ""
        return f"{self.line}{sent_id}: {self.message} [{self.rule}{', warning' * self.warning}]"

    def to_json(self) -> dict[str, Any]:
        """As a JSON object."""
        return {
            "rule": self.rule,
            "level": self.level,
            "warning": self.warning,
            "sentence": self.sentence,
            "sent_id": self.sent_id,
            "line": self.line,
            "row": self.row,
            "column": self.column,
            "message": self.message,
            "repair": self.repair and self.repair.to_json(),
        }


class Report:
    """Collects the findings of one sentence up to a level."""

    def __init__(self, level: int, sentence: int, sent_id: str | None) -> None:
        self.level, self.sentence, self.sent_id = level, sentence, sent_id
        self.findings: list[Finding] = []
        self._counts: Counter[tuple[str, int, str | None]] = Counter()

    def add(
        self,
        rule: str,
        line: int,
        message: str,
        *,
        row: str | None = None,
        column: str | None = None,
        repair: Repair | None = None,
    ) -> None:
        """Add a finding, unless its rule is above the requested level."""
        level = RULES[rule].level
        if level <= self.level:
            key = rule, line, column
            self._counts[key] += 1
            if self._counts[key] > MOST_OF_A_RULE:
                if self._counts[key] > MOST_OF_A_RULE + 1:
                    return
                message, repair = f"and more of this rule; the first {MOST_OF_A_RULE} are listed", None
            message = shortened(message, _LONGEST_MESSAGE)
            row = None if row is None else _as_text(row)
            repair = repair and _usable(repair)
            place = self.sentence, self.sent_id, line, row, column
            self.findings.append(Finding(rule, level, *place, _as_text(message), repair))

    def add_field(
        self, rule: str, row: Row, column: int, message: str, *, repair: Repair | None = None
    ) -> None:
        """Add a finding about a field of a row."""
        name = COLUMNS[column]
        self.add(rule, row.line, f"{name.upper()}: {message}", row=row.id, column=name, repair=repair)


def _usable(repair: Repair) -> Repair | None:
    """The repair, or None if it is too long or would have to write bytes that are not UTF-8."""
    written = [value for edit in repair.edits for value in vars(edit).values() if isinstance(value, str)]
    if len(repair.description) + sum(map(len, written)) > LONGEST_REPAIR:
        return None
    lossless = all(_as_text(value) == value for value in written)
    return Repair(_as_text(repair.description), repair.edits) if lossless else None


def _as_text(value: str) -> str:
    """Replace surrogates, which stand for bytes that are not UTF-8, by ``?``."""
    return value.encode("utf-8", "replace").decode()
