"""Shards: how files are cut into pieces that are parsed and written one by one, and what is kept of each that is done.

A shard is some whole records of one file, about as large as the others. Where a file is cut depends on its bytes and the size asked for
alone. The plan of a file is kept in the output folder, so that a file is looked through once.
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
from arcwise.distributed.records import Broken, row_batches
from arcwise.errors import InputError
from arcwise.pipeline.text_fields import TextFields
from arcwise.treebanks.files import open_input, open_output

SHARD_BYTES = 1 << 20
"""Unpacked bytes of input, about 170,000 words of English: a few seconds of work."""
_CONLLU_FACTOR = 8
"""CoNLL-U has so many more bytes a word."""
_READ = 1 << 20
_LONGEST_RECORD = 1 << 26
"""A line of JSONL or a sentence of CoNLL-U that is longer is cut, and then broken."""


@dataclass(frozen=True)
class Shard:
    """A piece of a file: bytes ``start .. end-1`` when unpacked (of Parquet: rows)."""

    file: InputFile
    number: int
    start: int
    end: int
    first_line: int
    """Of the file, from 1."""
    size: int
    """Bytes to parse."""
    sha256: str
    """Of those bytes."""
    wanted: int = SHARD_BYTES
    """Bytes that it was meant to have."""

    @property
    def is_large(self) -> bool:
        """Whether it is much larger than was asked for, because of one long record."""
        return self.size > 2 * self.wanted

    @property
    def name(self) -> str:
        """What its output is called, without what tells the format.

        >>> Shard(InputFile("in/a.txt", "/in/a.txt", "a.txt", "text"), 3, 0, 10, 1, 10, "").name
        'a.txt.00003'
        """
        return f"{self.file.name}.{self.number:05d}"


@dataclass(frozen=True)
class FilePlan:
    """How a file is cut."""

    file: InputFile
    shards: tuple[Shard, ...]
    broken: tuple[Broken, ...] = ()
    """What is wrong with the file as a whole: it cannot be read, or not to its end."""
    stamp: tuple[int, int] = (0, 0)
    """Size and time of the file: as long as they stay, it is not read again."""
    cut_by: tuple[Any, ...] = ()
    """What decided where it was cut."""


@dataclass(frozen=True)
class PlanFile:
    """Cuts files, and keeps the plans: the work of planning for an ``Engine``."""

    folder: Path
    """Where plans are kept."""
    fields: TextFields = field(default_factory=TextFields)
    shard_bytes: int = SHARD_BYTES

    def __call__(self, file: InputFile) -> FilePlan:
        """The plan of a file: the one that is kept if the file is still the same, else a new one."""
        kept = self.folder / f"{file.name}.json"
        cut_by = (file.format, self.shard_bytes, self.fields.text if file.format == "parquet" else "")
        try:
            stamp = _stamp(file.place)
        except OSError as error:
            return FilePlan(file, (), (Broken(0, f"cannot be read ({error.strerror})"),))
        known = _read_plan(kept, file)
        if known is not None and (known.stamp, known.cut_by) == (stamp, cut_by):
            return known
        plan = FilePlan(file, *self._cut(file), stamp, cut_by)
        kept.parent.mkdir(parents=True, exist_ok=True)
        with open_output(kept) as stream:
            stream.write(json.dumps(_plain(plan)).encode())
        return plan

    def _wanted(self, file: InputFile) -> int:
        return self.shard_bytes * (_CONLLU_FACTOR if file.format == "conllu" else 1)

    def _cut(self, file: InputFile) -> tuple[tuple[Shard, ...], tuple[Broken, ...]]:
        shards: list[Shard] = []
        size = self._wanted(file)
        pieces = (
            _row_pieces(file, self.fields.text, size) if file.format == "parquet" else _pieces(file, size)
        )
        line = 1
        try:
            for start, end, found, lines, sha256 in pieces:
                shards.append(Shard(file, len(shards), start, end, line, found, sha256, size))
                line += lines
        except InputError as error:  # what was read before is parsed
            return tuple(shards), (Broken(line, str(error).removeprefix(f"{file.place}: ")),)
        return tuple(shards), ()


# ---- where a file is cut

_Piece = tuple[int, int, int, int, str]
"""Start, end, bytes, lines and hash."""


def _pieces(file: InputFile, size: int) -> Iterator[_Piece]:
    """Pieces of about ``size`` bytes of an unpacked file. Where reading fails in the middle, what is whole before that comes first."""
    start, rest = 0, b""
    failure: InputError | None = None
    try:
        with open_input(file.place) as stream:
            while True:
                read = read_some(stream, _READ)
                rest += read
                while len(rest) > size:
                    end = first_end(rest, size, file.format)
                    if end is None:
                        break
                    yield _piece(start, rest[:end])
                    start, rest = start + end, rest[end:]
                if not read:
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
    """At most so many bytes, at least one before the end. What can be unpacked before a fault comes before the fault."""
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
        (re.compile(rb"(?=[^\x80-\xbf])"), 1 << 3),
    ),
}
"""Format → what may end a shard, best first, and within how many bytes it is looked for."""


def first_end(data: bytes, size: int, format: InputFormat) -> int | None:
    """The first place from ``size`` on where a shard may end; None: it takes more bytes to know.

    >>> first_end(b"one\\ntwo\\nthree", 5, "jsonl")
    8
    """
    for pattern, within in _ENDS[format]:
        found = pattern.search(data, max(size - 1, 0), size + within)
        if found and found.end() > 0:
            return found.end()
        if len(data) < size + within:
            return None
    return size + _ENDS[format][-1][1]


def last_end(data: bytes, format: InputFormat) -> int:
    """The last place where a record surely ends; 0: nowhere."""
    found = 0
    for match in _ENDS[format][0][0].finditer(data):
        found = match.end()
    return found


def _row_pieces(file: InputFile, column: str, size: int) -> Iterator[_Piece]:
    """Rows of Parquet whose texts have about ``size`` bytes."""
    start = end = total = 0
    digest = hashlib.sha256()
    for texts, _ in row_batches(file.place, column, None):
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
    """The text of a row, for its hash; what is no text is told when it is parsed."""
    return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else repr(value).encode()


# ---- plans as JSON


def _stamp(path: str) -> tuple[int, int]:
    found = Path(path).stat()
    return found.st_size, found.st_mtime_ns


def _plain(plan: FilePlan) -> dict[str, Any]:
    return {
        "shards": [[s.start, s.end, s.first_line, s.size, s.sha256, s.wanted] for s in plan.shards],
        "broken": [asdict(b) for b in plan.broken],
        "stamp": plan.stamp,
        "cut_by": plan.cut_by,
    }


def _read_plan(path: Path, file: InputFile) -> FilePlan | None:
    """A plan that was kept; None where there is none that can be read."""
    try:
        kept = json.loads(path.read_text("utf-8"))
        size, time = kept["stamp"]
        shards = tuple(Shard(file, number, *values) for number, values in enumerate(kept["shards"]))
        broken = tuple(Broken(**found) for found in kept["broken"])
        return FilePlan(file, shards, broken, (size, time), tuple(kept["cut_by"]))
    except (OSError, ValueError, TypeError, KeyError):
        return None
