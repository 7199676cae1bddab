"""What checking finds: a ``Finding`` names the rule, the place and the reason, and carries a ``Repair`` where there is an obvious one."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

from arcwise.treebanks.columns import COLUMNS
from arcwise.treebanks.edits import Edit, edit_to_json
from arcwise.treebanks.rows import Row
from arcwise.treebanks.validation.rules import RULES


@dataclass(frozen=True)
class Repair:
    """Edits of the sentence after which the finding is gone, and what they do in a few words."""

    description: str
    edits: tuple[Edit, ...]

    @property
    def told(self) -> str:
        """Deprecated: use ``description``."""
        warnings.warn("Repair.told is now Repair.description", DeprecationWarning, stacklevel=2)
        return self.description

    def to_json(self) -> dict[str, Any]:
        """As a JSON object."""
        return {"told": self.description, "edits": [edit_to_json(edit) for edit in self.edits]}


@dataclass(frozen=True)
class Finding:
    """One thing wrong with one sentence, or with the file at this place.

    ``sentence``: its number in the treebank, from 0. ``row``: the ID of the row as the file has it; None for comments and whole
    sentences. ``column``: the name of a column, or None. ``level``: 1 (format), 2 (tree and inventories), 3 (guidelines).
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
        """Whether the rule has exceptions, so that the finding is to be looked at and not always wrong."""
        return RULES[self.rule].warning

    def __str__(self) -> str:
        where = f" ({self.sent_id})" if self.sent_id else ""
        return f"{self.line}{where}: {self.message} [{self.rule}{', a warning' * self.warning}]"

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
    """Collects the findings of one sentence at one level."""

    def __init__(self, level: int, sentence: int, sent_id: str | None) -> None:
        self.level, self.sentence, self.sent_id = level, sentence, sent_id
        self.findings: list[Finding] = []

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
        """One more finding, unless its rule is of a higher level than is asked for."""
        level = RULES[rule].level
        if level <= self.level:
            row = None if row is None else _as_text(row)
            repair = repair and _without_loss(repair)
            self.findings.append(
                Finding(
                    rule, level, self.sentence, self.sent_id, line, row, column, _as_text(message), repair
                )
            )

    def add_field(
        self, rule: str, row: Row, column: int, message: str, *, repair: Repair | None = None
    ) -> None:
        """One more finding, about what a row has in a column."""
        name = COLUMNS[column]
        self.add(rule, row.line, f"{name.upper()}: {message}", row=row.id, column=name, repair=repair)


def _without_loss(repair: Repair) -> Repair | None:
    """The repair; None if it would write bytes that are no UTF-8."""
    written = (value for edit in repair.edits for value in vars(edit).values() if isinstance(value, str))
    lossless = all(_as_text(value) == value for value in written)
    return Repair(_as_text(repair.description), repair.edits) if lossless else None


def _as_text(value: str) -> str:
    """Bytes that are no UTF-8 came as surrogates; here they are ``?``."""
    return value.encode("utf-8", "replace").decode()
