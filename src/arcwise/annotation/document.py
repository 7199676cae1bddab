"""``Document``: a CoNLL-U file that is being edited. Every edit is in the journal beside the file before it is shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from arcwise.errors import InputError
from arcwise.treebanks import Problem, Sentence, Treebank
from arcwise.treebanks.edits import Edit
from arcwise.treebanks.files import PathLike


class ChangedMeanwhile(InputError):
    """The sentence is no longer the one that the caller saw; ``block`` is what it is now."""

    def __init__(self, message: str, block: bytes = b"") -> None:
        super().__init__(message)
        self.block = block


class ChangedOnDisk(InputError):
    """Another program changed the file; ``take_in_changes`` merges, nothing is overwritten."""


@dataclass(frozen=True)
class Part:
    """Sentences that stand one after the other, before and after a change. ``first``: the number of the first, from 0."""

    first: int
    before: tuple[bytes, ...]
    after: tuple[bytes, ...]


@dataclass(frozen=True)
class Change:
    """What one step changed. Parts go from the end of the file to its start, so that numbers hold while they are applied."""

    version: int
    parts: tuple[Part, ...]
    told: str

    @property
    def first(self) -> int:
        """The number of the first sentence that changed."""
        return self.parts[-1].first


@dataclass(frozen=True)
class Taken:
    """What was taken in from the disk. ``conflicts``: as ``treebanks.merging`` tells them; mine stand, theirs are in comments."""

    change: Change | None
    conflicts: tuple[object, ...]


class Document:
    """A file that is being edited. Safe to use from several threads; one process at a time has a file open."""

    path: Path
    version: int
    """One more with each change, undo and redo included."""
    notices: tuple[str, ...]
    """What is worth saying after opening: edits taken up from the journal, a torn record, a journal set aside."""
    read_only: str | None
    """Why nothing can be edited; None where it can."""

    @classmethod
    def open(cls, path: PathLike, *, new: bool = False) -> Document:
        """Open a file, and do again what its journal has beyond it. ``new``: the file is made, and may not be there yet."""
        raise NotImplementedError

    def close(self) -> None:
        """Let go of the file (what was not saved stays in the journal)."""

    def __enter__(self) -> Document:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- reading

    def __len__(self) -> int:
        """The number of sentences."""
        raise NotImplementedError

    def block(self, number: int) -> bytes:
        """The bytes of a sentence as they are now; numbers from 0."""
        raise NotImplementedError

    def block_version(self, number: int) -> str:
        """A digest of the bytes of a sentence: what ``edit`` takes as ``version_of_block``."""
        raise NotImplementedError

    def sentence(self, number: int) -> Sentence:
        """A sentence as it is now, of a treebank of its own (read with ``strict=False``)."""
        raise NotImplementedError

    def batches(self, *, batch_bytes: int = 1 << 20) -> Iterator[tuple[int, Treebank]]:
        """Everything as it is now, in treebanks of about so many bytes, each with the number of its first sentence."""
        raise NotImplementedError

    def treebank(self) -> Treebank:
        """Everything as it is now, in one treebank (read with ``strict=False``)."""
        raise NotImplementedError

    @property
    def problems(self) -> list[Problem]:
        """What was wrong with the file when it was opened: the first thousand problems."""
        raise NotImplementedError

    # ---- editing

    def edit(
        self,
        number: int,
        edits: Sequence[Edit],
        *,
        version_of_block: str | None = None,
        told: str = "",
    ) -> Change | None:
        """Edit one sentence: one step of undo; None if nothing changed."""
        raise NotImplementedError

    def edit_many(self, edits: Mapping[int, Sequence[Edit]], told: str) -> Change | None:
        """Edit several sentences: one step of undo, all or none."""
        raise NotImplementedError

    def split_sentence(self, number: int, before_row: str, *, version_of_block: str | None = None) -> Change:
        """The words from ``before_row`` on become the next sentence; arcs between the two are open."""
        raise NotImplementedError

    def join_sentences(self, number: int, *, version_of_block: str | None = None) -> Change:
        """A sentence and the next become one; the roots of the second are open."""
        raise NotImplementedError

    def insert_sentences(self, number: int, data: bytes, *, told: str = "") -> Change:
        """Put the sentences of CoNLL-U text before sentence ``number`` (``len(document)``: at the end)."""
        raise NotImplementedError

    def remove_sentence(self, number: int, *, version_of_block: str | None = None) -> Change:
        """Take a sentence out."""
        raise NotImplementedError

    @property
    def can_undo(self) -> bool:
        """Whether there is something to undo."""
        raise NotImplementedError

    @property
    def can_redo(self) -> bool:
        """Whether there is something to redo."""
        raise NotImplementedError

    def undo(self) -> Change | None:
        """Take the last step back; None if there is none."""
        raise NotImplementedError

    def redo(self) -> Change | None:
        """Do again what was undone last; None if there is none."""
        raise NotImplementedError

    # ---- the file

    @property
    def saved(self) -> bool:
        """Whether the file has every edit (otherwise the journal has them, safe too)."""
        raise NotImplementedError

    def save(self) -> None:
        """Write the file, whole or not at all. ``ChangedOnDisk`` if another program wrote it meanwhile."""
        raise NotImplementedError

    def state_on_disk(self) -> Literal["same", "changed", "gone"]:
        """Whether the file is as it was when it was opened or saved last. Cheap: it is read only if its time or size differ."""
        raise NotImplementedError

    def take_in_changes(self) -> Taken:
        """Merge what another program did to the file with what was edited here: one step of undo."""
        raise NotImplementedError
