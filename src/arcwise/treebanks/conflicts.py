"""Merge conflicts. The merged sentence keeps mine, and comments record theirs.

The format is ``# conflict = PLACE theirs=VALUE``. PLACE is a row and a column (``3 head``), a comment by its
key (``comment text``), or the whole ``sentence``, with one comment per line of it. An empty value means that
they removed it. ``# conflict = sentence mine=`` means that the sentence is theirs and mine had removed it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from arcwise.errors import InputError
from arcwise.treebanks.blocks import SentenceBlock, key_and_value
from arcwise.treebanks.rows import BOM

Side = Literal["mine", "theirs"]

_RECORD = re.compile(rb"#\s*conflict\s*=\s*([^=]*) (mine|theirs)=(.*)", re.DOTALL)
_SENTENCE = re.compile(r"sentence(-\d+)?")


@dataclass(frozen=True)
class Conflict:
    """One place that both sides changed; a version is None if it was removed there.

    place: a row and a column (``3 head``), ``comment KEY``, or ``sentence``. kept: the side whose value the
    file has.
    """

    sentence: int
    """Number of the sentence in the merged file, from 0."""
    sent_id: str | None
    place: str
    base: str | None
    mine: str | None
    theirs: str | None
    kept: Side = "mine"

    def __str__(self) -> str:
        where = self.sent_id or f"sentence {self.sentence + 1}"
        if _SENTENCE.fullmatch(self.place):
            summary = {
                (False, True): "both changed its words",
                (True, True): "removed by mine, changed by theirs",
                (False, False): "changed by mine, removed by theirs",
            }[self.mine is None, self.theirs is not None]
            return f"{where}: {summary}"
        row, _, column = self.place.partition(" ")
        place = self.place if row == "comment" else f"word {row} {column.upper()}"
        mine, theirs, base = map(_shown, (self.mine, self.theirs, self.base))
        return f"{where}: {place}: mine {mine}, theirs {theirs}, base {base}"

    def to_json(self) -> dict[str, Any]:
        """Return all fields as a JSON object."""
        return asdict(self)


def _shown(value: str | None) -> str:
    return "removed" if value is None else value


@dataclass(frozen=True)
class Record:
    """A conflict as recorded in comments: the ``value`` of the discarded ``side``, None if removed there."""

    place: str
    side: Side
    value: bytes | None


def record_lines(record: Record) -> list[bytes]:
    r"""Format a conflict as comment lines.

    >>> record_lines(Record("3 head", "theirs", b"5"))
    [b'# conflict = 3 head theirs=5']
    >>> record_lines(Record("sentence", "theirs", b"# sent_id = s1\n1\tHi"))
    [b'# conflict = sentence theirs=# sent_id = s1', b'# conflict = sentence theirs=1\tHi']
    """
    start = f"# conflict = {record.place} {record.side}=".encode()
    return [start + line for line in (record.value or b"").split(b"\n")]


def records(block: bytes) -> list[Record]:
    r"""Read the conflicts from the comments of a sentence, in order.

    >>> records(b"# conflict = 3 head theirs=5\n# conflict = 3 deprel theirs=obj\n1\tHi\n")
    [Record(place='3 head', side='theirs', value=b'5'), Record(place='3 deprel', side='theirs', value=b'obj')]
    """
    parsed: list[Record] = []
    for comment in SentenceBlock(block.removeprefix(BOM)).comments:
        match = _RECORD.fullmatch(comment)
        if match is None:
            continue
        place, side, value = match[1].decode("utf-8", "replace"), match[2].decode(), match[3]
        if _SENTENCE.fullmatch(place) and parsed and parsed[-1].place == place:
            parsed[-1] = Record(place, parsed[-1].side, (parsed[-1].value or b"") + b"\n" + value)
        else:
            parsed.append(Record(place, "mine" if side == "mine" else "theirs", value or None))
    return parsed


def with_records(comments: Sequence[bytes], new: Iterable[Record]) -> list[bytes]:
    """Append conflicts to the comments of a sentence, except those already recorded."""
    lines = list(comments)
    places = {r.place for r in records(b"\n".join([*comments, b""]))}
    for record in new:
        if _SENTENCE.fullmatch(record.place):
            place, number = record.place, 1
            while place in places:
                place, number = f"sentence-{number + 1}", number + 1
            lines += record_lines(Record(place, record.side, record.value))
        else:
            lines += [line for line in record_lines(record) if line not in lines]
    return lines


def resolved(block: bytes, place: str, take: Side) -> bytes:
    r"""Resolve one conflict: remove its comments, and use its recorded value if that is of side ``take``.

    Returns empty bytes if that side removed the sentence.

    >>> block = b"# conflict = 1 upos theirs=X\n1\tHi\t_\tINTJ\t_\t_\t0\troot\t_\t_\n\n"
    >>> resolved(block, "1 upos", "theirs")
    b'1\tHi\t_\tX\t_\t_\t0\troot\t_\t_\n\n'
    """
    if block.startswith(BOM):
        rest = resolved(block.removeprefix(BOM), place, take)
        return BOM + rest if rest else rest
    sentence = SentenceBlock(block)
    matches = [record for record in records(block) if record.place == place]
    if not matches:
        places = ", ".join(record.place for record in records(block)) or "none in this sentence"
        raise InputError(f"place: found {place!r}, expected the place of a conflict ({places})")
    record = matches[-1]
    recorded = {line for r in matches for line in record_lines(r)}
    comments = [line for line in sentence.comments if not _is_one_of(line, recorded)]
    resolved_block = sentence.with_lines(comments, sentence.row_lines)
    if take != record.side:
        return resolved_block.data
    if _SENTENCE.fullmatch(place):
        return b"" if record.value is None else sentence.with_lines((), record.value.split(b"\n")).data
    row, _, column = place.partition(" ")
    if row == "comment":
        return sentence.with_lines(with_comment(comments, column, record.value), sentence.row_lines).data
    if not sentence.has_field(row, column):
        raise InputError(f"place: found '{row} {column}', expected a row and a column of the sentence")
    return resolved_block.with_field(row, column, record.value or b"_").data


def _is_one_of(line: bytes, recorded: set[bytes]) -> bool:
    match = _RECORD.fullmatch(line)
    return match is not None and b"# conflict = %b %b=%b" % match.groups() in recorded


def with_comment(comments: Sequence[bytes], key: str, line: bytes | None) -> list[bytes]:
    """Replace the first comment with a key by a line, or remove it (None); a new comment goes last."""
    places = [i for i, comment in enumerate(comments) if key_and_value(comment)[0] == key.encode()]
    new = [] if line is None else [line]
    at = places[0] if places else len(comments)
    return [*comments[:at], *new, *comments[at + bool(places) :]]
