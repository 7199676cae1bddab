"""Three-way merge of treebanks, by sentence, word and column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from arcwise.errors import InputError
from arcwise.treebanks.alignment import same_sentences
from arcwise.treebanks.block_merging import RawConflict, merge_block, picked
from arcwise.treebanks.blocks import FileBlocks, SentenceBlock
from arcwise.treebanks.conflicts import Conflict, Record, with_records
from arcwise.treebanks.rows import BOM


@dataclass(frozen=True)
class Merged:
    """The result of a merge: the bytes of the file, and the conflicts that its comments record."""

    data: bytes
    conflicts: tuple[Conflict, ...]


def merge(base: bytes, mine: bytes, theirs: bytes) -> Merged:
    r"""Merge the changes from ``base`` to ``mine`` with those from ``base`` to ``theirs``.

    Changes to different words, or to different columns of a word, do not conflict; head and label of a word
    are one unit. The result has the sentences that one side added, removed, split, joined or moved; sentences
    without changes keep the bytes of base. Where both sides changed the same place, or both changes together
    would not be a tree, mine stays and a comment records theirs (``arcwise.treebanks.conflicts``), so that no
    annotation is lost.

    >>> row = "1\tHi\t{}\t{}\t_\t_\t0\troot\t_\t_\n\n"
    >>> versions = (row.format(*values).encode() for values in (("_", "_"), ("hi", "_"), ("_", "INTJ")))
    >>> merge(*versions).data
    b'1\tHi\thi\tINTJ\t_\t_\t0\troot\t_\t_\n\n'
    """
    if theirs in (base, mine):
        return Merged(mine, ())
    if mine == base:
        return Merged(theirs, ())
    sides = [_blocks(data, name) for data, name in ((base, "base"), (mine, "mine"), (theirs, "theirs"))]
    return _Merge(*sides).merged()


def _blocks(data: bytes, name: str) -> FileBlocks:
    blocks = FileBlocks.of(data)
    if not blocks and data.strip(BOM + b"\r\n"):
        raise InputError(f"{name}: found no sentence, expected CoNLL-U or an empty file")
    return blocks


@dataclass(frozen=True)
class _Slot:
    """One sentence of the result: its numbers in base, mine and theirs, None where it is missing."""

    base: int | None
    mine: int | None
    theirs: int | None


class _Merge:
    def __init__(self, base: FileBlocks, mine: FileBlocks, theirs: FileBlocks) -> None:
        self.base, self.mine, self.theirs = base, mine, theirs
        self.to_mine, self.to_theirs = same_sentences(base, mine), same_sentences(base, theirs)
        self.of_mine = {m: b for b, m in self.to_mine.items()}
        self.of_theirs = {t: b for b, t in self.to_theirs.items()}
        self.conflicts: list[Conflict] = []

    def merged(self) -> Merged:
        made = [merged for slot in self._order() if (merged := self._block(slot)) is not None]
        parts = [picked(self.base.mark, self.mine.mark, self.theirs.mark)]
        for number, (block, conflicts) in enumerate(made):
            parts.append(block.data if number == len(made) - 1 else block.closed)
            self._record(number, block, conflicts)
        return Merged(b"".join(parts), tuple(self.conflicts))

    def _order(self) -> list[_Slot]:
        """The order of the side that moved sentences (mine if both did), with the other's additions."""
        added = self._added_by_both()
        of_mine = [self._slot_of_mine(m, added) for m in range(len(self.mine))]
        shared = {slot.theirs: slot for slot in of_mine if slot.theirs is not None}
        of_theirs = [shared.get(t, _Slot(self.of_theirs.get(t), None, t)) for t in range(len(self.theirs))]
        if _moved(self.to_mine) or not _moved(self.to_theirs):
            return _woven(of_mine, of_theirs, other_first=False)
        return _woven(of_theirs, of_mine, other_first=True)

    def _slot_of_mine(self, m: int, added: dict[int, int]) -> _Slot:
        b = self.of_mine.get(m)
        return _Slot(b, m, added.get(m) if b is None else self.to_theirs.get(b))

    def _added_by_both(self) -> dict[int, int]:
        """New sentences of mine → new sentences of theirs with the same sent_id and words."""
        mine = [m for m in range(len(self.mine)) if m not in self.of_mine]
        theirs = [t for t in range(len(self.theirs)) if t not in self.of_theirs]
        if not mine or not theirs:
            return {}
        # Reversed, so that of several equal sentences the first one is kept.
        places = {(self.theirs[t].sent_id, self.theirs[t].forms): t for t in reversed(theirs)}
        pairs = ((m, places.pop((self.mine[m].sent_id, self.mine[m].forms), None)) for m in mine)
        return {m: t for m, t in pairs if t is not None}

    def _block(self, slot: _Slot) -> tuple[SentenceBlock, Sequence[RawConflict]] | None:
        """Merge the sentence of a slot, with its conflicts; None if it was removed."""
        base = None if slot.base is None else self.base[slot.base]
        mine = None if slot.mine is None else self.mine[slot.mine]
        theirs = None if slot.theirs is None else self.theirs[slot.theirs]
        if mine is not None and theirs is not None:
            return _merged(base, mine, theirs)
        only = mine or theirs
        if only is None or base is None:
            return None if only is None else (only, ())
        if only.lines == base.lines:  # removed by one side, unchanged by the other
            return None
        conflict = RawConflict.of_sentence(base, mine, theirs)
        return _made(only.comments, only.row_lines, [conflict], only.newline, only.tail, only.last), [
            conflict
        ]

    def _record(self, number: int, block: SentenceBlock, conflicts: Sequence[RawConflict]) -> None:
        for conflict in conflicts:
            self.conflicts.append(
                Conflict(
                    number,
                    _text(block.sent_id),
                    conflict.place,
                    _text(conflict.base),
                    _text(conflict.mine),
                    _text(conflict.theirs),
                    "theirs" if conflict.mine is None else "mine",
                )
            )


