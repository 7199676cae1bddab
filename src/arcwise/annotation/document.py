"""``AnnotationDocument``: a CoNLL-U file that is being edited. Every edit is in the journal beside the file before it is shown."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from arcwise.annotation.changes import DocumentChange, Splice, Splices, difference, inverse
from arcwise.annotation.external_changes import ExternalMerge, merged_blocks
from arcwise.annotation.history import History, compacted, file_record, parts_of
from arcwise.annotation.journal import Record
from arcwise.annotation.recovery import OpenedDocument, Stamp, open_parts, read_snapshot, stamp_of
from arcwise.annotation.store import Blocks, Fingerprint, Hasher, block_digest, fingerprint
from arcwise.errors import InputError
from arcwise.treebanks import Problem, Sentence, Treebank, open_output
from arcwise.treebanks.edits import Edit, edited, join_blocks, split_block
from arcwise.treebanks.edits.edited_sentence import check_readable
from arcwise.treebanks.files import PathLike, path_kind

__all__ = [
    "AnnotationDocument",
    "ChangedMeanwhile",
    "ChangedOnDisk",
    "DocumentChange",
    "ExternalMerge",
    "Splice",
]
_MARK = b"\xef\xbb\xbf"
_LARGE_JOURNAL = 1 << 20


class ChangedMeanwhile(InputError):
    """The sentence is no longer the one that the caller saw; ``block`` is what it is now."""

    def __init__(self, message: str, block: bytes = b"") -> None:
        super().__init__(message)
        self.block = block


class ChangedOnDisk(InputError):
    """Another program changed the file; ``merge_external_changes`` merges, nothing is overwritten."""


class AnnotationDocument:
    """A file that is being edited. Safe to use from several threads; one process at a time has a file open.

    An edit is in the journal (``FILE.journal``), on the disk, before ``edit`` returns, and is taken up from there when the file is opened again,
    however the process ended. The file itself is written by ``save``. Undo and redo go back over saving, closing and opening.
    """

    def __init__(self, opened: OpenedDocument) -> None:
        """Use ``open``."""
        self.path = opened.path
        self.version = 0
        """One more with each change, undo and redo included."""
        self.notices = tuple(opened.notices)
        """What is worth saying after opening: edits taken up from the journal, a torn record, a journal set aside."""
        self.read_only = opened.read_only
        """Why nothing can be edited; None where it can."""
        self._guard = threading.RLock()
        self._saving = threading.RLock()
        """ExternalMerge before ``_guard`` by whoever reads or writes the file."""
        self._journal, self._history, self._saved_at = opened.journal, opened.history, opened.saved_at
        self._blocks = opened.blocks
        self._on_disk(opened.blocks.snapshot.fingerprint, opened.stamp, Blocks(opened.blocks.snapshot))
        self._problems = opened.blocks.snapshot.problems

    def _on_disk(self, file: Fingerprint, stamp: Stamp | None, blocks: Blocks) -> None:
        """What the file is known to be."""
        self._file, self._stamp, self._base = file, stamp, Blocks(blocks.snapshot, list(blocks.places))

    @classmethod
    def open(cls, path: PathLike, *, new: bool = False) -> AnnotationDocument:
        """Open a file, and do again what its journal has beyond it. ``new``: the file is made, and may not be there yet."""
        return cls(open_parts(path, new=new))

    def close(self) -> None:
        """Let go of the file. What was not saved stays in the journal; a journal with nothing in it goes."""
        with self._saving, self._guard:
            empty = self.saved and not self.can_undo and not self.can_redo
            self._journal.close(remove=empty)
            self._blocks.snapshot.close()

    def __enter__(self) -> AnnotationDocument:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- reading

    def __len__(self) -> int:
        """The number of sentences."""
        return len(self._blocks)

    def block(self, number: int) -> bytes:
        """The bytes of a sentence as they are now; numbers from 0."""
        with self._guard:
            self._check_number(number)
            return self._blocks[number]

    def block_version(self, number: int) -> str:
        """A digest of the bytes of a sentence: what ``edit`` takes as ``version_of_block``."""
        return block_digest(self.block(number))

    def sentence(self, number: int) -> Sentence:
        """A sentence as it is now, of a treebank of its own (read with ``strict=False``)."""
        return Treebank(self.block(number), source=str(self.path), strict=False)[0]

    def first_line(self, number: int) -> int:
        """The line of the file, from 1, at which a sentence begins; takes longer the later it stands."""
        with self._guard:
            self._check_number(number)
            before = Blocks(self._blocks.snapshot, self._blocks.places[:number])
            return 1 + sum(data.count(b"\n") for _, data in before.pieces())

    def batches(self, *, batch_bytes: int = 1 << 20) -> Iterator[tuple[int, Treebank]]:
        """Everything as it is now, in treebanks of about so many bytes, each with the number of its first sentence."""
        with self._guard:
            now = Blocks(self._blocks.snapshot, list(self._blocks.places))
        for first, data in now.pieces(batch_bytes):
            yield first, Treebank(data, source=str(self.path), strict=False)

    def treebank(self) -> Treebank:
        """Everything as it is now, in one treebank (read with ``strict=False``)."""
        with self._guard:
            data = b"".join(data for _, data in self._blocks.pieces())
        return Treebank(data, source=str(self.path), strict=False)

    @property
    def problems(self) -> list[Problem]:
        """What was wrong with the file when it was read: the first thousand problems."""
        return list(self._problems)

    # ---- editing

    def edit(
        self, number: int, edits: Sequence[Edit], *, version_of_block: str | None = None, told: str = ""
    ) -> DocumentChange | None:
        """Edit one sentence: one step of undo; None if nothing changed. ``ChangedMeanwhile`` if it is not as the caller saw it."""
        with self._guard:
            self._check_seen(number, version_of_block)
            what = ", ".join(dict.fromkeys(edit.kind for edit in edits))
            return self.edit_many({number: edits}, told or f"sentence {number + 1}: {what}")

    def edit_many(self, edits: Mapping[int, Sequence[Edit]], told: str) -> DocumentChange | None:
        """Edit several sentences: one step of undo, all or none; None if nothing changed."""
        with self._guard:
            parts: list[Splice] = []
            for number in sorted(edits, reverse=True):
                before = self.block(number)
                after = self._edited(number, before, edits[number], many=len(edits) > 1)
                if after != before:
                    parts.append(Splice(number, (before,), (after,)))
            return self._commit(tuple(parts), told) if parts else None

    def _edited(self, number: int, block: bytes, edits: Sequence[Edit], *, many: bool) -> bytes:
        try:
            return edited(block, edits)
        except InputError as error:
            raise InputError(f"sentence {number + 1}: {error}") from None if many else error

    def split_sentence(
        self, number: int, before_row: str, *, version_of_block: str | None = None
    ) -> DocumentChange:
        """The words from ``before_row`` on become the next sentence; arcs between the two are open."""
        with self._guard:
            self._check_seen(number, version_of_block)
            block = self.block(number)
            parts = (Splice(number, (block,), split_block(block, before_row)),)
            return self._commit(parts, f"sentence {number + 1}: split before {before_row}")

    def join_sentences(self, number: int, *, version_of_block: str | None = None) -> DocumentChange:
        """A sentence and the next become one; the roots of the second are open."""
        with self._guard:
            self._check_seen(number, version_of_block)
            if number + 1 == len(self):
                raise InputError(f"sentence {number + 1}: is the last, expected one that another follows")
            two = (self.block(number), self.block(number + 1))
            return self._commit(
                (Splice(number, two, (join_blocks(*two),)),),
                f"sentences {number + 1} and {number + 2}: joined",
            )

    def insert_sentences(self, number: int, data: bytes, *, told: str = "") -> DocumentChange:
        """Put the sentences of CoNLL-U text before sentence ``number`` (``len(document)``: at the end)."""
        with self._guard:
            if not 0 <= number <= len(self):
                raise InputError(f"sentence: found {number}, expected 0..{len(self)}")
            added = [sentence.conllu_bytes for sentence in Treebank(data, source="<inserted>")]
            if not added:
                raise InputError("found no sentence, expected CoNLL-U")
            part = Splice(number, (), tuple(added))
            if number == len(self) > 0:  # the last sentence may lack its blank line
                last = self.sentence(number - 1)
                if (
                    mark := _MARK if last.source_bytes.startswith(_MARK) else b""
                ) + last.conllu_bytes != last.source_bytes:
                    part = Splice(number - 1, (last.source_bytes,), (mark + last.conllu_bytes, *added))
            elif len(self) and self.block(0).startswith(_MARK) and number == 0:
                first = self.block(0)
                part = Splice(0, (first,), (_MARK + added[0], *added[1:], first.removeprefix(_MARK)))
            return self._commit((part,), told or f"{len(added)} sentence{'s' * (len(added) > 1)} added")

    def remove_sentence(self, number: int, *, version_of_block: str | None = None) -> DocumentChange:
        """Take a sentence out."""
        with self._guard:
            self._check_seen(number, version_of_block)
            return self._commit(
                (Splice(number, (self.block(number),), ()),), f"sentence {number + 1}: removed"
            )

    def _check_number(self, number: int) -> None:
        if not 0 <= number < len(self):
            raise InputError(f"sentence: found {number}, expected 0..{len(self) - 1}")

    def _check_seen(self, number: int, version: str | None) -> None:
        block = self.block(number)
        if version is not None and version != block_digest(block):
            raise ChangedMeanwhile(
                f"sentence {number + 1}: was changed meanwhile, expected the one that was shown", block
            )

    def _check_writable(self) -> None:
        if self.read_only is not None:
            raise InputError(self.read_only)

    def _commit(self, parts: Splices, told: str) -> DocumentChange:
        """Into the journal, then into the document."""
        self._check_writable()
        for part in parts:
            self._check_neighbours(part)
        return self._follow(
            {"kind": "do", "parts": [part.to_json() for part in parts], "told": told}, parts, told
        )

    def _check_neighbours(self, part: Splice) -> None:
        """The file is read as before around what changes: a sentence may lack the blank line before the next."""
        stop = part.first + len(part.before)
        left = b"".join(self._blocks.run(max(part.first - 1, 0), part.first))
        right = b"".join(self._blocks.run(stop, min(stop + 1, len(self))))
        before, after = (left + b"".join(blocks) + right for blocks in (part.before, part.after))
        check_readable(before, after, added=len(part.after) - len(part.before))

    def _follow(self, record: Record, parts: Splices, told: str) -> DocumentChange:
        self._append(record)
        self._blocks.apply(parts)
        self.version += 1
        return DocumentChange(self.version, parts, told)

    def _append(self, record: Record) -> None:
        if self._journal.size:
            place = self._journal.append(record)
        else:
            start = file_record("start", self._file, len(self._base))
            place = self._journal.append(start, record)
            self._history.follow(0, start)
        self._history.follow(place, record)

    @property
    def can_undo(self) -> bool:
        """Whether there is something to undo."""
        return bool(self._history.done)

    @property
    def can_redo(self) -> bool:
        """Whether there is something to redo."""
        return bool(self._history.undone)

    def undo(self) -> DocumentChange | None:
        """Take the last step back; None if there is none."""
        with self._guard:
            self._check_writable()
            if not self.can_undo:
                return None
            record = self._journal.read(self._history.done[-1])
            return self._follow({"kind": "undo"}, inverse(parts_of(record)), record["told"])

    def redo(self) -> DocumentChange | None:
        """Do again what was undone last; None if there is none."""
        with self._guard:
            self._check_writable()
            if not self.can_redo:
                return None
            record = self._journal.read(self._history.undone[-1])
            return self._follow({"kind": "redo"}, parts_of(record), record["told"])

    # ---- the file

    @property
    def saved(self) -> bool:
        """Whether the file has every edit (otherwise the journal has them, safe too)."""
        return self._history.top == self._saved_at

    def save(self) -> None:
        """Write the file, whole or not at all; edits can go on meanwhile. ``ChangedOnDisk`` if another program wrote it since."""
        self._check_writable()
        with self._saving:
            state = self._state(thorough=True)
            if state == "changed":
                raise ChangedOnDisk(
                    f"{self.path}: was changed by another program, expected it as it was; take its changes in first"
                )
            with self._guard:
                if self.saved and state == "same":
                    return
                now = Blocks(self._blocks.snapshot, list(self._blocks.places))
                place = {"after": self._journal.size, "top": self._history.top}
            self._write(now, place)

    def _write(self, now: Blocks, place: Record) -> None:
        hasher = Hasher()
        with open_output(self.path, durable=True) as out:
            for _, data in now.pieces():
                hasher.add(data)
                out.write(data)
            # Before the file takes its name: whichever of the two is there afterwards, the journal knows it.
            with self._guard:
                self._append(file_record("saving", hasher.fingerprint(), len(now)) | place)
        with self._guard:
            self._on_disk(hasher.fingerprint(), stamp_of(self.path), now)
            self._saved_at = place["top"]
            self._append({"kind": "saved"})
            if self.saved:
                self._compact()

    def _compact(self) -> None:
        """Leave out of the journal what nobody can undo or redo any more, once that is most of it."""
        if self._journal.size < _LARGE_JOURNAL:
            return
        records = compacted(self._journal, self._history)
        if self._journal.length(records) < self._journal.size // 2:
            self._journal.rewrite(records)
            self._history = History.of(self._journal)
            self._saved_at = self._history.top

    def state_on_disk(self) -> Literal["same", "changed", "gone"]:
        """Whether the file is as it was when it was opened or saved last. Cheap: it is read only if its time or size differ."""
        if not self._saving.acquire(blocking=False):
            return "same"  # being written here, after a look at it
        try:
            return self._state()
        finally:
            self._saving.release()

    def _state(self, *, thorough: bool = False) -> Literal["same", "changed", "gone"]:
        if path_kind(self.path) != "file":
            return "gone"
        stamp = stamp_of(self.path)
        if stamp == self._stamp and not thorough:
            return "same"
        if fingerprint(self.path) != self._file:
            return "changed"
        self._stamp = stamp
        return "same"

    def take_in_changes(self) -> ExternalMerge:
        """Deprecated name of ``merge_external_changes``."""
        warnings.warn("take_in_changes is now merge_external_changes", DeprecationWarning, stacklevel=2)
        return self.merge_external_changes()

    def merge_external_changes(self) -> ExternalMerge:
        """Merge what another program did to the file with what was edited here: one step of undo. All of the file is in memory for that."""
        with self._saving, self._guard:
            self._check_writable()
            stamp, snapshot = read_snapshot(self.path, beside=True)
            if snapshot.fingerprint == self._file:
                self._stamp = stamp
                return ExternalMerge(None, ())
            if not len(snapshot):
                raise InputError(
                    f"{self.path}: found no sentence any more, expected CoNLL-U; nothing was taken in"
                )
            new = Blocks(snapshot)
            theirs, mine = new.all(), self._blocks.all()
            merged, conflicts = (theirs, ()) if self.saved else merged_blocks(self._base.all(), mine, theirs)
            parts, rest = difference(mine, merged), difference(theirs, merged)
            told = "changes of another program taken in"
            record = file_record("taken", snapshot.fingerprint, len(snapshot))
            record |= {"to": [p.to_json() for p in rest], "parts": [p.to_json() for p in parts], "told": told}
            self._append(record)
            new.apply(rest)
            self._blocks, self._problems = new, snapshot.problems
            self._on_disk(snapshot.fingerprint, stamp, Blocks(snapshot))
            self._saved_at = None if rest else self._history.top
            if not parts:
                return ExternalMerge(None, conflicts)
            self.version += 1
            return ExternalMerge(DocumentChange(self.version, parts, told), conflicts)


def __getattr__(name: str) -> type[AnnotationDocument]:
    if name == "Document":
        warnings.warn(
            "arcwise.annotation.document.Document is now AnnotationDocument", DeprecationWarning, stacklevel=2
        )
        return AnnotationDocument
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
