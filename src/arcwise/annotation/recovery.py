"""Opening a document: the file, its journal, and what the journal has beyond the file."""

from __future__ import annotations

import contextlib
import os
import re
import time
from dataclasses import dataclass, field
from pathlib import Path

from arcwise.annotation.changes import difference
from arcwise.annotation.external_changes import net_changes, rebased
from arcwise.annotation.history import History, Mark, NewerJournal, file_record, steps_after
from arcwise.annotation.journal import Journal
from arcwise.annotation.store import Blocks, Snapshot, SpliceMismatch
from arcwise.errors import InputError
from arcwise.treebanks import open_output
from arcwise.treebanks.files import PathLike, path_kind, refuse_other_encoding

Stamp = tuple[int, int, int]
_LEFT_OVER = 600


@dataclass
class OpenedDocument:
    """What a document is made of. ``saved_at``: the step that the file has everything up to; None: it never had just that."""

    path: Path
    blocks: Blocks
    journal: Journal
    history: History
    stamp: Stamp
    saved_at: int | None
    read_only: str | None
    notices: list[str] = field(default_factory=list)


def open_parts(path: PathLike, *, new: bool) -> OpenedDocument:
    """Open a file and its journal; ``InputError`` says why not."""
    real = _file(path, new=new)
    try:
        return _opened(path, real)
    except BaseException:
        if new:  # nothing is in it
            real.unlink(missing_ok=True)
        raise


def _opened(path: PathLike, real: Path) -> OpenedDocument:
    read_only = _why_read_only(real)
    journal = Journal(real, writing=read_only is None)
    try:
        stamp, snapshot = read_snapshot(real, read_only is None)
        if not len(snapshot) and snapshot.fingerprint.size:
            raise InputError(f"{path}: found no sentence, expected CoNLL-U")
        opened = OpenedDocument(real, Blocks(snapshot), journal, _history(journal), stamp, -1, read_only)
        _say_what_was_dropped(opened)
        _take_up(opened)
        if read_only is None:
            _clear_away(real)
    except BaseException:
        journal.close(remove=not journal.size)
        raise
    return opened


def _history(journal: Journal) -> History:
    try:
        return History.of(journal)
    except NewerJournal as error:
        raise InputError(
            f"{journal.path}: found {error}, expected a record that is known; it is of a newer arcwise"
        ) from None
    except (LookupError, TypeError, ValueError):
        raise InputError(
            f"{journal.path}: does not fit the file; move it away to open the file without it"
        ) from None


def _clear_away(path: Path) -> None:
    """Remove what a process left that was killed while it wrote; what is younger may still be written."""
    leftover = re.compile(re.escape(f".{path.name}") + r"(\.journal)?\.[0-9a-f]{8}\.part")
    for other in path.parent.glob(".*.part"):
        with contextlib.suppress(OSError):
            if leftover.fullmatch(other.name) and time.time() - other.stat().st_mtime > _LEFT_OVER:
                other.unlink()


def stamp_of(path: Path) -> Stamp | None:
    """What changes when a program writes a file, as far as can be seen without reading it; None if there is none."""
    try:
        found = path.stat()
    except (OSError, ValueError):
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def read_snapshot(path: Path, beside: bool) -> tuple[Stamp, Snapshot]:
    """The file as it is, and its stamp; read again if it is written meanwhile."""
    for _ in range(10):
        stamp = stamp_of(path)
        snapshot = Snapshot(path, folder=path.parent if beside else None)
        if stamp is not None and stamp == stamp_of(path):
            return stamp, snapshot
    raise InputError(f"{path}: is being written all the time, expected a file at rest")


