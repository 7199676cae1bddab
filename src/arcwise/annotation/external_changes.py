"""Merging changes that another program made to a file with unsaved edits."""

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
    """The result of a merge.

    ``conflicts``: as in ``treebanks.merging``; our version is kept, theirs is in comments.
    """

    change: DocumentChange | None
    conflicts: tuple[Any, ...]


def blocks_of(data: bytes) -> list[bytes]:
    """The bytes of each sentence."""
    return [sentence.source_bytes for sentence in Treebank(data, strict=False)]


def merged_blocks(
    base: Sequence[bytes], mine: Sequence[bytes], theirs: Sequence[bytes]
) -> tuple[list[bytes], tuple[Any, ...]]:
    """The sentences with the changes of both sides since ``base``, and the conflicts."""
    merged = merge(b"".join(base), b"".join(mine), b"".join(theirs))
    return blocks_of(merged.data), tuple(merged.conflicts)


def net_changes(sentences: int, steps: Iterable[Splices]) -> list[Splice]:
    """The combined changes of some steps to a file of this many sentences, in file order.

    >>> steps = [(Splice(1, (b"a",), (b"b", b"c")),), (Splice(2, (b"c",), (b"d",)),)]
    >>> steps += [(Splice(0, (b"x",), (b"y",)),), (Splice(0, (b"y",), (b"x",)),)]
    >>> net_changes(3, steps)
    [Splice(first=1, before=(b'a',), after=(b'b', b'd'))]
    """
    places: list[int | bytes] = list(range(sentences))
    original: dict[int, bytes] = {}
    for parts in steps:
        for part in parts:
            stop = part.first + len(part.before)
            for place, block in zip(places[part.first : stop], part.before, strict=True):
                if isinstance(place, int):
                    original[place] = block
            places[part.first : stop] = part.after
    changes: list[Splice] = []
    at, inserted = 0, list[bytes]()
    for place in [*places, sentences]:
        if not isinstance(place, int):
            inserted.append(place)
            continue
        before = [original[k] for k in range(at, place)]
        changes += [Splice(at + p.first, p.before, p.after) for p in reversed(difference(before, inserted))]
        at, inserted = place + 1, []
    return changes


def placed(changes: Sequence[Splice], theirs: Sequence[bytes]) -> list[Splice] | None:
    """The positions of changes in another version of the file, found by identical sentences, else by sent_id.

    ``before`` of a splice stays what was edited here and may differ from ``theirs``. None if a sentence is
    missing there.
    """
    by_bytes: dict[bytes, list[int]] = {}
    by_name: dict[bytes, list[int]] = {}
    for number, block in enumerate(theirs):
        by_bytes.setdefault(block, []).append(number)
        if name := _SENT_ID.search(block):
            by_name.setdefault(name[1], []).append(number)
    located: list[Splice] = []
    shift, least = 0, 0
    for change in changes:
        expected = change.first + shift
        at: int | None = min(max(expected, least), len(theirs))
        for k, block in enumerate(change.before):
            name = _SENT_ID.search(block)
            matches = by_bytes.get(block) or (by_name.get(name[1]) if name else None) or []
            starts = [n - k for n in matches if n - k >= least and (k == 0 or n - k == at)]
            # Of several equal sentences the nearest to where it is expected.
            at = min(starts, key=lambda n: abs(n - expected), default=None)
            if at is None:
                return None
        assert at is not None
        located.append(Splice(at, change.before, change.after))
        shift, least = at - change.first, at + len(change.before)
    return located


def rebased(changes: Sequence[Splice], theirs: Sequence[bytes]) -> tuple[list[bytes], tuple[Any, ...]] | None:
    """Another version of the file with our changes merged into it; None if they cannot be located there."""
    places = placed(changes, theirs)
    if places is None:
        return None
    # A three-way merge in which only the sentences edited here differ from their version.
    base, mine = list(theirs), list(theirs)
    for part in reversed(places):
        stop = part.first + len(part.before)
        base[part.first : stop], mine[part.first : stop] = part.before, part.after
    if base == list(theirs):  # they changed other sentences only
        return mine, ()
    return merged_blocks(base, mine, theirs)
