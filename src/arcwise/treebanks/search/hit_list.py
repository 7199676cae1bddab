"""``HitList``: many hits in little memory."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import overload

from arcwise.treebanks.search.query import Hit


class HitList(Sequence[Hit]):
    """Hits in about 20 bytes each; a million ``Hit`` objects would take most of a gigabyte.

    >>> hits = HitList([Hit(0, {"1": 3}), Hit(2, {"1": 4}, {"x": "8.1"})])
    >>> len(hits), hits[1] == Hit(2, {"1": 4}, {"x": "8.1"}), hits.sentences.tolist()
    (2, True, [0, 2])
    """

    def __init__(self, hits: Iterable[Hit] = ()) -> None:
        self.sentences = array("i")
        """The sentence of each hit."""
        # Names differ between the alternatives of a query; ``_shapes`` has each set of names once.
        self._shapes: dict[tuple[str, ...], int] = {}
        self._shape_of_hit = array("i")
        self._starts = array("q")
        # A word as its number from 1, an empty node as -1, -2, … for its place in ``_nodes``.
        self._rows = array("i")
        self._nodes: dict[str, int] = {}
        for hit in hits:
            self._append(hit)
        self._names, self._node_ids = list(self._shapes), list(self._nodes)

    def _append(self, hit: Hit) -> None:
        names = (*hit.words, *hit.empty_nodes)
        self.sentences.append(hit.sentence)
        self._shape_of_hit.append(self._shapes.setdefault(names, len(self._shapes)))
        self._starts.append(len(self._rows))
        self._rows.extend(hit.words.values())
        self._rows.extend(-1 - self._nodes.setdefault(i, len(self._nodes)) for i in hit.empty_nodes.values())

    def __len__(self) -> int:
        return len(self.sentences)

    @overload
    def __getitem__(self, index: int) -> Hit: ...

    @overload
    def __getitem__(self, index: slice) -> list[Hit]: ...

    def __getitem__(self, index: int | slice) -> Hit | list[Hit]:
        if isinstance(index, slice):
            return [self._hit(i) for i in range(*index.indices(len(self)))]
        return self._hit(range(len(self))[index])

    def _hit(self, index: int) -> Hit:
        names, start = self._names[self._shape_of_hit[index]], self._starts[index]
        rows = list(zip(names, self._rows[start : start + len(names)], strict=True))
        return Hit(
            self.sentences[index],
            {name: row for name, row in rows if row > 0},
            {name: self._node_ids[-1 - row] for name, row in rows if row < 0},
        )
