"""Opening a document: reading the file and recovering unsaved edits from its journal."""

from __future__ import annotations

import contextlib
import os
import re
import time
from dataclasses import dataclass, field
from pathlib import Path

from arcwise.annotation.changes import difference
from arcwise.annotation.external_changes import net_changes, rebased
from arcwise.annotation.journal import History, Journal, NewerJournal, file_record, steps_after
from arcwise.annotation.store import Blocks, Snapshot, SpliceMismatch
from arcwise.errors import InputError
from arcwise.treebanks import open_output
from arcwise.treebanks.files import PathLike, path_kind, refuse_other_format

Stamp = tuple[int, int, int]
_LEFT_OVER = 600
"""Age in seconds from which a temporary file counts as left behind; a younger one may be in use."""


@dataclass
class OpenedDocument:
    """The parts of an opened document.

    ``saved_at``: the last step that the file has; None if it matches no step.
    """

    path: Path
    blocks: Blocks
    journal: Journal
    history: History
    stamp: Stamp
    saved_at: int | None
    read_only: str | None
    notices: list[str] = field(default_factory=list)


def open_parts(path: PathLike, *, new: bool) -> OpenedDocument:
    """Open a file and its journal; ``InputError`` if that is impossible."""
    real = _file(path, new=new)
    try:
        return _opened(path, real)
    except BaseException:
        if new:  # created above and still empty
            real.unlink(missing_ok=True)
        raise


def _opened(path: PathLike, real: Path) -> OpenedDocument:
    read_only = _why_read_only(real)
    journal = Journal(real, writing=read_only is None)  # first: its lock keeps other processes away
    try:
        stamp, snapshot = read_snapshot(real, read_only is None)
        if not len(snapshot) and snapshot.fingerprint.size:
            raise InputError(f"{path}: has no sentence; expected CoNLL-U")
        opened = OpenedDocument(real, Blocks(snapshot), journal, _history(journal), stamp, -1, read_only)
        _report_dropped_records(opened)
        _recover(opened)
        if read_only is None:
            _delete_leftovers(real)
    except BaseException:
        # An empty journal was created by this attempt and would only confuse.
        journal.close(remove=not journal.size)
        raise
    return opened


def _history(journal: Journal) -> History:
    try:
        return History.of(journal)
    except NewerJournal as error:
        raise InputError(
            f"{journal.path}: has the record {error}, which a newer version of arcwise wrote"
        ) from None
    except (LookupError, TypeError, ValueError):
        raise InputError(
            f"{journal.path}: does not match the file; rename or delete it to open the file without it"
        ) from None


def _delete_leftovers(path: Path) -> None:
    """Delete temporary files of processes that were killed while writing."""
    leftover = re.compile(re.escape(f".{path.name}") + r"(\.journal)?\.[0-9a-f]{8}\.part")
    for part in path.parent.glob(".*.part"):
        with contextlib.suppress(OSError):
            if leftover.fullmatch(part.name) and time.time() - part.stat().st_mtime > _LEFT_OVER:
                part.unlink()


def stamp_of(path: Path) -> Stamp | None:
    """Time, size and inode of a file, which change when it is written; None if there is no file."""
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def read_snapshot(path: Path, beside: bool) -> tuple[Stamp, Snapshot]:
    """A snapshot of the file and its stamp; read again if the file changes meanwhile."""
    for _ in range(10):  # a program may be writing the file in place; it ends soon, or never
        stamp = stamp_of(path)
        snapshot = Snapshot(path, folder=path.parent if beside else None)
        if stamp is not None and stamp == stamp_of(path):
            return stamp, snapshot
    raise InputError(f"{path}: keeps changing while being read")