def _moved(to: dict[int, int]) -> bool:
    """Whether sentences have another order than in base."""
    places = [to[b] for b in sorted(to)]
    return any(a > b for a, b in pairwise(places))


def _woven(lead: Sequence[_Slot], other: Sequence[_Slot], *, other_first: bool) -> list[_Slot]:
    """Insert the additional sentences of ``other`` into ``lead``, before or after its own additions."""
    ours, shared = set(lead), set(lead) & set(other)
    after: dict[_Slot | None, list[_Slot]] = {}
    previous: _Slot | None = None
    for slot in other:
        if slot in ours:
            previous = slot
        else:
            after.setdefault(previous, []).append(slot)
    out: list[_Slot] = after.pop(None, []) if other_first else []
    waiting = [] if other_first else after.pop(None, [])
    for slot in lead:
        if slot in shared:
            out += waiting
            waiting = after.pop(slot, [])
        out.append(slot)
        if other_first:
            out += waiting
            waiting = []
    return out + waiting


def _merged(
    base: SentenceBlock | None, mine: SentenceBlock, theirs: SentenceBlock
) -> tuple[SentenceBlock, Sequence[RawConflict]]:
    """Merge the versions of a sentence that both sides have."""
    was = theirs if base is None else base
    if theirs.data == mine.data or (base is not None and theirs.data == base.data):
        return mine, ()
    if base is not None and mine.data == base.data:
        return theirs, ()
    newline = picked(was.newline, mine.newline, theirs.newline)
    tail = picked(was.tail, mine.tail, theirs.tail)
    last = was.last or mine.last or theirs.last
    for side, unchanged in ((mine, theirs), (theirs, mine)):
        if mine.lines == theirs.lines or (base is not None and unchanged.lines == base.lines):
            body = side.body if side.newline == newline else newline.join(side.lines)
            return SentenceBlock(body + _line_ends(tail, newline), last), ()
    block = merge_block(base, mine, theirs)
    return _made(block.comments, block.rows, block.conflicts, newline, tail, last), block.conflicts


def _made(
    comments: Sequence[bytes],
    rows: Sequence[bytes],
    conflicts: Sequence[RawConflict],
    newline: bytes,
    tail: bytes,
    last: bool,
) -> SentenceBlock:
    """Build a sentence whose comments record its conflicts."""
    recorded = with_records(
        comments,
        [
            Record(c.place, "mine", None) if c.mine is None else Record(c.place, "theirs", c.theirs)
            for c in conflicts
        ],
    )
    return SentenceBlock(newline.join([*recorded, *rows]) + _line_ends(tail, newline), last)


def _line_ends(tail: bytes, newline: bytes) -> bytes:
    return tail.replace(b"\r\n", b"\n").replace(b"\n", newline)


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode("utf-8", "replace")
