"""Edits that change which rows there are; everything that names rows by number follows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from arcwise.treebanks.edits.block import Block


@dataclass(frozen=True)
class SplitWord:
    """A word becomes several. The part ``keep`` (from 1) keeps annotation and children; the others are open.

    ``multiword``: the old form stays as a multiword token over the parts. Otherwise they are words of their own, with SpaceAfter=No
    between them where the old form had no space. A word inside a multiword token makes that longer.
    """

    kind: ClassVar[str] = "split-word"
    row: str
    forms: tuple[str, ...]
    keep: int = 1
    multiword: bool = False

    def apply(self, block: Block) -> None:
        raise NotImplementedError


@dataclass(frozen=True)
class JoinWords:
    """Neighbouring words become one. The word nearest to the root keeps its annotation; children of all hang from the new word.

    ``form``: by default what the text has there, with its spaces. A multiword token over just these words goes, and gives its form.
    """

    kind: ClassVar[str] = "join-words"
    first: str
    last: str
    form: str | None = None

    def apply(self, block: Block) -> None:
        raise NotImplementedError


@dataclass(frozen=True)
class MakeMultiword:
    """A multiword token over words that are there, any number of them; ``form``: by default the words' forms together."""

    kind: ClassVar[str] = "make-multiword"
    first: str
    last: str
    form: str | None = None

    def apply(self, block: Block) -> None:
        raise NotImplementedError


@dataclass(frozen=True)
class RemoveMultiword:
    """A multiword token (``3-4``) goes, its words stay, with SpaceAfter=No between them where they spell it."""

    kind: ClassVar[str] = "remove-multiword"
    row: str

    def apply(self, block: Block) -> None:
        raise NotImplementedError


@dataclass(frozen=True)
class AddEmptyNode:
    """An empty node after a word (``8``; ``0``: before the first) or after an empty node (``8.1``)."""

    kind: ClassVar[str] = "add-empty-node"
    after: str
    form: str = "_"
    deps: tuple[tuple[str, str], ...] = ()

    def apply(self, block: Block) -> None:
        raise NotImplementedError


@dataclass(frozen=True)
class RemoveEmptyNode:
    """An empty node goes, and the arcs of DEPS from it with it."""

    kind: ClassVar[str] = "remove-empty-node"
    row: str

    def apply(self, block: Block) -> None:
        raise NotImplementedError
