"""Shards: pieces of files that are parsed and written one by one.

A shard is a run of whole records of one file. Where a file is split depends only on its bytes and the
requested size. The plan of a file is kept in the output folder, so that each file is scanned once.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from arcwise.distributed.inputs import InputFile, InputFormat
from arcwise.distributed.records import BrokenRecord, row_batches
from arcwise.errors import InputError
from arcwise.pipeline.text_fields import TextFields
from arcwise.treebanks.files import open_input, open_output

SHARD_BYTES = 1 << 20
"""Uncompressed bytes of input, about 170,000 words of English: a few seconds of work."""
_CONLLU_FACTOR = 8
"""CoNLL-U has about this many times as many bytes per word as text."""
_READ = 1 << 20
_LONGEST_RECORD = 1 << 26
"""A longer line of JSONL or sentence of CoNLL-U is split, and therefore broken; this bounds memory."""


@dataclass(frozen=True)
class Shard:
    """A piece of a file: uncompressed bytes ``start .. end-1`` (for Parquet: rows)."""

    file: InputFile
    number: int
    start: int
    end: int
    first_line: int
    """Line of the file, from 1."""
    size: int
    """Bytes to parse."""
    sha256: str
    """Hash of those bytes."""
    wanted: int = SHARD_BYTES
    """Requested size in bytes."""

    @property
    def is_large(self) -> bool:
        """Whether it is much larger than requested, because of one long record."""
        return self.size > 2 * self.wanted

    @property
    def name(self) -> str:
        """Name of its output file, without the suffix of the format.

        >>> Shard(InputFile("in/a.txt", "/in/a.txt", "a.txt", "text"), 3, 0, 10, 1, 10, "").name
        'a.txt.00003'
        """
        return f"{self.file.name}.{self.number:05d}"


@dataclass(frozen=True)
class FilePlan:
    """The shards of a file."""

    file: InputFile
    shards: tuple[Shard, ...]
    broken: tuple[BrokenRecord, ...] = ()
    """Errors of the file as a whole: it cannot be read, or not to its end."""
    stamp: tuple[int, int] = (0, 0)
    """Size and modification time of the file; while they stay the same, it is not read again."""
    cut_by: tuple[Any, ...] = ()
    """The settings that determine where it is split."""


@dataclass(frozen=True)
class PlanFile:
    """Plans the shards of a file, and caches the plan: the planning work of an ``Engine``."""

    folder: Path
    """Folder of the cached plans."""
    fields: TextFields = field(default_factory=TextFields)
    shard_bytes: int = SHARD_BYTES

    def __call__(self, file: InputFile) -> FilePlan:
        """The plan of a file, from the cache if the file has not changed."""
        path = self.folder / f"{file.name}.json"
        # The text column decides the cuts of Parquet alone; for JSONL they are lines.
        cut_by = (file.format, self.shard_bytes, self.fields.text if file.format == "parquet" else "")
        try:
            stamp = _stamp(file.absolute_path)
        except OSError as error:
            return FilePlan(file, (), (BrokenRecord(0, f"cannot be read ({error.strerror})"),))
        cached = _read_plan(path, file)
        if cached is not None and (cached.stamp, cached.cut_by) == (stamp, cut_by):
            return cached
        plan = FilePlan(file, *self._split(file), stamp, cut_by)
        path.parent.mkdir(parents=True, exist_ok=True)
        with open_output(path) as stream:
            stream.write(json.dumps(_plan_json(plan)).encode())
        return plan

    def _wanted(self, file: InputFile) -> int:
        return self.shard_bytes * (_CONLLU_FACTOR if file.format == "conllu" else 1)

    def _split(self, file: InputFile) -> tuple[tuple[Shard, ...], tuple[BrokenRecord, ...]]:
        shards: list[Shard] = []
        wanted = self._wanted(file)
        pieces = (
            _row_pieces(file, self.fields.text, wanted) if file.format == "parquet" else _pieces(file, wanted)
        )
        line = 1
        try:
            for start, end, size, lines, sha256 in pieces:
                shards.append(Shard(file, len(shards), start, end, line, size, sha256, wanted))
                line += lines
        except InputError as error:  # everything before the error is still parsed
            reason = str(error).removeprefix(f"{file.absolute_path}: ")
            return tuple(shards), (BrokenRecord(line, reason),)
        return tuple(shards), ()


_Piece = tuple[int, int, int, int, str]
"""Start, end, bytes, lines and hash."""


def _pieces(file: InputFile, size: int) -> Iterator[_Piece]:
    """Yield pieces of about ``size`` uncompressed bytes.

    If reading fails in the middle of the file, yields the whole records before that, then raises.
    """
    start, rest = 0, b""
    failure: InputError | None = None
    try:
        with open_input(file.absolute_path) as stream:
            while True:
                # At least as much as is pending, so that a record without end takes linear time.
                block = read_some(stream, max(_READ, len(rest)))
                rest += block
                while len(rest) > size:
                    end = first_end(rest, size, file.format)
                    if end is None:
                        break
                    yield _piece(start, rest[:end])
                    start, rest = start + end, rest[end:]
                if not block:
                    break
    except InputError as error:
        failure = error
    if failure is None:
        if rest:
            yield _piece(start, rest)
        return
    whole = last_end(rest, file.format)
    if whole:
        yield _piece(start, rest[:whole])
    raise failure


def read_some(stream: Any, size: int) -> bytes:
    """Read up to ``size`` bytes, at least one before the end of the file.

    ``read1`` returns the bytes decompressed before a fault; ``read`` would raise and lose them.
    """
    return bytes(stream.read1(size))


def _piece(start: int, data: bytes) -> _Piece:
    return start, start + len(data), len(data), data.count(b"\n"), hashlib.sha256(data).hexdigest()


_ENDS: dict[InputFormat, tuple[tuple[re.Pattern[bytes], int], ...]] = {
    "jsonl": ((re.compile(rb"\n"), _LONGEST_RECORD),),
    "conllu": ((re.compile(rb"\n\r?\n"), _LONGEST_RECORD),),
    "text": (
        (re.compile(rb"\n[ \t\r]*\n"), 1 << 18),
        (re.compile(rb"\n"), 1 << 16),
        (re.compile(rb"[ \t]"), 1 << 12),
        # Not inside a character of UTF-8, whose continuation bytes are 80 to bf.
        (re.compile(rb"(?=[^\x80-\xbf])"), 1 << 3),
    ),
}
"""Format → where a shard may end, in order of preference, each with the bytes searched for it. Text falls
back from paragraphs to lines, words and characters."""


def first_end(data: bytes, size: int, format: InputFormat) -> int | None:
    """The first possible end of a shard at or after ``size``; None if more bytes are needed to decide.

    >>> first_end(b"one\\ntwo\\nthree", 5, "jsonl")
    8
    """
    for pattern, within in _ENDS[format]:
        match = pattern.search(data, max(size - 1, 0), size + within)
        if match and match.end() > 0:
            return match.end()
        if len(data) < size + within:
            return None
    return size + _ENDS[format][-1][1]


def last_end(data: bytes, format: InputFormat) -> int:
    """The last position where a record surely ends, or 0."""
    end = 0
    for match in _ENDS[format][0][0].finditer(data):
        end = match.end()
    return end


def _row_pieces(file: InputFile, column: str, size: int) -> Iterator[_Piece]:
    """Yield runs of Parquet rows whose texts have about ``size`` bytes."""
    start = end = total = 0
    digest = hashlib.sha256()
    for texts, _ in row_batches(file.absolute_path, column, None):
        for text in texts:
            data = text_bytes(text)
            digest.update(len(data).to_bytes(8, "little") + data)
            total, end = total + len(data), end + 1
            if total >= size:
                yield start, end, total, end - start, digest.hexdigest()
                start, total, digest = end, 0, hashlib.sha256()
    if end > start:
        yield start, end, total, end - start, digest.hexdigest()


def text_bytes(value: Any) -> bytes:
    """The text of a row, for hashing; values that are not text are reported when they are parsed."""
    return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else repr(value).encode()


def _stamp(path: str) -> tuple[int, int]:
    # Nanoseconds: a file may be rewritten within a second of being planned.
    status = Path(path).stat()
    return status.st_size, status.st_mtime_ns


def _plan_json(plan: FilePlan) -> dict[str, Any]:
    return {
        "shards": [[s.start, s.end, s.first_line, s.size, s.sha256, s.wanted] for s in plan.shards],
        "broken": [asdict(b) for b in plan.broken],
        "stamp": plan.stamp,
        "cut_by": plan.cut_by,
    }


def _read_plan(path: Path, file: InputFile) -> FilePlan | None:
    """Read a cached plan; None if there is none that can be read."""
    try:
        state = json.loads(path.read_text("utf-8"))
        size, time = state["stamp"]
        shards = tuple(Shard(file, number, *values) for number, values in enumerate(state["shards"]))
        broken = tuple(BrokenRecord(**values) for values in state["broken"])
        return FilePlan(file, shards, broken, (size, time), tuple(state["cut_by"]))
    except (OSError, ValueError, TypeError, KeyError):
        return None
