"""Three-way merge of one sentence: rows by word and column, comments by key."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from arcwise.treebanks.alignment import carried, numbered_alike, same_rows, same_shape
from arcwise.treebanks.blocks import Fields, SentenceBlock, is_word, key_and_value
from arcwise.treebanks.columns import COLUMNS
from arcwise.treebanks.rows import DEPREL, DEPS, FEATS, FORM, HEAD, LEMMA, MISC, UPOS, XPOS

_GROUPS = ((FORM,), (LEMMA,), (UPOS,), (XPOS,), (FEATS,), (HEAD, DEPREL), (DEPS,), (MISC,))
"""Columns that are merged together: a head without its label is not an annotation."""
_Value = TypeVar("_Value")


@dataclass(frozen=True)
class RawConflict:
    """A place that both sides changed, before its sentence has a number; see ``conflicts.Conflict``."""

    place: str
    base: bytes | None
    mine: bytes | None
    theirs: bytes | None

    @classmethod
    def of_sentence(
        cls, base: SentenceBlock | None, mine: SentenceBlock | None, theirs: SentenceBlock | None
    ) -> RawConflict:
        """The conflict of a whole sentence."""
        lines = (None if block is None else b"\n".join(block.lines) for block in (base, mine, theirs))
        return cls("sentence", *lines)


@dataclass(frozen=True)
class MergedBlock:
    """The lines of a merged sentence, without line ends, and its still unrecorded conflicts."""

    comments: Sequence[bytes]
    rows: Sequence[bytes]
    conflicts: Sequence[RawConflict]


def picked(base: _Value, mine: _Value, theirs: _Value) -> _Value:
    """Take the changed version; mine if both changed."""
    return theirs if mine == base else mine


def merge_block(base: SentenceBlock | None, mine: SentenceBlock, theirs: SentenceBlock) -> MergedBlock:
    """Merge two versions of a sentence that both sides changed, or that both added (``base`` is None).

    If one side changed the words themselves, the other side's annotation is carried over to them. If that
    fails, or both changed the words, the whole sentence is one conflict.
    """
    merged = _merge_rows(base, mine, theirs)
    if merged is None:
        return MergedBlock(mine.comments, mine.row_lines, [RawConflict.of_sentence(base, mine, theirs)])
    comments, conflicts = _merge_comments(base.comments if base else (), mine.comments, theirs.comments)
    return MergedBlock(comments, [b"\t".join(row) for row in merged[0]], [*conflicts, *merged[1]])


def _merge_rows(
    base: SentenceBlock | None, mine: SentenceBlock, theirs: SentenceBlock
) -> tuple[Sequence[Fields], list[RawConflict]] | None:
    """Merge the rows by field; None if that is impossible."""
    if mine.rows == theirs.rows or (base is not None and theirs.rows == base.rows):
        return mine.rows, []
    if base is not None and mine.rows == base.rows:
        return theirs.rows, []
    # Without ten fields and unique IDs, rows cannot be merged by field.
    if not all(block.is_sound for block in (base, mine, theirs) if block is not None):
        return None
    if base is None:
        return _RowMerge(mine, theirs, mine, theirs, None).merged() if same_shape(mine, theirs) else None
    if same_shape(base, theirs):
        return _RowMerge(mine, theirs, mine, theirs, base).merged()
    if same_shape(base, mine):
        return _RowMerge(mine, theirs, theirs, mine, base).merged()
    return None


class _RowMerge:
    """Merge of rows where only ``lead`` may have changed the words; ``other`` is carried over to it."""

    def __init__(
        self,
        mine: SentenceBlock,
        theirs: SentenceBlock,
        lead: SentenceBlock,
        other: SentenceBlock,
        base: SentenceBlock | None,
    ) -> None:
        self.mine, self.theirs, self.lead, self.other, self.base = mine, theirs, lead, other, base
        self.to_lead = same_rows(other if base is None else base, lead)
        self.is_renumbered = not numbered_alike(other, self.to_lead)
        self.rows = {row[0]: list(row) for row in lead.rows}
        self.conflicts: list[RawConflict] = []
        self.taken: set[bytes] = set()
        """Rows that have taken head and label from theirs."""

    def merged(self) -> tuple[Sequence[Fields], list[RawConflict]] | None:
        for row in self.other.rows:
            base_row = row if self.base is None else self.base.by_id[row[0]]
            if self.base is not None and row == base_row:
                continue
            image = self.to_lead.get(row[0])
            if image is None or not all(self._merge(group, base_row, row, image) for group in _GROUPS):
                return None
        if not self._restore_tree():
            return None
        return [tuple(row) for row in self.rows.values()], self.conflicts

    def _merge(self, group: tuple[int, ...], base: Fields, other: Fields, image: bytes) -> bool:
        """Merge one group of columns of one row; False if its fields cannot be carried over."""
        was, new = [base[c] for c in group], [other[c] for c in group]
        present = [self.rows[image][c] for c in group]
        if self.base is not None and was == new:
            return True
        carried = [self._carried(value, c) for value, c in zip(new, group, strict=True)]
        if None in carried:
            return False
        ours = [value for value in carried if value is not None]
        before = (
            None
            if self.base is None
            else [self._carried(value, c) for value, c in zip(was, group, strict=True)]
        )
        if ours == present:
            return True
        if present == before:
            self._put(group, image, ours, by=self.other)
            return True
        mine, theirs = (present, ours) if self.lead is self.mine else (ours, present)
        if group == (MISC,) and before is not None:
            pairs = merged_pairs(before[0] or b"_", mine[0], theirs[0])
            if pairs is not None:
                self._put(group, image, [pairs], by=self.other)
                return True
        self._put(group, image, mine, by=self.mine)
        self._record_conflict(group, image, before, mine, theirs)
        return True

    def _put(self, group: tuple[int, ...], row: bytes, values: Sequence[bytes], *, by: SentenceBlock) -> None:
        for column, value in zip(group, values, strict=True):
            self.rows[row][column] = value
        if HEAD in group and by is self.theirs:
            self.taken.add(row)

    def _record_conflict(
        self,
        group: tuple[int, ...],
        row: bytes,
        before: Sequence[bytes | None] | None,
        mine: Sequence[bytes],
        theirs: Sequence[bytes],
    ) -> None:
        for at, column in enumerate(group):
            if mine[at] != theirs[at]:
                place = f"{row.decode('utf-8', 'replace')} {COLUMNS[column]}"
                self.conflicts.append(
                    RawConflict(place, None if before is None else before[at], mine[at], theirs[at])
                )

    def _carried(self, value: bytes, column: int) -> bytes | None:
        """Renumber a field to the words of ``lead``; None if it refers to a word that ``lead`` lacks."""
        return carried(value, COLUMNS[column], self.to_lead) if self.is_renumbered else value

    def _restore_tree(self) -> bool:
        """Return to my heads where the merged heads are not a tree; False if that is not possible."""
        while wrong := self._wrong_heads():
            if self.lead is not self.mine:
                return False
            for row in wrong:
                mine = self.mine.by_id[row]
                theirs = [self.rows[row][c] for c in (HEAD, DEPREL)]
                self._put((HEAD, DEPREL), row, [mine[HEAD], mine[DEPREL]], by=self.mine)
                self.taken.discard(row)
                self._record_conflict(
                    (HEAD, DEPREL), row, [mine[HEAD], mine[DEPREL]], [mine[HEAD], mine[DEPREL]], theirs
                )
        return True

    def _wrong_heads(self) -> list[bytes]:
        """Rows with a merged head that is out of range, on a cycle, or one root too many."""
        changed = self.taken if self.lead is self.mine else set(self.rows)
        heads = {row: fields[HEAD] for row, fields in self.rows.items() if is_word(row)}
        sides = [{row[0]: row[HEAD] for row in side.words} for side in (self.mine, self.theirs)]
        outside = [r for r in changed if heads.get(r, b"0") not in (b"0", b"_", *heads)]
        if self.lead is not self.mine and any(_is_broken(side) for side in sides):
            return []  # a sentence that was no tree before need not be one afterwards
        wrong = outside or [r for r in _on_cycles(heads) if r in changed]
        most = max(_roots(side) for side in sides)
        if not wrong and most and _roots(heads) > most:
            wrong = [r for r in changed if heads.get(r) == b"0"]
        return sorted(wrong, key=int)


def _roots(heads: dict[bytes, bytes]) -> int:
    return sum(head == b"0" for head in heads.values())


def _is_broken(heads: dict[bytes, bytes]) -> bool:
    return bool(_on_cycles(heads)) or any(h not in (b"0", b"_", *heads) for h in heads.values())


def _on_cycles(heads: dict[bytes, bytes]) -> list[bytes]:
    """The words on a cycle of heads."""
    on_cycle: list[bytes] = []
    seen: dict[bytes, bytes] = {}
    for start in heads:
        at = start
        while at in heads and at not in seen:
            seen[at] = start
            at = heads[at]
        if at in heads and seen[at] == start:
            first = at
            on_cycle.append(at)
            while heads[at] != first:
                at = heads[at]
                on_cycle.append(at)
    return on_cycle


def merged_pairs(base: bytes, mine: bytes, theirs: bytes) -> bytes | None:
    """Merge three versions of MISC by key; None if both changed a key, or a key is repeated.

    >>> merged_pairs(b"_", b"Gloss=x", b"SpaceAfter=No")
    b'Gloss=x|SpaceAfter=No'
    >>> merged_pairs(b"A=1", b"A=2", b"A=3") is None
    True
    """
    parts = [[] if value == b"_" else value.split(b"|") for value in (base, mine, theirs)]
    was, ours, new = ({part.partition(b"=")[0]: part for part in side} for side in parts)
    if any(len(side) != len(split) for side, split in zip((was, ours, new), parts, strict=True)):
        return None
    for key in {**was, **new}:
        if new.get(key) != was.get(key) and ours.get(key) not in (was.get(key), new.get(key)):
            return None
    changed = {key: new.get(key) for key in {**was, **new} if new.get(key) != was.get(key)}
    merged = [changed.get(key, part) for key, part in ours.items()]
    merged += [part for key, part in changed.items() if key not in ours]
    return b"|".join(part for part in merged if part is not None) or b"_"


def _merge_comments(
    base: Sequence[bytes], mine: Sequence[bytes], theirs: Sequence[bytes]
) -> tuple[Sequence[bytes], list[RawConflict]]:
    """Merge comments by key, or by line if a key is repeated; new comments keep their predecessor."""
    if theirs in (base, mine):
        return mine, []
    if mine == base:
        return theirs, []
    several = {key for side in (base, mine, theirs) for key, count in _keys(side).items() if count > 1}
    was, ours, new = (_by_key(side, several) for side in (base, mine, theirs))
    merged, conflicts = dict(ours), []
    previous: tuple[bytes, int] | None = None
    for key in {**new, **was}:
        if new.get(key) != was.get(key) and ours.get(key) != new.get(key):
            if ours.get(key) == was.get(key):
                merged = _with(merged, key, new.get(key), previous)
            elif key in ours:
                name = f"comment {key[0].decode('utf-8', 'replace')}"
                conflicts.append(RawConflict(name, was.get(key), ours[key], new.get(key)))
            else:  # removed by mine and changed by theirs: keep the text
                merged = _with(merged, key, new[key], previous)
                conflicts.append(
                    RawConflict(f"comment {key[0].decode('utf-8', 'replace')}", was.get(key), None, new[key])
                )
        previous = key if key in new else previous
    return list(merged.values()), conflicts


def _keys(comments: Sequence[bytes]) -> Counter[bytes]:
    return Counter(key_and_value(line)[0] for line in comments)


def _by_key(comments: Sequence[bytes], several: set[bytes]) -> dict[tuple[bytes, int], bytes]:
    """Comments by (key, 0); those with a repeated key by their whole line and a counter."""
    by_key: dict[tuple[bytes, int], bytes] = {}
    for line in comments:
        key = key_and_value(line)[0]
        name, number = (line, 1) if key in several else (key, 0)
        while (name, number) in by_key:
            number += 1
        by_key[name, number] = line
    return by_key


def _with(
    comments: dict[tuple[bytes, int], bytes],
    key: tuple[bytes, int],
    line: bytes | None,
    after: tuple[bytes, int] | None,
) -> dict[tuple[bytes, int], bytes]:
    """Replace a comment, remove it (None), or insert it after another."""
    if line is None:
        return {k: v for k, v in comments.items() if k != key}
    if key in comments:
        return {**comments, key: line}
    items = list(comments.items())
    at = 0 if after is None else 1 + next((i for i, (k, _) in enumerate(items) if k == after), len(items) - 1)
    return dict([*items[:at], (key, line), *items[at:]])
