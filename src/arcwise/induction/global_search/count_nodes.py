"""Nodes of the search over counts, and trial splits (strong branching)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from arcwise import native
from arcwise.induction.global_search.messages import DualMessages


@dataclass(order=True)
class CountNode:
    """An open node; the heap yields the highest bound first."""

    order: tuple[int, int]
    """(-bound, number in the proof)."""
    box: native.CountBox = field(compare=False)
    basis: native.CountBasis | None = field(compare=False)
    messages: DualMessages | None = field(compare=False, default=None)
    """The messages behind its bound; None: prices."""
    list_bytes: int = field(compare=False, default=0)
    """Memory of its point lists; 0: they must be recomputed."""

    @property
    def bound(self) -> int:
        """Upper bound in units of 1/SCALE."""
        return -self.order[0]

    @property
    def number(self) -> int:
        """Number of the node in the proof."""
        return self.order[1]


@dataclass(frozen=True)
class Half:
    """A child of a node: its box, its bound, and the messages behind it (None: inherited from the node)."""

    box: native.CountBox
    bound: int
    messages: DualMessages | None


@dataclass(frozen=True)
class Trial:
    """A split with its halves (None: infeasible)."""

    split: list[int]
    halves: list[Half | None]

    def score(self, bound: int, threshold: int) -> float:
        """Score of a split: the product of how far each half gets from the bound to the threshold.

        The product, as usual in strong branching, favours splits that help on both sides.
        """
        gained = [
            1.0 if half is None else min((bound - half.bound) / max(bound - threshold, 1), 1.0)
            for half in self.halves
        ]
        # Not 0: a half without gain must not hide the gain of the other.
        return math.prod(max(gain, 1e-3) for gain in gained)
