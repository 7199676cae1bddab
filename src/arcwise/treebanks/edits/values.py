"""Edits of the fields of rows: ``SetField``, ``SetDeps``, ``Accept``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import chain
from typing import ClassVar

from arcwise.errors import InputError
from arcwise.treebanks.columns import column_number
from arcwise.treebanks.edits.edited_sentence import Arcs, EditedSentence, read_deps, write_deps
from arcwise.treebanks.rows import Row

SUGGESTION_KEYS = {
    "head": ("HeadProb", "Alternatives"),
    "deprel": ("DeprelProb",),
    "upos": ("UposProb",),
}
"""Columns that a parser suggests → the keys of MISC that mark a value as its suggestion."""
_MULTIWORD_COLUMNS = ("form", "feats", "misc")
_NOT_IN_EMPTY_NODES = ("head", "deprel")


@dataclass(frozen=True)
class SetField:
    """Set one field of a row. ``row``: its ID as in the file (``3``, ``3-4``, ``8.1``).

    Setting HEAD, DEPREL or UPOS is a decision: the parser's statements about that column leave MISC (HeadProb
    and Alternatives; DeprelProb; UposProb). A head can thus be decided while its label is still a suggestion.
    If DEPS has the same arc as HEAD and DEPREL, it changes with them.
    """

    kind: ClassVar[str] = "set-field"
    row: str
    column: str
    value: str

    def apply(self, sentence: EditedSentence) -> None:
        """Set the field."""
        column_number(self.column)
        row, value = sentence.row(self.row), self.value or "_"
        self._check(sentence, row, value)
        head, label = row["head"], row["deprel"]
        row[self.column] = value
        if row.kind == "word" and self.column in SUGGESTION_KEYS:
            row.drop_misc(*SUGGESTION_KEYS[self.column])
        if row.kind == "word" and self.column in ("head", "deprel"):
            _update_deps(row, head, label)

    def _check(self, sentence: EditedSentence, row: Row, value: str) -> None:
        name = self.column.upper()
        if self.column == "id":
            raise InputError(
                "column: found 'id', expected another column (IDs follow from the order of rows)"
            )
        if value != "_":
            if row.kind == "multiword" and self.column not in _MULTIWORD_COLUMNS:
                raise InputError(
                    f"row {row.id}: found {name} {value!r}, expected _ "
                    "(a multiword token has only FORM, FEATS and MISC; set the others on its words)"
                )
            if row.kind == "empty" and self.column in _NOT_IN_EMPTY_NODES:
                raise InputError(
                    f"row {row.id}: found {name} {value!r}, expected _ (an empty node has only DEPS)"
                )
            if self.column == "head":
                _check_head(sentence, row, value)
            if self.column == "deps":
                check_deps(sentence, row, read_deps(value))


def _check_head(sentence: EditedSentence, row: Row, value: str) -> None:
    n = len(sentence.words())
    if not re.fullmatch("0|[1-9][0-9]{0,8}", value) or int(value) > n:
        raise InputError(f"row {row.id}: found HEAD {value!r}, expected 0..{n} or _")
    if value == row.id:
        raise InputError(f"row {row.id}: found HEAD {value}, expected another word or 0")


def _update_deps(row: Row, old_head: str, old_label: str) -> None:
    """Replace the arc that HEAD and DEPREL had, if DEPS has it too, by the arc that they have now."""
    arcs = read_deps(row["deps"])
    if (old_head, old_label) not in arcs or old_head == "_":
        return
    kept = [arc for arc in arcs if arc != (old_head, old_label)]
    if row["head"] != "_" and row["deprel"] != "_":
        kept.append((row["head"], row["deprel"]))
    row["deps"] = write_deps(kept)


def check_deps(sentence: EditedSentence, row: Row, arcs: Arcs) -> None:
    """Raise ``InputError`` if a row cannot have these arcs in DEPS."""
    if row.kind == "multiword" and arcs:
        raise InputError(f"row {row.id}: found DEPS, expected _ (set DEPS on the words of a multiword token)")
    node_ids = sentence.node_ids()
    for head, label in arcs:
        if head not in node_ids or head == row.id:
            raise InputError(
                f"row {row.id}: found the head {head!r} in DEPS, expected 0, another word or an empty node"
            )
        if not label or label == "_" or re.search(r"[\s|]", label):
            raise InputError(
                f"row {row.id}: found the label {label!r} in DEPS, expected a relation such as nsubj"
            )


@dataclass(frozen=True)
class SetDeps:
    """Set the enhanced heads of a word or empty node: pairs of an ID (``0``, ``3``, ``8.1``) and a label.

    An empty tuple gives ``_``.
    """

    kind: ClassVar[str] = "set-deps"
    row: str
    deps: tuple[tuple[str, str], ...]

    def apply(self, sentence: EditedSentence) -> None:
        """Set DEPS."""
        row = sentence.row(self.row, kinds=("word", "empty"))
        check_deps(sentence, row, self.deps)
        row["deps"] = write_deps(self.deps)


@dataclass(frozen=True)
class Accept:
    """Accept a parser's suggestions: remove HeadProb, DeprelProb, UposProb and Alternatives from MISC.

    rows: IDs of the rows to accept; None accepts all words.
    """

    kind: ClassVar[str] = "accept"
    rows: tuple[str, ...] | None = None

    def apply(self, sentence: EditedSentence) -> None:
        """Remove the parser's attributes from MISC."""
        ids = [row.id for row in sentence.words()] if self.rows is None else self.rows
        for identifier in ids:
            sentence.row(identifier).drop_misc(*chain.from_iterable(SUGGESTION_KEYS.values()))