def _file(path: PathLike, *, new: bool) -> Path:
    name = os.fspath(path)
    if name == "-":
        raise InputError("standard input cannot be edited; give a file")
    if name.endswith((".gz", ".xz", ".zst")):
        raise InputError(f"{path}: is compressed; decompress it to edit it")
    # Symbolic links are followed: journal and lock belong to the real file.
    real, kind = Path(os.path.realpath(name)), path_kind(name)
    if kind in ("folder", "device"):
        raise InputError(f"{path}: is a {kind}, expected a file")
    if new and kind is not None:
        raise InputError(f"{path}: already exists; give the name of a new file")
    if kind is None and not new:
        raise InputError(f"{path}: no such file")
    if new:
        with open_output(real, durable=True):
            pass
    try:
        with real.open("rb") as stream:
            start = stream.read(4096)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error
    refuse_other_format(start, path)
    return real


def _why_read_only(path: Path) -> str | None:
    if not os.access(path, os.W_OK):
        return f"{path}: is read-only"
    if not os.access(path.parent, os.W_OK | os.X_OK):
        return f"{path}: is in a read-only folder, which cannot hold the journal"
    return None


def _report_dropped_records(opened: OpenedDocument) -> None:
    journal = opened.journal
    if journal.damaged is not None:
        opened.notices.append(
            f"{journal.path}: is damaged at byte {journal.size}; earlier edits were recovered, a copy is "
            f"{journal.damaged.name}"
        )
    elif journal.torn:
        opened.notices.append(
            f"{journal.path}: its last record was incomplete ({journal.torn} bytes) and was dropped; "
            "that edit had not been shown as saved"
        )


def _recover(opened: OpenedDocument) -> None:
    """Apply the steps that the journal has and the file lacks."""
    history, file = opened.history, opened.blocks.snapshot.fingerprint
    if not history.marks:
        return
    # The newest first: after a crash during saving the file may be either version.
    mark = next((m for m in reversed(history.marks) if m.file == file), None)
    if mark is None:
        _recover_into_changed_file(opened)
        return
    try:
        for parts in steps_after(opened.journal, mark):
            # Checked before each step, so that a journal of another file never changes anything.
            opened.blocks.check(parts)
            opened.blocks.apply(parts)
    except (SpliceMismatch, LookupError, TypeError, ValueError) as error:
        raise InputError(
            f"{opened.journal.path}: does not match the file ({error}); "
            "rename or delete it to open the file without it"
        ) from None
    opened.saved_at = mark.top if mark.saved else None
    if history.top != opened.saved_at:
        opened.notices.append(f"{opened.path}: unsaved edits were recovered from {opened.journal.path.name}")


def _recover_into_changed_file(opened: OpenedDocument) -> None:
    """Merge unsaved edits into a file that another program changed while it was closed here."""
    journal, history, mark = opened.journal, opened.history, opened.history.marks[0]
    lacks_steps = not mark.saved or history.top != mark.top
    changes = net_changes(mark.sentences, steps_after(journal, mark)) if lacks_steps else []
    if not journal.writing:
        opened.history, opened.saved_at = History(), -1
        opened.notices.append(
            f"{opened.path}: was changed by another program; {journal.path.name} was not used"
        )
        return
    snapshot = opened.blocks.snapshot
    if not changes:  # nothing to merge, but the undo history no longer applies
        aside = journal.set_aside()
        opened.history = History()
        opened.notices.append(
            f"{opened.path}: was changed by another program; the earlier undo history is in {aside.name}"
        )
        return
    theirs = opened.blocks.all()
    merged = rebased(changes, theirs)
    if merged is None:
        raise InputError(
            f"{opened.path}: was changed by another program, "
            f"and unsaved edits in {journal.path} do not match it; "
            "restore the old file, or rename or delete the journal"
        )
    parts = difference(theirs, merged[0])
    description = f"edits recovered from {journal.path.name}"
    start = file_record("start", snapshot.fingerprint, len(snapshot))
    # The old journal is copied, not deleted, before anything is merged.
    aside = journal.set_aside(
        start, {"kind": "do", "parts": [p.to_json() for p in parts], "told": description}
    )
    opened.blocks.apply(parts)
    opened.history = History.of(journal)
    conflicts = f", with {len(merged[1])} conflicts (see the comments)" if merged[1] else ""
    opened.notices.append(
        f"{opened.path}: was changed by another program; "
        f"unsaved edits were merged into it{conflicts}, the old journal is {aside.name}"
    )
