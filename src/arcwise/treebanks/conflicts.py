"""Conflicts of a merge: what two people wrote in one place. The sentence keeps what is mine and tells theirs in comments.

``# conflict = PLACE theirs=VALUE``; a PLACE is a row and a column (``3 head``), a comment by its key (``comment text``) or the whole
``sentence``, of which each line has a comment of its own. Nothing after ``theirs=``: they removed it. ``# conflict = sentence mine=``: the
sentence is theirs, I had removed it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from arcwise.errors import InputError
from arcwise.treebanks.blocks import BOM, SentenceBlock, key_and_value

Side = Literal["mine", "theirs"]

_RECORD = re.compile(rb"#\s*conflict\s*=\s*([^=]*) (mine|theirs)=(.*)", re.DOTALL)
_SENTENCE = re.compile(r"sentence(-\d+)?")


@dataclass(frozen=True)
class Conflict:
    """One place that both sides changed. ``None``: it is not there.

    ``place``: a row and a column (``3 head``), ``comment KEY``, or ``sentence``; ``kept``: whose value the file has.
    """

    sentence: int
    """Number in the merged file, from 0."""
    sent_id: str | None
    place: str
    base: str | None
    mine: str | None
    theirs: str | None
    kept: Side = "mine"

    def __str__(self) -> str:
        where = self.sent_id or f"sentence {self.sentence + 1}"
        if _SENTENCE.fullmatch(self.place):
            told = {
                (False, True): "both changed its words",
                (True, True): "removed by mine, changed by theirs",
                (False, False): "changed by mine, removed by theirs",
            }[self.mine is None, self.theirs is not None]
            return f"{where}: {told}"
        row, _, column = self.place.partition(" ")
        place = self.place if row == "comment" else f"word {row} {column.upper()}"
        return f"{where}: {place}: mine {_shown(self.mine)}, theirs {_shown(self.theirs)}, base {_shown(self.base)}"

    def to_json(self) -> dict[str, Any]:
        """All fields."""
        return asdict(self)


def _shown(value: str | None) -> str:
    return "removed" if value is None else value


@dataclass(frozen=True)
class Record:
    """A conflict as the comments of a sentence tell it. ``value``: what the ``side`` that was not kept has there; None if it removed it."""

    place: str
    side: Side
    value: bytes | None


def record_lines(record: Record) -> list[bytes]:
    r"""The comments that tell a conflict.

    >>> record_lines(Record("3 head", "theirs", b"5"))
    [b'# conflict = 3 head theirs=5']
    >>> record_lines(Record("sentence", "theirs", b"# sent_id = s1\n1\tHi"))
    [b'# conflict = sentence theirs=# sent_id = s1', b'# conflict = sentence theirs=1\tHi']
    """
    start = f"# conflict = {record.place} {record.side}=".encode()
    return [start + line for line in (record.value or b"").split(b"\n")]


def records(block: bytes) -> list[Record]:
    r"""The conflicts that the comments of a sentence tell, in order.

    >>> records(b"# conflict = 3 head theirs=5\n# conflict = 3 deprel theirs=obj\n1\tHi\n")
    [Record(place='3 head', side='theirs', value=b'5'), Record(place='3 deprel', side='theirs', value=b'obj')]
    """
    found: list[Record] = []
    for comment in SentenceBlock(block.removeprefix(BOM)).comments:
        match = _RECORD.fullmatch(comment)
        if match is None:
            continue
        place, side, value = match[1].decode("utf-8", "replace"), match[2].decode(), match[3]
        if _SENTENCE.fullmatch(place) and found and found[-1].place == place:
            found[-1] = Record(place, found[-1].side, (found[-1].value or b"") + b"\n" + value)
        else:
            found.append(Record(place, "mine" if side == "mine" else "theirs", value or None))
    return found


def with_records(comments: Sequence[bytes], new: Iterable[Record]) -> list[bytes]:
    """Comments of a sentence with conflicts told at their end; what is told already is not told again."""
    lines = list(comments)
    known = {r.place for r in records(b"\n".join([*comments, b""]))}
    for record in new:
        if _SENTENCE.fullmatch(record.place):
            place, number = record.place, 1
            while place in known:
                place, number = f"sentence-{number + 1}", number + 1
            lines += record_lines(Record(place, record.side, record.value))
        else:
            lines += [line for line in record_lines(record) if line not in lines]
    return lines


def resolved(block: bytes, place: str, take: Side) -> bytes:
    r"""The sentence with one conflict settled: its comments are gone, and where ``take`` is the side that was not kept, its value is there.

    Empty bytes if that side removed the sentence.

    >>> block = b"# conflict = 1 upos theirs=X\n1\tHi\t_\tINTJ\t_\t_\t0\troot\t_\t_\n\n"
    >>> resolved(block, "1 upos", "theirs")
    b'1\tHi\t_\tX\t_\t_\t0\troot\t_\t_\n\n'
    """
    if block.startswith(BOM):
        rest = resolved(block.removeprefix(BOM), place, take)
        return BOM + rest if rest else rest
    own = SentenceBlock(block)
    told = [record for record in records(block) if record.place == place]
    if not told:
        known = ", ".join(record.place for record in records(block)) or "none in this sentence"
        raise InputError(f"place: found {place!r}, expected that of a conflict ({known})")
    record = told[-1]
    gone = {line for r in told for line in record_lines(r)}
    comments = [line for line in own.comments if not _is_one_of(line, gone)]
    settled = own.with_lines(comments, own.row_lines)
    if take != record.side:
        return settled.data
    if _SENTENCE.fullmatch(place):
        return b"" if record.value is None else own.with_lines((), record.value.split(b"\n")).data
    row, _, column = place.partition(" ")
    if row == "comment":
        return own.with_lines(with_comment(comments, column, record.value), own.row_lines).data
    if not own.has_field(row, column):
        raise InputError(f"place: found '{row} {column}', expected a row and a column of the sentence")
    return settled.with_field(row, column, record.value or b"_").data


def _is_one_of(line: bytes, known: set[bytes]) -> bool:
    match = _RECORD.fullmatch(line)
    return match is not None and b"# conflict = %b %b=%b" % match.groups() in known


def with_comment(comments: Sequence[bytes], key: str, line: bytes | None) -> list[bytes]:
    """Comments with the first one of that key replaced by a line, or removed; a new one comes last."""
    places = [i for i, own in enumerate(comments) if key_and_value(own)[0] == key.encode()]
    new = [] if line is None else [line]
    at = places[0] if places else len(comments)
    return [*comments[:at], *new, *comments[at + bool(places) :]]
