"""``DocumentChange``: what one step of editing changed, as sentences before and after."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any


@dataclass(frozen=True)
class Splice:
    """Sentences that stand one after the other, before and after a change. ``first``: the number of the first, from 0."""

    first: int
    before: tuple[bytes, ...]
    after: tuple[bytes, ...]

    def to_json(self) -> dict[str, Any]:
        """For the journal; bytes that are no UTF-8 survive. What stays the same at the start and end of a sentence is told once."""
        before, after = _texts(self.before), _texts(self.after)
        if len(before) == len(after):
            return {"first": self.first, "before": before, "change": list(map(_told_once, before, after))}
        return {"first": self.first, "before": before, "after": after}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Splice:
        """The part that the journal tells."""
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
    return [block.decode("utf-8", "surrogateescape") for block in blocks]


def _blocks(texts: Iterable[str]) -> tuple[bytes, ...]:
    return tuple(text.encode("utf-8", "surrogateescape") for text in texts)


def _told_once(before: str, after: str) -> tuple[int, str, int]:
    """How many characters stay at the start, what stands in the middle then, how many stay at the end.

    >>> _told_once("a cat sat", "a dog sat")
    (2, 'dog', 4)
    """
    start = _same(before, after)
    end = _same(before[start:][::-1], after[start:][::-1])
    return start, after[start : len(after) - end], end


def _same(a: str, b: str) -> int:
    """How many characters are the same from the start on; by halving, because comparing slices is quick."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


Splices = tuple[Splice, ...]
"""From the end of the file to its start, so that numbers hold while they are applied one after the other."""


@dataclass(frozen=True)
class DocumentChange:
    """What one step changed. ``version``: that of the document afterwards."""

    version: int
    parts: Splices
    told: str

    @property
    def first(self) -> int:
        """The number of the first sentence that changed."""
        return self.parts[-1].first


def inverse(parts: Splices) -> Splices:
    """The parts that take a change back.

    >>> inverse((Splice(5, (b"x",), ()), Splice(2, (b"a",), (b"b", b"c"))))
    (Splice(first=6, before=(), after=(b'x',)), Splice(first=2, before=(b'b', b'c'), after=(b'a',)))
    """
    found: list[Splice] = []
    shift = 0
    for part in reversed(parts):
        found.append(Splice(part.first + shift, part.after, part.before))
        shift += len(part.after) - len(part.before)
    return tuple(reversed(found))


def difference(old: Sequence[bytes], new: Sequence[bytes]) -> Splices:
    """The parts that make one series of sentences the other.

    >>> difference([b"a", b"b", b"c"], [b"a", b"x", b"c", b"d"])
    (Splice(first=3, before=(), after=(b'd',)), Splice(first=1, before=(b'b',), after=(b'x',)))
    """
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    stop = 0
    while stop < min(len(old), len(new)) - start and old[-1 - stop] == new[-1 - stop]:
        stop += 1
    middle, other = old[start : len(old) - stop], new[start : len(new) - stop]
    if len(middle) == len(other):
        runs = [(i, i + 1, i, i + 1) for i in range(len(middle)) if middle[i] != other[i]]
    else:
        codes = SequenceMatcher(None, middle, other, autojunk=False).get_opcodes()
        runs = [(a, b, c, d) for tag, a, b, c, d in codes if tag != "equal"]
    return tuple(Splice(start + a, tuple(middle[a:b]), tuple(other[c:d])) for a, b, c, d in reversed(runs))
