"""``DocumentChange``: one editing step, as splices of sentences before and after."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from arcwise.treebanks.edits import Edit, edited


@dataclass(frozen=True)
class Splice:
    """Consecutive sentences before and after a change. ``first``: the number of the first one, from 0."""

    first: int
    before: tuple[bytes, ...]
    after: tuple[bytes, ...]

    def to_json(self) -> dict[str, Any]:
        """For the journal.

        Bytes that are not UTF-8 survive; the unchanged start and end of a sentence are stored once.
        """
        before, after = _texts(self.before), _texts(self.after)
        # Most edits touch a few characters of one sentence: storing it twice would double the journal.
        if len(before) == len(after):
            return {
                "first": self.first,
                "before": before,
                "change": list(map(_changed_middle, before, after)),
            }
        return {"first": self.first, "before": before, "after": after}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Splice:
        """Read a splice of the journal."""
        before = values["before"]
        if "change" in values:
            after = [
                old[:start] + new + old[len(old) - end :]
                for old, (start, new, end) in zip(before, values["change"], strict=True)
            ]
        else:
            after = values["after"]
        return cls(int(values["first"]), _blocks(before), _blocks(after))


def _texts(blocks: Iterable[bytes]) -> list[str]:
    # surrogateescape: a journal must restore invalid UTF-8 exactly.
    return [block.decode("utf-8", "surrogateescape") for block in blocks]


def _blocks(texts: Iterable[str]) -> tuple[bytes, ...]:
    return tuple(text.encode("utf-8", "surrogateescape") for text in texts)


def _changed_middle(before: str, after: str) -> tuple[int, str, int]:
    """Unchanged characters at the start, the new middle, unchanged characters at the end.

    >>> _changed_middle("a cat sat", "a dog sat")
    (2, 'dog', 4)
    """
    start = _common_prefix(before, after)
    end = _common_prefix(before[start:][::-1], after[start:][::-1])
    return start, after[start : len(after) - end], end


def _common_prefix(a: str, b: str) -> int:
    """The length of the common prefix, by bisection: comparing slices is faster than comparing characters."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


Splices = tuple[Splice, ...]
"""From the end of the file to its start, so that numbers stay valid while they are applied in order."""


@dataclass(frozen=True)
class DocumentChange:
    """One editing step. ``version``: that of the document afterwards; with a description."""

    version: int
    parts: Splices
    description: str

    @property
    def first(self) -> int:
        """The number of the first changed sentence."""
        return self.parts[-1].first


@dataclass(frozen=True)
class PreparedEdit:
    """Edits and their result, so that the document need not compute it again."""

    before: bytes
    edits: tuple[Edit, ...]
    after: bytes

    @classmethod
    def of(cls, block: bytes, edits: Sequence[Edit]) -> PreparedEdit:
        """Apply edits to the bytes of a sentence; ``InputError`` if they are invalid."""
        return cls(block, tuple(edits), edited(block, edits))

    def applies_to(self, block: bytes, edits: Sequence[Edit]) -> bool:
        """Whether this is the result of these edits of that sentence."""
        return self.before == block and self.edits == tuple(edits)


def inverse(parts: Splices) -> Splices:
    """The splices that undo a change.

    >>> inverse((Splice(5, (b"x",), ()), Splice(2, (b"a",), (b"b", b"c"))))
    (Splice(first=6, before=(), after=(b'x',)), Splice(first=2, before=(b'b', b'c'), after=(b'a',)))
    """
    undo: list[Splice] = []
    shift = 0
    for splice in reversed(parts):
        undo.append(Splice(splice.first + shift, splice.after, splice.before))
        shift += len(splice.after) - len(splice.before)
    return tuple(reversed(undo))


def difference(old: Sequence[bytes], new: Sequence[bytes]) -> Splices:
    """The splices that turn ``old`` into ``new``.

    >>> difference([b"a", b"b", b"c"], [b"a", b"x", b"c", b"d"])
    (Splice(first=3, before=(), after=(b'd',)), Splice(first=1, before=(b'b',), after=(b'x',)))
    """
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    stop = 0
    while stop < min(len(old), len(new)) - start and old[-1 - stop] == new[-1 - stop]:
        stop += 1
    removed, added = old[start : len(old) - stop], new[start : len(new) - stop]
    # Equally many sentences correspond by position, as after edits of fields; others are aligned.
    if len(removed) == len(added):
        runs = [(i, i + 1, i, i + 1) for i in range(len(removed)) if removed[i] != added[i]]
    else:
        # autojunk ignores frequent items in long sequences, such as repeated sentences.
        codes = SequenceMatcher(None, removed, added, autojunk=False).get_opcodes()
        runs = [(a, b, c, d) for tag, a, b, c, d in codes if tag != "equal"]
    return tuple(Splice(start + a, tuple(removed[a:b]), tuple(added[c:d])) for a, b, c, d in reversed(runs))
