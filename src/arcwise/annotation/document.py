"""``AnnotationDocument``: a CoNLL-U file under annotation, with a journal, undo and atomic saving."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal

from arcwise.annotation.authorship import signature
from arcwise.annotation.changes import DocumentChange, PreparedEdit, Splice, Splices, difference, inverse
from arcwise.annotation.external_changes import ExternalMerge, merged_blocks
from arcwise.annotation.journal import History, Record, compacted, file_record, parts_of
from arcwise.annotation.recovery import OpenedDocument, Stamp, open_parts, read_snapshot, stamp_of
from arcwise.annotation.store import Blocks, Fingerprint, Hasher, block_digest, fingerprint
from arcwise.deprecation import renamed
from arcwise.errors import InputError
from arcwise.treebanks import Problem, Sentence, Treebank, open_output
from arcwise.treebanks.edits import Edit, edited, join_blocks, split_block
from arcwise.treebanks.edits.edited_sentence import check_readable
from arcwise.treebanks.files import PathLike, path_kind
from arcwise.treebanks.rows import BOM

__all__ = [
    "AnnotationDocument",
    "ChangedMeanwhile",
    "ChangedOnDisk",
    "DocumentChange",
    "ExternalMerge",
    "PreparedEdit",
    "Splice",
]
_LARGE_JOURNAL = 1 << 20
"""Journals below this size are not compacted: rewriting them is not worth a disk write."""


class ChangedMeanwhile(InputError):
    """The sentence has changed since the caller read it; ``block`` is its current version."""

    def __init__(self, message: str, block: bytes = b"") -> None:
        super().__init__(message)
        self.block = block


class ChangedOnDisk(InputError):
    """Another program changed the file, which is not overwritten; call ``merge_external_changes``."""


class AnnotationDocument:
    """A file under annotation. Thread-safe; only one process at a time can open a file.

    An edit is in the journal (``FILE.journal``), flushed to disk, before ``edit`` returns, and is recovered
    from there when the file is opened again, however the process ended. ``save`` writes the file itself. Undo
    history survives saving, closing and reopening.
    """

    def __init__(self, opened: OpenedDocument) -> None:
        """Use ``open``."""
        self.path = opened.path
        self.stem = opened.path
        """The path that names of files made for the document begin with, such as its model."""
        self.clock: Callable[[], int] = time.time_ns
        """The time of a change, which its record in the journal has."""
        self.version = 0
        """Incremented with each change, including undo and redo."""
        self.notices = tuple(opened.notices)
        """Messages from opening, for example that edits were recovered from the journal."""
        self.read_only = opened.read_only
        """Why the file cannot be edited; None if it can."""
        self._guard = threading.RLock()  # reentrant: public methods call each other
        self._saving = threading.RLock()
        """Held while the file is read or written; always acquired before ``_guard``, to avoid deadlocks."""
        self._journal, self._history, self._saved_at = opened.journal, opened.history, opened.saved_at
        self._blocks = opened.blocks
        # Blocks share the snapshot but have separate lists, because edits change the current one.
        self._on_disk(opened.blocks.snapshot.fingerprint, opened.stamp, Blocks(opened.blocks.snapshot))
        self._problems = opened.blocks.snapshot.problems

    def _on_disk(self, file: Fingerprint, stamp: Stamp | None, blocks: Blocks) -> None:
        """Record the contents of the file on disk."""
        self._file, self._stamp, self._base = file, stamp, Blocks(blocks.snapshot, list(blocks.places))

    @classmethod
    def open(cls, path: PathLike, *, new: bool = False) -> AnnotationDocument:
        """Open a file and recover unsaved edits from its journal.

        ``new``: create the file, which must not exist.
        """
        return cls(open_parts(path, new=new))

    def close(self) -> None:
        """Release the file. Unsaved edits stay in the journal; an empty journal is deleted."""
        with self._saving, self._guard:
            empty = self.saved and not self.can_undo and not self.can_redo
            self._journal.close(remove=empty)
            self._blocks.snapshot.close()

    def __enter__(self) -> AnnotationDocument:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        """The number of sentences."""
        return len(self._blocks)

    def block(self, number: int) -> bytes:
        """The current bytes of a sentence; numbers start at 0."""
        with self._guard:
            self._check_number(number)
            return self._blocks[number]

    def block_version(self, number: int) -> str:
        """A digest of the bytes of a sentence, to pass to ``edit`` as ``version_of_block``."""
        return block_digest(self.block(number))

    def sentence(self, number: int) -> Sentence:
        """The current sentence, as a treebank of one sentence (read with ``strict=False``)."""
        # Not strict: a sentence with errors must be shown so that it can be corrected.
        return Treebank(self.block(number), source=str(self.path), strict=False)[0]

    def source(self, number: int) -> str:
        """The path of the file of a sentence."""
        self._check_number(number)
        return str(self.path)

    def file_name(self, number: int) -> None:
        """The name of the file of a sentence in a project; a single file has none."""
        self._check_number(number)

    def first_line(self, number: int) -> int:
        """The line, from 1, at which a sentence begins; takes time linear in its position."""
        with self._guard:
            self._check_number(number)
            before = Blocks(self._blocks.snapshot, self._blocks.places[:number])
            return 1 + sum(data.count(b"\n") for _, data in before.pieces())

    def batches(self, *, batch_bytes: int = 1 << 20) -> Iterator[tuple[int, Treebank]]:
        """The current contents in treebanks of about ``batch_bytes``, each with its first sentence number."""
        with self._guard:
            now = Blocks(self._blocks.snapshot, list(self._blocks.places))
        for first, data in now.pieces(batch_bytes):
            yield first, Treebank(data, source=str(self.path), strict=False)

    def treebank(self) -> Treebank:
        """The current contents as one treebank (read with ``strict=False``)."""
        with self._guard:
            data = b"".join(data for _, data in self._blocks.pieces())
        return Treebank(data, source=str(self.path), strict=False)

    @property
    def problems(self) -> list[Problem]:
        """The first thousand problems that reading the file found."""
        return list(self._problems)

    def edit(
        self,
        number: int,
        edits: Sequence[Edit],
        *,
        version_of_block: str | None = None,
        description: str = "",
        prepared: PreparedEdit | None = None,
    ) -> DocumentChange | None:
        """Edit one sentence as one undo step; None if nothing changed.

        version_of_block: raise ``ChangedMeanwhile`` unless the sentence has this version.
        description: shown when the step is undone; by default made from the edits.
        prepared: the result of the edits, used if the sentence is still the one it was computed for.
        """
        with self._guard:
            self._check_version(number, version_of_block)
            kinds = ", ".join(dict.fromkeys(edit.kind for edit in edits))
            before = self.block(number)
            if prepared is not None and prepared.applies_to(before, edits):
                after = prepared.after
            else:
                after = self._edited(number, before, edits, many=False)
            if after == before:
                return None
            return self._commit(
                (Splice(number, (before,), (after,)),), description or f"sentence {number + 1}: {kinds}"
            )

    def edit_many(self, edits: Mapping[int, Sequence[Edit]], description: str) -> DocumentChange | None:
        """Edit several sentences as one undo step, all or none; None if nothing changed."""
        with self._guard:
            parts: list[Splice] = []
            # From the end, so that earlier numbers stay valid while the splices are applied.
            for number in sorted(edits, reverse=True):
                before = self.block(number)
                after = self._edited(number, before, edits[number], many=len(edits) > 1)
                if after != before:
                    parts.append(Splice(number, (before,), (after,)))
            return self._commit(tuple(parts), description) if parts else None

    def check_edits(self, number: int, edits: Sequence[Edit]) -> None:
        """Raise ``InputError`` if edits are impossible; changes nothing."""
        self._edited(number, self.block(number), edits, many=True)

    def _edited(self, number: int, block: bytes, edits: Sequence[Edit], *, many: bool) -> bytes:
        try:
            return edited(block, edits)
        except InputError as error:
            raise InputError(f"sentence {number + 1}: {error}") from None if many else error

    def split_sentence(
        self, number: int, before_row: str, *, version_of_block: str | None = None
    ) -> DocumentChange:
        """Split a sentence before a row; arcs between the two parts are cleared."""
        with self._guard:
            self._check_version(number, version_of_block)
            block = self.block(number)
            parts = (Splice(number, (block,), split_block(block, before_row)),)
            return self._commit(parts, f"sentence {number + 1}: split before {before_row}")

    def join_sentences(self, number: int, *, version_of_block: str | None = None) -> DocumentChange:
        """Join a sentence with the next one; the roots of the second are cleared."""
        with self._guard:
            self._check_version(number, version_of_block)
            if number + 1 == len(self):
                raise InputError(f"sentence {number + 1}: is the last one; there is no next sentence to join")
            two = (self.block(number), self.block(number + 1))
            return self._commit(
                (Splice(number, two, (join_blocks(*two),)),),
                f"sentences {number + 1} and {number + 2}: joined",
            )

    def insert_sentences(self, number: int, data: bytes, *, description: str = "") -> DocumentChange:
        """Insert sentences (CoNLL-U) before sentence ``number``, or at the end (``len(document)``)."""
        with self._guard:
            if not 0 <= number <= len(self):
                raise InputError(f"sentence: found {number}, expected 0..{len(self)}")
            # Strict, unlike reading the file: pasted text must be correct.
            added = [sentence.conllu_bytes for sentence in Treebank(data, source="<inserted>")]
            if not added:
                raise InputError("the text has no sentence; expected CoNLL-U")
            part = Splice(number, (), tuple(added))
            if number == len(self) > 0:  # the last sentence may lack its blank line
                last = self.sentence(number - 1)
                mark = BOM if last.source_bytes.startswith(BOM) else b""
                closed = mark + last.conllu_bytes
                if closed != last.source_bytes:
                    part = Splice(number - 1, (last.source_bytes,), (closed, *added))
            elif len(self) and self.block(0).startswith(BOM) and number == 0:
                # A byte order mark belongs to the file, not to a sentence: it stays at the start.
                first = self.block(0)
                part = Splice(
                    0,
                    (first,),
                    (BOM + added[0], *added[1:], first.removeprefix(BOM)),
                )
            return self._commit(
                (part,), description or f"{len(added)} sentence{'s' * (len(added) > 1)} added"
            )

    def remove_sentence(self, number: int, *, version_of_block: str | None = None) -> DocumentChange:
        """Remove a sentence."""
        with self._guard:
            self._check_version(number, version_of_block)
            return self._commit(
                (Splice(number, (self.block(number),), ()),), f"sentence {number + 1}: removed"
            )

    def _check_number(self, number: int) -> None:
        if not 0 <= number < len(self):
            raise InputError(f"sentence: found {number}, expected 0..{len(self) - 1}")

    def _check_version(self, number: int, version: str | None) -> None:
        block = self.block(number)
        if version is not None and version != block_digest(block):
            raise ChangedMeanwhile(f"sentence {number + 1}: was changed in the meantime; reload it", block)

    def _check_writable(self) -> None:
        if self.read_only is not None:
            raise InputError(self.read_only)

    def _commit(self, parts: Splices, description: str) -> DocumentChange:
        """Write a change to the journal, then apply it."""
        self._check_writable()
        # Before the journal: a change that would make the file unreadable must leave no trace.
        for part in parts:
            self._check_neighbours(part)
        return self._record(
            {
                "kind": "do",
                "parts": [part.to_json() for part in parts],
                "told": description,
                "time": self.clock(),
                **signature(),
            },
            parts,
            description,
        )

    def _check_neighbours(self, part: Splice) -> None:
        """Check that neighbours still read as before: a sentence may lack its final blank line."""
        stop = part.first + len(part.before)
        left = b"".join(self._blocks.run(max(part.first - 1, 0), part.first))
        right = b"".join(self._blocks.run(stop, min(stop + 1, len(self))))
        before, after = (left + b"".join(blocks) + right for blocks in (part.before, part.after))
        check_readable(before, after, added=len(part.after) - len(part.before))

    def _record(self, record: Record, parts: Splices, description: str) -> DocumentChange:
        self._append(record)  # first: nothing is shown that is not on disk
        self._blocks.apply(parts)
        self.version += 1
        return DocumentChange(self.version, parts, description)

    def _append(self, record: Record) -> None:
        if self._journal.size:
            place = self._journal.append(record)
        else:
            start = file_record("start", self._file, len(self._base))
            # Both records in one write: a start alone would be a journal without edits.
            place = self._journal.append(start, record)
            self._history.follow(0, start)
        self._history.follow(place, record)

    def latest_steps(self, count: int) -> list[Record]:
        """The latest steps that are in effect, newest first: ``{description, time, by}``, where known."""
        with self._guard:
            records = [self._journal.read(place) for place in reversed(self._history.done[-count:])]
        return [
            {"description": record.get("told"), "time": record.get("time"), "by": record.get("by")}
            for record in records
        ]

    @property
    def can_undo(self) -> bool:
        """Whether there is a step to undo."""
        return bool(self._history.done)

    @property
    def can_redo(self) -> bool:
        """Whether there is a step to redo."""
        return bool(self._history.undone)

    @property
    def last_done(self) -> int:
        """The time of the step that ``undo`` would undo; 0 if there is none, or if it is not recorded."""
        return self._history.times.get(self._history.top, 0)

    @property
    def last_undone(self) -> int:
        """The time of the step that ``redo`` would redo; 0 if there is none, or if it is not recorded."""
        undone = self._history.undone
        return self._history.times.get(undone[-1], 0) if undone else 0

    def undo(self) -> DocumentChange | None:
        """Undo the last step; None if there is none."""
        with self._guard:
            self._check_writable()
            if not self.can_undo:
                return None
            record = self._journal.read(self._history.done[-1])
            return self._record({"kind": "undo"}, inverse(parts_of(record)), record["told"])

    def redo(self) -> DocumentChange | None:
        """Redo the step undone last; None if there is none."""
        with self._guard:
            self._check_writable()
            if not self.can_redo:
                return None
            record = self._journal.read(self._history.undone[-1])
            return self._record({"kind": "redo"}, parts_of(record), record["told"])

    @property
    def saved(self) -> bool:
        """Whether the file has every edit; the journal has them in any case."""
        return self._history.top == self._saved_at

    def save(self) -> None:
        """Write the file atomically, without blocking edits.

        Raises ``ChangedOnDisk`` if another program wrote it.
        """
        self._check_writable()
        with self._saving:
            # By contents: time and size alone may be equal after a change within the clock's resolution.
            state = self._state(thorough=True)
            if state == "changed":
                raise ChangedOnDisk(
                    f"{self.path}: was changed by another program; merge its changes before saving"
                )
            with self._guard:
                if self.saved and state == "same":
                    return
                # A copy of the list, not of the sentences: edits can continue while it is written.
                now = Blocks(self._blocks.snapshot, list(self._blocks.places))
                place = {"after": self._journal.size, "top": self._history.top}
            self._write(now, place)

    def _write(self, now: Blocks, place: Record) -> None:
        hasher = Hasher()
        with open_output(self.path, durable=True) as out:
            for _, data in now.pieces():
                hasher.add(data)
                out.write(data)
            # Before the rename: after a crash the file may be the old or the new one, and the journal must
            # know both.
            with self._guard:
                self._append(file_record("saving", hasher.fingerprint(), len(now)) | place)
        with self._guard:
            # Only after the rename: until then the file on disk is the old one.
            self._on_disk(hasher.fingerprint(), stamp_of(self.path), now)
            self._saved_at = place["top"]
            self._append({"kind": "saved"})
            if self.saved:
                self._compact()

    def _compact(self) -> None:
        """Drop records that can no longer be undone or redone, once they are most of the journal."""
        if self._journal.size < _LARGE_JOURNAL:
            return
        records = compacted(self._journal, self._history)
        # Rewriting flushes the whole journal: only worth it if that halves its size.
        if self._journal.length(records) < self._journal.size // 2:
            self._journal.rewrite(records)
            self._history = History.of(self._journal)
            self._saved_at = self._history.top

    def state_on_disk(self) -> Literal["same", "changed", "gone"]:
        """Whether the file is as last opened or saved.

        Cheap: it is read only if its time or size has changed.
        """
        if not self._saving.acquire(blocking=False):
            return "same"  # it is being saved here, after a check
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
        # A new modification time with the same contents is not a change; the new stamp avoids reading the
        # file again.
        if fingerprint(self.path) != self._file:
            return "changed"
        self._stamp = stamp
        return "same"

    def take_in_changes(self) -> ExternalMerge:
        """Deprecated name of ``merge_external_changes``."""
        warnings.warn("take_in_changes is now merge_external_changes", DeprecationWarning, stacklevel=2)
        return self.merge_external_changes()

    def merge_external_changes(self) -> ExternalMerge:
        """Merge another program's changes of the file with the edits made here, as one undo step.

        Reads the whole file into memory.
        """
        with self._saving, self._guard:
            self._check_writable()
            # Read whole: both sides are aligned and merged sentence by sentence.
            stamp, snapshot = read_snapshot(self.path, beside=True)
            if snapshot.fingerprint == self._file:
                self._stamp = stamp
                return ExternalMerge(None, ())
            if not len(snapshot):
                raise InputError(f"{self.path}: has no sentences any more; nothing was merged")
            new = Blocks(snapshot)
            theirs, mine = new.all(), self._blocks.all()
            merged, conflicts = (theirs, ()) if self.saved else merged_blocks(self._base.all(), mine, theirs)
            parts, rest = difference(mine, merged), difference(theirs, merged)
            description = "changes of another program merged"
            record = file_record("taken", snapshot.fingerprint, len(snapshot))
            record |= {
                "to": [p.to_json() for p in rest],
                "parts": [p.to_json() for p in parts],
                "told": description,
                "time": self.clock(),
            }
            # Journal first, as for every edit: a crash afterwards restores the merge from it.
            self._append(record)
            new.apply(rest)
            self._blocks, self._problems = new, snapshot.problems
            self._on_disk(snapshot.fingerprint, stamp, Blocks(snapshot))
            self._saved_at = None if rest else self._history.top
            if not parts:
                return ExternalMerge(None, conflicts)
            self.version += 1
            return ExternalMerge(DocumentChange(self.version, parts, description), conflicts)


__getattr__ = renamed(__name__, {"Document": "arcwise.annotation.document:AnnotationDocument"})
