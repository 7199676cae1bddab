"""Storage of a document's sentences: an indexed private copy of the file, and the sentences edited since.

The copy is an unnamed file in the same folder. It keeps memory bounded for treebanks of any size, and another
program that writes to the file cannot change what is being edited. It disappears with the process.
"""

from __future__ import annotations

import contextlib
import hashlib
import tempfile
import threading
import weakref
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.annotation.changes import Splices
from arcwise.errors import InputError
from arcwise.treebanks import Problem, Treebank, open_input

_PIECE = 1 << 22
MOST_PROBLEMS = 1000


@dataclass(frozen=True)
class Fingerprint:
    """Size and digest that identify the contents of a file."""

    size: int
    digest: str


class Hasher:
    """Computes the fingerprint of bytes added piece by piece."""

    def __init__(self) -> None:
        self._hash, self._size = hashlib.blake2b(digest_size=16), 0

    def add(self, data: bytes) -> None:
        """Add bytes."""
        self._hash.update(data)
        self._size += len(data)

    def fingerprint(self) -> Fingerprint:
        """The fingerprint of all bytes so far."""
        return Fingerprint(self._size, self._hash.hexdigest())


def fingerprint(path: Path) -> Fingerprint:
    """The fingerprint of a file."""
    hasher = Hasher()
    with open_input(path) as stream:
        for piece in iter(lambda: stream.read(_PIECE), b""):
            hasher.add(piece)
    return hasher.fingerprint()


def block_digest(block: bytes) -> str:
    """The version of a sentence: a digest of its bytes."""
    return hashlib.blake2b(block, digest_size=8).hexdigest()


@contextlib.contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"{path}: cannot be copied for editing ({error.strerror or error})") from error


class Snapshot:
    """The bytes of a file at one moment, with the offsets of its sentences."""

    def __init__(self, path: Path, *, folder: Path | None = None) -> None:
        """Copy and index a file; ``folder``: that of the copy (default: that of temporary files)."""
        self._guard = threading.Lock()
        hasher, index = Hasher(), _Index(str(path))
        with open_input(path) as stream, _explained(path):
            # In the folder of the file, because /tmp may be too small for a treebank, or be memory.
            self._copy: IO[bytes] = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 (closed below)
            self.close = weakref.finalize(self, self._copy.close)
            """Close the copy; also called when the snapshot is garbage-collected."""
            for piece in iter(lambda: stream.read(_PIECE), b""):
                hasher.add(piece)
                index.add(piece)
                self._copy.write(piece)
            self._copy.flush()
        self.starts: npt.NDArray[np.int64] = index.finish()
        self.problems = index.problems
        self.fingerprint = hasher.fingerprint()

    def __len__(self) -> int:
        return max(len(self.starts) - 1, 0)

    def read(self, first: int, last: int) -> bytes:
        """The bytes of the sentences first..last-1."""
        start, stop = int(self.starts[first]), int(self.starts[last])
        # One file position for all threads.
        with self._guard:
            self._copy.seek(start)
            return self._copy.read(stop - start)


