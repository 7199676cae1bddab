"""Nodes of the search over counts, and splits that are tried."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from arcwise import native
from arcwise.induction.global_search.messages import DualMessages


@dataclass(order=True)
class CountNode:
    """A box still to be looked into; the heap has the highest bound first."""

    order: tuple[int, int]
    """(-bound, number in the proof)."""
    box: native.CountBox = field(compare=False)
    basis: native.CountBasis | None = field(compare=False)
    messages: DualMessages | None = field(compare=False, default=None)
    """Those that its bound follows from; None: prices."""
    list_bytes: int = field(compare=False, default=0)
    """The memory of the lists of its box; 0: they are to be made anew."""

    @property
    def bound(self) -> int:
        """In units of 1/SCALE."""
        return -self.order[0]

    @property
    def number(self) -> int:
        """In the proof."""
        return self.order[1]


@dataclass(frozen=True)
class Half:
    """A child of a node: its box, its bound, and the messages that this follows from (None: it is that of the node)."""

    box: native.CountBox
    bound: int
    messages: DualMessages | None


@dataclass(frozen=True)
class Trial:
    """A split, and what it leads to (None: nothing fits into this half)."""

    split: list[int]
    halves: list[Half | None]

    def score(self, bound: int, threshold: int) -> float:
        """How much closer to the threshold the halves are than the node: the product, so that both count."""
        gained = [
            1.0 if half is None else min((bound - half.bound) / max(bound - threshold, 1), 1.0)
            for half in self.halves
        ]
        return math.prod(max(gain, 1e-3) for gain in gained)
