"""Taking in what another program did to a file while it was edited here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from arcwise.annotation.changes import DocumentChange, Splice, Splices, difference
from arcwise.treebanks import Treebank
from arcwise.treebanks.merging import merge

_SENT_ID = re.compile(rb"^#\s*sent_id\s*=\s*(.*?)\s*$", re.MULTILINE)


@dataclass(frozen=True)
class ExternalMerge:
    """What was taken in from the disk. ``conflicts``: as ``treebanks.merging`` tells them; mine stand, theirs are in comments."""

    change: DocumentChange | None
    conflicts: tuple[Any, ...]


def blocks_of(data: bytes) -> list[bytes]:
    """The bytes of each sentence."""
    return [sentence.source_bytes for sentence in Treebank(data, strict=False)]


def merged_blocks(
    base: Sequence[bytes], mine: Sequence[bytes], theirs: Sequence[bytes]
) -> tuple[list[bytes], tuple[Any, ...]]:
    """The sentences with what both sides did since ``base``, and the conflicts."""
    merged = merge(b"".join(base), b"".join(mine), b"".join(theirs))
    return blocks_of(merged.data), tuple(merged.conflicts)


def net_changes(sentences: int, steps: Iterable[Splices]) -> list[Splice]:
    """What some steps did together to a file of so many sentences that is no longer there; first places first.

    >>> steps = [(Splice(1, (b"a",), (b"b", b"c")),), (Splice(2, (b"c",), (b"d",)),), (Splice(0, (b"x",), (b"y",)),), (Splice(0, (b"y",), (b"x",)),)]
    >>> net_changes(3, steps)
    [Splice(first=1, before=(b'a',), after=(b'b', b'd'))]
    """
    places: list[int | bytes] = list(range(sentences))
    known: dict[int, bytes] = {}
    for parts in steps:
        for part in parts:
            stop = part.first + len(part.before)
            for place, block in zip(places[part.first : stop], part.before, strict=True):
                if isinstance(place, int):
                    known[place] = block
            places[part.first : stop] = part.after
    found: list[Splice] = []
    at, own = 0, list[bytes]()
    for place in [*places, sentences]:
        if not isinstance(place, int):
            own.append(place)
            continue
        before = [known[k] for k in range(at, place)]
        found += [Splice(at + p.first, p.before, p.after) for p in reversed(difference(before, own))]
        at, own = place + 1, []
    return found


def placed(changes: Sequence[Splice], theirs: Sequence[bytes]) -> list[Splice] | None:
    """The places of the changes in another version of the file: where the same sentences stand, else those of the same sent_id.

    ``before`` stays what was changed here, and may differ from what stands there. None if a sentence is not found.
    """
    by_bytes: dict[bytes, list[int]] = {}
    by_name: dict[bytes, list[int]] = {}
    for number, block in enumerate(theirs):
        by_bytes.setdefault(block, []).append(number)
        if name := _SENT_ID.search(block):
            by_name.setdefault(name[1], []).append(number)
    found: list[Splice] = []
    shift, least = 0, 0
    for change in changes:
        expected = change.first + shift
        at: int | None = min(max(expected, least), len(theirs))
        for k, block in enumerate(change.before):
            name = _SENT_ID.search(block)
            known = by_bytes.get(block) or (by_name.get(name[1]) if name else None) or []
            known = [n - k for n in known if n - k >= least and (k == 0 or n - k == at)]
            at = min(known, key=lambda n: abs(n - expected), default=None)
            if at is None:
                return None
        assert at is not None
        found.append(Splice(at, change.before, change.after))
        shift, least = at - change.first, at + len(change.before)
    return found


def rebased(changes: Sequence[Splice], theirs: Sequence[bytes]) -> tuple[list[bytes], tuple[Any, ...]] | None:
    """Another version of the file with changes of ours merged into it; None if they do not fit there."""
    places = placed(changes, theirs)
    if places is None:
        return None
    base, mine = list(theirs), list(theirs)
    for part in reversed(places):
        stop = part.first + len(part.before)
        base[part.first : stop], mine[part.first : stop] = part.before, part.after
    if base == list(theirs):  # they changed other sentences
        return mine, ()
    return merged_blocks(base, mine, theirs)
