"""Edits of the fields of rows: SetField, SetDeps, Accept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from arcwise.treebanks.edits.block import Block


@dataclass(frozen=True)
class SetField:
    """One field of one row gets another value. ``row``: the ID as the file has it (``3``, ``3-4``, ``8.1``).

    A HEAD, DEPREL or UPOS that is set is a decision: what a parser said of it (HeadProb, DeprelProb, Alternatives; UposProb)
    leaves MISC. The same arc in DEPS, if it is there, follows HEAD and DEPREL.
    """

    kind: ClassVar[str] = "set-field"
    row: str
    column: str
    value: str

    def apply(self, block: Block) -> None:
        raise NotImplementedError


@dataclass(frozen=True)
class SetDeps:
    """The enhanced heads of a word or empty node, as pairs of a row's ID (``0``, ``3``, ``8.1``) and a label; none: ``_``."""

    kind: ClassVar[str] = "set-deps"
    row: str
    deps: tuple[tuple[str, str], ...]

    def apply(self, block: Block) -> None:
        raise NotImplementedError


@dataclass(frozen=True)
class Accept:
    """A parser's proposals become decisions: HeadProb, DeprelProb, UposProb and Alternatives leave the MISC of the rows (``None``: of all)."""

    kind: ClassVar[str] = "accept"
    rows: tuple[str, ...] | None = None

    def apply(self, block: Block) -> None:
        raise NotImplementedError
