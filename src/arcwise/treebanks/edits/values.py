"""Edits of the fields of rows: SetField, SetDeps, Accept."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import chain
from typing import ClassVar

from arcwise.errors import InputError
from arcwise.treebanks.columns import column_number
from arcwise.treebanks.edits.edited_sentence import EditedRow, EditedSentence
from arcwise.treebanks.edits.references import Pairs, read_deps, write_deps

PROPOSED = {
    "head": ("HeadProb", "Alternatives"),
    "deprel": ("DeprelProb",),
    "upos": ("UposProb",),
}
"""What a parser said of a column, in MISC."""
_OF_MULTIWORD = ("form", "feats", "misc")
_NOT_OF_EMPTY = ("head", "deprel")


@dataclass(frozen=True)
class SetField:
    """One field of one row gets another value. ``row``: the ID as the file has it (``3``, ``3-4``, ``8.1``).

    A HEAD, DEPREL or UPOS that is set is a decision: what a parser said of it leaves MISC (HeadProb and Alternatives; DeprelProb; UposProb), so
    that a head may be decided and its label be a proposal still. The same arc in DEPS, if it is there, follows HEAD and DEPREL.
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
        if row.kind == "word" and self.column in PROPOSED:
            row.drop_misc(*PROPOSED[self.column])
        if row.kind == "word" and self.column in ("head", "deprel"):
            _follow(row, head, label)

    def _check(self, sentence: EditedSentence, row: EditedRow, value: str) -> None:
        name = self.column.upper()
        if self.column == "id":
            raise InputError(
                "column: found 'id', expected another: the numbers of rows follow from their order"
            )
        if value != "_":
            if row.kind == "multiword" and self.column not in _OF_MULTIWORD:
                raise InputError(
                    f"row {row.id}: found {name} {value!r}, expected _ (a multiword token has form and MISC, its words the rest)"
                )
            if row.kind == "empty" and self.column in _NOT_OF_EMPTY:
                raise InputError(
                    f"row {row.id}: found {name} {value!r}, expected _ (an empty node has DEPS alone)"
                )
            if self.column == "head":
                _check_head(sentence, row, value)
            if self.column == "deps":
                check_deps(sentence, row, read_deps(value))


def _check_head(sentence: EditedSentence, row: EditedRow, value: str) -> None:
    n = len(sentence.words())
    if not re.fullmatch("0|[1-9][0-9]{0,8}", value) or int(value) > n:
        raise InputError(f"row {row.id}: found HEAD {value!r}, expected 0..{n} or _")
    if value == row.id:
        raise InputError(f"row {row.id}: found HEAD {value}, expected another word or 0")


def _follow(row: EditedRow, head: str, label: str) -> None:
    """The arc that HEAD and DEPREL had, if DEPS has it too, becomes the one that they have now."""
    old = read_deps(row["deps"])
    if (head, label) not in old or head == "_":
        return
    pairs = [pair for pair in old if pair != (head, label)]
    if row["head"] != "_" and row["deprel"] != "_":
        pairs.append((row["head"], row["deprel"]))
    row["deps"] = write_deps(pairs)


def check_deps(sentence: EditedSentence, row: EditedRow, pairs: Pairs) -> None:
    """``InputError`` if the pairs cannot stand in the DEPS of a row."""
    if row.kind == "multiword" and pairs:
        raise InputError(f"row {row.id}: found DEPS, expected _ (its words have them)")
    known = sentence.node_ids()
    for head, label in pairs:
        if head not in known or head == row.id:
            raise InputError(
                f"row {row.id}: found the head {head!r} in DEPS, expected 0, another word or an empty node"
            )
        if not label or label == "_" or re.search(r"[\s|]", label):
            raise InputError(
                f"row {row.id}: found the label {label!r} in DEPS, expected a relation such as nsubj"
            )


@dataclass(frozen=True)
class SetDeps:
    """The enhanced heads of a word or empty node, as pairs of a row's ID (``0``, ``3``, ``8.1``) and a label; none: ``_``."""

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
    """A parser's proposals become decisions: HeadProb, DeprelProb, UposProb and Alternatives leave the MISC of the rows (``None``: of all)."""

    kind: ClassVar[str] = "accept"
    rows: tuple[str, ...] | None = None

    def apply(self, sentence: EditedSentence) -> None:
        """Take the parser's pairs out of MISC."""
        names = [row.id for row in sentence.words()] if self.rows is None else self.rows
        for name in names:
            sentence.row(name).drop_misc(*chain.from_iterable(PROPOSED.values()))