def _file(path: PathLike, *, new: bool) -> Path:
    name = os.fspath(path)
    if name == "-":
        raise InputError("standard input cannot be edited, expected a file")
    if name.endswith((".gz", ".xz", ".zst")):
        raise InputError(f"{path}: is packed, expected a plain file; unpack it to edit it")
    real, kind = Path(os.path.realpath(name)), path_kind(name)
    if kind in ("folder", "device"):
        raise InputError(f"{path}: is a {kind}, expected a file")
    if new and kind is not None:
        raise InputError(f"{path}: is there already, expected the name of a new file")
    if kind is None and not new:
        raise InputError(f"{path}: no such file")
    if new:
        with open_output(real, durable=True):
            pass
    try:
        with real.open("rb") as stream:
            start = stream.read(4)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error
    refuse_other_encoding(start, path)
    return real


def _why_read_only(path: Path) -> str | None:
    if not os.access(path, os.W_OK):
        return f"{path}: is read-only, expected a file that can be written"
    if not os.access(path.parent, os.W_OK | os.X_OK):
        return f"{path}: is in a folder that is read-only, expected one for the journal"
    return None


def _say_what_was_dropped(opened: OpenedDocument) -> None:
    journal = opened.journal
    if journal.damaged is not None:
        opened.notices.append(
            f"{journal.path}: is damaged at byte {journal.size}; what stands before was taken up, a copy is {journal.damaged.name}"
        )
    elif journal.torn:
        opened.notices.append(
            f"{journal.path}: its last record was torn ({journal.torn} bytes) and is dropped; that edit had not been shown as saved"
        )


def _take_up(opened: OpenedDocument) -> None:
    """Do again what the journal has beyond the file."""
    history, file = opened.history, opened.blocks.snapshot.fingerprint
    if not history.marks:
        return
    mark = next((m for m in reversed(history.marks) if m.file == file), None)
    if mark is None:
        _take_up_elsewhere(opened)
        return
    try:
        for parts in steps_after(opened.journal, mark):
            opened.blocks.check(parts)
            opened.blocks.apply(parts)
    except (SpliceMismatch, LookupError, TypeError, ValueError) as error:
        raise InputError(
            f"{opened.journal.path}: does not fit the file ({error}); move it away to open the file without it"
        ) from None
    opened.saved_at = mark.top if mark.saved else None
    if history.top != opened.saved_at:
        opened.notices.append(
            f"{opened.path}: edits that were not saved were taken up from {opened.journal.path.name}"
        )


def _take_up_elsewhere(opened: OpenedDocument) -> None:
    """The file is not one that the journal knows: another program wrote it while it was closed here."""
    journal, history, mark = opened.journal, opened.history, opened.history.marks[0]
    changes = net_changes(mark.sentences, steps_after(journal, mark)) if _has_more(history, mark) else []
    if not journal.writing:
        opened.history, opened.saved_at = History(), -1
        opened.notices.append(
            f"{opened.path}: was changed by another program; {journal.path.name} was left alone"
        )
        return
    snapshot = opened.blocks.snapshot
    if not changes:
        aside = journal.set_aside()
        opened.history = History()
        opened.notices.append(
            f"{opened.path}: was changed by another program; what could be undone before is in {aside.name}"
        )
        return
    theirs = opened.blocks.all()
    found = rebased(changes, theirs)
    if found is None:
        raise InputError(
            f"{opened.path}: was changed by another program, and edits in {journal.path} that were not saved do not fit it; "
            "bring the old file back, or move the journal away"
        )
    parts = difference(theirs, found[0])
    told = f"edits taken up from {journal.path.name}"
    start = file_record("start", snapshot.fingerprint, len(snapshot))
    aside = journal.set_aside(start, {"kind": "do", "parts": [p.to_json() for p in parts], "told": told})
    opened.blocks.apply(parts)
    opened.history = History.of(journal)
    conflicts = f", {len(found[1])} in conflict (see the comments)" if found[1] else ""
    opened.notices.append(
        f"{opened.path}: was changed by another program; edits that were not saved were merged into it{conflicts}, the old journal is {aside.name}"
    )


def _has_more(history: History, mark: Mark) -> bool:
    """Whether there are steps that the file did not have."""
    return not mark.saved or history.top != mark.top
