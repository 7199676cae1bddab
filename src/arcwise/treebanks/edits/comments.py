"""Edits of the comments of a sentence, and notes, which are comments.

A note on a sentence is ``# note = …``, on a row ``# note 3 = …`` (or ``3-4``, ``8.1``), on an arc ``# note 5>3 = …`` (from head 5 to word 3; ``0>3``
from the root). Other tools keep these lines as they keep any comment; here they are renumbered when words are.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from arcwise.treebanks.edits.block import Block


@dataclass(frozen=True)
class SetComment:
    """The comment ``# key = value``: replaced where it is, else added after the other comments."""

    kind: ClassVar[str] = "set-comment"
    key: str
    value: str

    def apply(self, block: Block) -> None:
        raise NotImplementedError


@dataclass(frozen=True)
class AddComment:
    """One more comment line, without its ``#``, after the others (also ``key = value`` that is there already)."""

    kind: ClassVar[str] = "add-comment"
    text: str

    def apply(self, block: Block) -> None:
        raise NotImplementedError


@dataclass(frozen=True)
class ReplaceComment:
    """A comment line, named as ``Sentence.comment_lines`` has it, becomes another."""

    kind: ClassVar[str] = "replace-comment"
    text: str
    new: str

    def apply(self, block: Block) -> None:
        raise NotImplementedError


@dataclass(frozen=True)
class RemoveComment:
    """A comment line, named as ``Sentence.comment_lines`` has it, goes; the first such line."""

    kind: ClassVar[str] = "remove-comment"
    text: str

    def apply(self, block: Block) -> None:
        raise NotImplementedError


@dataclass(frozen=True)
class SetNote:
    """A note; ``on``: ``""`` the sentence, ``"3"`` a row, ``"5>3"`` an arc. No text: the note goes."""

    kind: ClassVar[str] = "set-note"
    on: str
    text: str

    def apply(self, block: Block) -> None:
        raise NotImplementedError


@dataclass(frozen=True)
class Note:
    """A note as a sentence has it."""

    on: str
    text: str


def notes_of(comment_lines: Iterable[str]) -> list[Note]:
    """The notes among the comments of a sentence (``Sentence.comment_lines``)."""
    raise NotImplementedError