class _Index:
    """Finds sentence boundaries piece by piece, with the same result as reading everything at once."""

    def __init__(self, source: str) -> None:
        self.problems: list[Problem] = []
        self._source, self._rest, self._offset, self._line, self._sentences = source, b"", 0, 1, 0
        self._starts = [np.zeros(1, np.int64)]
        self._wait = 0

    def add(self, piece: bytes) -> None:
        self._rest += piece
        if len(self._rest) >= self._wait:
            self._take(final=False)

    def finish(self) -> npt.NDArray[np.int64]:
        self._take(final=True)
        return np.concatenate(self._starts)

    def _take(self, *, final: bool) -> None:
        """Index all sentences but the last one, which may continue in the next piece."""
        whole = self._rest if final else self._rest[: self._rest.rfind(b"\n") + 1]
        layout = native.treebank_layout(whole)
        count = layout.sentence_count - (not final)
        if count > 0:
            bounds = np.asarray(layout.sentence_bytes)[: count + 1].astype(np.int64)
            self._starts.append(bounds[1:] + self._offset)
            cut = int(bounds[-1])
        else:
            cut = 0
            self._wait = 2 * len(
                self._rest
            )  # a huge sentence is indexed again and again, but not for each piece
        if layout.problems and len(self.problems) < MOST_PROBLEMS:
            self._add_problems(whole, None if final else (count, cut))
        self._sentences += max(count, 0)
        self._line += whole.count(b"\n", 0, cut)
        self._offset += cut
        self._rest = self._rest[cut:]

    def _add_problems(self, whole: bytes, taken: tuple[int, int] | None) -> None:
        """Add the problems of the ``taken`` numbers of sentences and bytes (None: of everything)."""
        treebank = Treebank(whole, source=self._source, strict=False, first_line=self._line)
        sentences, cut = taken or (len(treebank), len(whole))
        # By both: comments without words are bytes of one sentence whose problem belongs to the next, and a
        # missing blank line is a problem of one sentence at the first byte of the next.
        before = [p for p in treebank.layout.problems if taken is None or p[1] < sentences or p[2] < cut]
        problems = treebank.first_problems(min(len(before), MOST_PROBLEMS - len(self.problems)))
        self.problems += [replace(p, sentence=p.sentence + self._sentences) for p in problems]


class SpliceMismatch(Exception):
    """A change does not apply to the current sentences."""


class Blocks:
    """The current sentences: each is a number in the snapshot, or its edited bytes."""

    def __init__(self, snapshot: Snapshot, places: list[int | bytes] | None = None) -> None:
        self.snapshot = snapshot
        self.places: list[int | bytes] = list(range(len(snapshot))) if places is None else places

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, number: int) -> bytes:
        place = self.places[number]
        return self.snapshot.read(place, place + 1) if isinstance(place, int) else place

    def run(self, first: int, last: int) -> list[bytes]:
        """The sentences first..last-1."""
        return [self[number] for number in range(first, last)]

    def all(self) -> list[bytes]:
        """Every sentence."""
        return self.run(0, len(self))

    def check(self, parts: Splices) -> None:
        """Raise ``SpliceMismatch`` if a change does not apply to the current sentences."""
        for part in parts:
            last = part.first + len(part.before)
            if last > len(self) or tuple(self.run(part.first, last)) != part.before:
                raise SpliceMismatch(f"sentence {part.first + 1}")

    def apply(self, parts: Splices) -> None:
        """Apply a change."""
        for part in parts:
            self.places[part.first : part.first + len(part.before)] = part.after

    def pieces(self, size: int = 1 << 20) -> Iterator[tuple[int, bytes]]:
        """The contents in pieces of about ``size`` bytes, each with the number of its first sentence."""
        first, held, kept = 0, 0, list[bytes]()
        for number, stop in self._runs(size):
            data = self[number] if stop == number + 1 else self._stretch(number, stop)
            kept.append(data)
            held += len(data)
            if held >= size:
                yield first, b"".join(kept)
                first, held, kept = stop, 0, []
        if kept:
            yield first, b"".join(kept)

    def _stretch(self, number: int, stop: int) -> bytes:
        start, last = self.places[number], self.places[stop - 1]
        assert isinstance(start, int)
        assert isinstance(last, int)
        return self.snapshot.read(start, last + 1)

    def _runs(self, size: int) -> Iterator[tuple[int, int]]:
        """Runs of sentences that are consecutive in the snapshot, up to ``size`` bytes each."""
        starts, number = self.snapshot.starts, 0
        while number < len(self.places):
            first, stop = self.places[number], number + 1
            if isinstance(first, int):
                most = int(np.searchsorted(starts, starts[first] + size, "right"))
                while stop < len(self.places) and self.places[stop] == first + stop - number < most:
                    stop += 1
            yield number, stop
            number = stop
