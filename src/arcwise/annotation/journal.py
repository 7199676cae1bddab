"""``Journal``: the edits of a document in ``FILE.journal``, flushed to disk before they are shown.

One record per line: the CRC-32 of its record in eight hexadecimal digits, a space, and the record as JSON.
An incomplete last line was never shown as saved and is dropped. The journal is locked while it is open; the
system releases the lock with the process.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import secrets
import shutil
import weakref
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from arcwise.annotation.changes import Splice, Splices, inverse
from arcwise.annotation.store import Fingerprint
from arcwise.errors import InputError
from arcwise.treebanks.files import sync_folder

try:
    import fcntl
except ImportError:  # Windows, where files are not locked
    fcntl = None  # type: ignore[assignment]

Record = dict[str, Any]
_PIECE = 1 << 18
# What an interrupted first write may have left: part of a checksum and of a record.
_TORN_START = re.compile(rb"[0-9a-f]{0,8}( (\{[^\n]*)?)?")


class Locked(InputError):
    """Another process has the file open."""


def journal_path(path: Path) -> Path:
    """The path of the journal of a file."""
    return path.with_name(path.name + ".journal")


class Journal:
    """The records of one file.

    torn: number of bytes of an incomplete last record that was dropped.
    damaged: path of a copy of the journal, if it could not be read to its end.
    """

    def __init__(self, path: Path, *, writing: bool = True) -> None:
        """Open and lock the journal of a file, creating it if necessary. ``writing=False``: only read it."""
        self.path = journal_path(path)
        self.writing = writing
        self.torn = 0
        self.damaged: Path | None = None
        self._file: IO[bytes] = self._locked(path) if writing else self._readable()
        _OPEN.add(self)
        try:
            self.size = self._sound_size()
            self._drop_rest()
        except BaseException:
            self._file.close()
            raise

    def _readable(self) -> IO[bytes]:
        try:
            return self.path.open("rb", buffering=0)
        except OSError:
            # A file in a read-only folder has no journal; an empty one stands for it.
            return Path(os.devnull).open("rb", buffering=0)

    def _locked(self, path: Path) -> IO[bytes]:
        while True:
            try:
                # Unbuffered: after a failed write, nothing is left to be flushed later.
                file = self.path.open("a+b", buffering=0)
            except OSError as error:
                raise InputError(f"{self.path}: cannot be written ({error.strerror or error})") from error
            try:
                _lock(file, path)
                # The lock is on the open file, which may no longer be the one with this name.
                if os.path.samestat(os.fstat(file.fileno()), self.path.stat()):
                    return file
            except FileNotFoundError:
                pass
            except BaseException:
                file.close()
                raise
            file.close()  # another process replaced or removed the journal before the lock: try again

    def _lines(self, start: int = 0) -> Iterator[tuple[int, bytes]]:
        """The lines from an offset on, each with its offset; the last one may be incomplete."""
        at, held = start, list[bytes]()
        while piece := self._piece(at):
            at += len(piece)
            *whole, rest = piece.split(b"\n")
            for part in whole:
                line = b"".join([*held, part, b"\n"])
                held = []
                yield start, line
                start += len(line)
            held.append(rest)
        if last := b"".join(held):
            yield start, last

    def _piece(self, at: int) -> bytes:
        self._file.seek(at)
        return self._file.read(_PIECE)

    def _sound_size(self) -> int:
        """The number of bytes up to the first invalid record."""
        size = 0
        for start, line in self._lines():
            if _record(line) is None:
                break
            size = start + len(line)
        return size

    def _drop_rest(self) -> None:
        rest = b"".join(line for _, line in self._lines(self.size))
        if not rest:
            return
        # Zeros are what some file systems leave after a power cut.
        if not self.size and rest.strip(b"\0") and not (len(rest) < 4096 and _TORN_START.fullmatch(rest)):
            raise InputError(f"{self.path}: is not an arcwise journal; rename or delete it")
        self.torn = len(rest)
        if not self.writing:
            return
        # Valid records after a broken one mean that this is not a torn write: keep a copy before dropping
        # them.
        if any(_record(line + b"\n") is not None for line in rest.split(b"\n")[1:]):
            self.damaged = self._copied_as("damaged")
        self._file.truncate(self.size)
        os.fsync(self._file.fileno())

    def records(self) -> Iterator[tuple[int, Record]]:
        """All records, each with its offset."""
        for start, line in self._lines():
            if start >= self.size:
                return
            record = _record(line)
            assert record is not None
            yield start, record

    def read(self, place: int) -> Record:
        """The record at an offset."""
        _, line = next(self._lines(place), (place, b""))
        record = _record(line)
        if record is None:
            raise InputError(
                f"{self.path}: there is no record at byte {place}; did another program change the journal?"
            )
        return record

    def append(self, *records: Record) -> int:
        """Append records, all or none, and flush them to disk; returns the offset of the last one."""
        lines = [_line(record) for record in records]
        data = b"".join(lines)
        # Without a link the file is deleted: writes would succeed and vanish with the process.
        if not os.fstat(self._file.fileno()).st_nlink:
            self._put_back()
        try:
            _write(self._file, data)
            os.fsync(self._file.fileno())
            if not self.size:  # a new file survives a crash only once its folder is flushed
                sync_folder(self.path.parent)
        except OSError as error:
            with contextlib.suppress(OSError):
                # A half-written record must not precede the next one.
                self._file.truncate(self.size)
            raise InputError(
                f"{self.path}: cannot be written ({error.strerror or error}); the edit was not made"
            ) from error
        self.size += len(data)
        return self.size - len(lines[-1])

    def _put_back(self) -> None:
        """Restore a journal that another program deleted while it was open here."""
        if self.path.exists():
            raise InputError(f"{self.path}: was replaced by another program; the edit was not made")
        self.rewrite(record for _, record in self.records())

    def rewrite(self, records: Iterable[Record]) -> None:
        """Replace all records atomically; the lock is kept."""
        temporary = self.path.with_name(f".{self.path.name}.{secrets.token_hex(4)}.part")
        try:
            file = temporary.open("x+b", buffering=0)
            try:
                _lock(file, self.path)
                size = sum(_write(file, _line(record)) for record in records)
                os.fsync(file.fileno())
                temporary.replace(self.path)  # already locked, so that no other process can come between
            except BaseException:
                file.close()
                temporary.unlink(missing_ok=True)
                raise
        except OSError as error:
            raise InputError(f"{self.path}: cannot be written ({error.strerror or error})") from error
        self._file.close()
        self._file, self.size = file, size
        # The rename is on disk only once the folder is.
        sync_folder(self.path.parent)

    @staticmethod
    def length(records: Iterable[Record]) -> int:
        """The size of some records in bytes."""
        return sum(len(_line(record)) for record in records)

    def set_aside(self, *records: Record) -> Path:
        """Copy the journal under another name, and start a new one with some records."""
        target = self._copied_as("old")
        self.rewrite(records)
        return target

    def _copied_as(self, suffix: str) -> Path:
        """Copy the journal under an unused name."""
        names = (self.path.with_name(f"{self.path.name}.{suffix}{n or ''}") for n in itertools.count())
        target = next(name for name in names if not name.exists())
        shutil.copyfile(self.path, target)
        return target

    def close(self, *, remove: bool = False) -> None:
        """Close the journal; ``remove``: also delete it."""
        if remove and self.writing and not self._file.closed:
            self.path.unlink(missing_ok=True)
        self._file.close()


# Weak, so that a journal can be collected; closed ones stay harmless.
_OPEN: weakref.WeakSet[Journal] = weakref.WeakSet()


def _close_in_child() -> None:
    """Close journals in a forked child, which would otherwise hold their locks after the parent exits."""
    for journal in list(_OPEN):
        journal._file.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_in_child)


def _lock(file: IO[bytes], path: Path) -> None:
    if fcntl is None:
        return
    try:
        # Non-blocking: a second editor should fail at once instead of waiting.
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise Locked(f"{path}: is open in another arcwise annotate; close that one first") from None


def _write(file: IO[bytes], data: bytes) -> int:
    remaining = memoryview(data)
    while remaining:  # an unbuffered file may write less than it is given
        remaining = remaining[file.write(remaining) :]
    return len(data)


def _line(record: Record) -> bytes:
    text = json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogateescape")
    return b"%08x %s\n" % (zlib.crc32(text), text)


def _record(line: bytes) -> Record | None:
    """The record of a line; None if it is incomplete or damaged."""
    if len(line) < 10 or line[8:9] != b" " or not line.endswith(b"\n"):
        return None
    text = line[9:-1]
    if line[:8] != b"%08x" % zlib.crc32(text):
        return None
    try:
        record = json.loads(text.decode("utf-8", "surrogateescape"))
    except ValueError:
        return None
    return record if isinstance(record, dict) else None


FORM = 1
"""The format version, written in the first record."""


class NewerJournal(Exception):
    """A record of a newer version of arcwise."""


@dataclass(frozen=True)
class Mark:
    """A possible state of the file.

    ``parts`` turn it into the document before the records from ``after`` on.
    """

    after: int
    file: Fingerprint
    sentences: int
    parts: Splices
    top: int
    """The last step applied at that time, -1 if none."""

    @property
    def saved(self) -> bool:
        """Whether the file had every step."""
        return not self.parts


@dataclass
class History:
    """The steps of a journal, by their byte offsets: applied ones, latest last, and undone ones."""

    done: list[int] = field(default_factory=list)
    undone: list[int] = field(default_factory=list)
    times: dict[int, int] = field(default_factory=dict)
    """The time of each step in nanoseconds, where it is recorded."""
    marks: list[Mark] = field(default_factory=list)
    """Possible states of the file: the last saved one, and any that was being saved since."""

    @property
    def top(self) -> int:
        """The last applied step; -1 if there is none."""
        return self.done[-1] if self.done else -1

    @classmethod
    def of(cls, journal: Journal) -> History:
        """Read the history of a journal."""
        history = cls()
        for place, record in journal.records():
            history.follow(place, record)
        return history

    def follow(self, place: int, record: Record) -> None:
        """Update with one more record."""
        if "time" in record:
            self.times[place] = int(record["time"])
        match record["kind"]:
            case "do":
                self.done.append(place)
                self.undone.clear()  # a new step ends the redo history
            case "undo":
                self.undone.append(self.done.pop())
            case "redo":
                self.done.append(self.undone.pop())
            case "taken":
                if record["parts"]:
                    self.done.append(place)
                    self.undone.clear()
                self.marks = [self._mark(place, record)]  # the file on disk is now the other program's
            case "start":
                # An unknown version is refused: guessing would apply edits wrongly.
                if record.get("journal") != FORM:
                    raise NewerJournal(str(record.get("journal")))
                self.marks = [self._mark(place, record)]
            case "saving":  # the file is the old or the new one until "saved" follows
                self.marks.append(self._mark(place, record))
            case "saved":
                self.marks = self.marks[-1:]
            case kind:
                raise NewerJournal(str(kind))

    def _mark(self, place: int, record: Record) -> Mark:
        file = Fingerprint(record["size"], record["digest"])
        to = tuple(map(Splice.from_json, record.get("to", ())))
        after, top = record.get("after", place + 1), record.get("top", self.top)
        return Mark(after, file, record["sentences"], to, top)


def parts_of(record: Record) -> Splices:
    """The change in a record."""
    return tuple(map(Splice.from_json, record["parts"]))


def steps_after(journal: Journal, mark: Mark) -> Iterator[Splices]:
    """All changes since the file was in a state, in order; the first one starts from the file itself."""
    yield mark.parts
    history = History()
    for place, record in journal.records():
        kind, late = record["kind"], place >= mark.after
        if late and kind in ("do", "taken"):
            yield parts_of(record)
        elif late and kind == "undo":
            yield inverse(parts_of(journal.read(history.done[-1])))
        elif late and kind == "redo":
            yield parts_of(journal.read(history.undone[-1]))
        history.follow(place, record)


def file_record(kind: str, file: Fingerprint, sentences: int) -> Record:
    """A record that identifies the file as it is or is about to be."""
    form = {"journal": FORM} if kind == "start" else {}
    return {"kind": kind, **form, "size": file.size, "digest": file.digest, "sentences": sentences}


def compacted(journal: Journal, history: History) -> list[Record]:
    """The records needed for undo and redo, for a file that has every step."""
    mark = history.marks[-1]
    first = file_record("start", mark.file, mark.sentences)
    steps = [
        {"kind": "do", **{key: record[key] for key in ("parts", "told", "time", "by") if key in record}}
        for record in (journal.read(place) for place in [*history.done, *reversed(history.undone)])
    ]
    last = file_record("saving", mark.file, mark.sentences)
    return [first, *steps, *[{"kind": "undo"} for _ in history.undone], last, {"kind": "saved"}]
