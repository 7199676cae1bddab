"""The points of a block that parses can add up to, computed independently of the search.

Every sentence adds one vector to a block (arcs by child tag, and words with a child), which depends on its
parse. The sums are bits of a grid, stored in one Python integer: adding a sentence is an OR of shifted
copies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from arcwise.induction.verifier.parses import Ints

MOST_CELLS = 2**20
MOST_POINTS = 2**14
LARGEST_COUNT = 255
"""Limits of the search's point lists: the verifier must list points wherever the search did."""


@dataclass(frozen=True, eq=False)
class Points:
    """Points of a block, one per row (``children`` last, if the block has it), with their gains.

    ``summands``: number of sentence vectors that they were computed from.
    """

    values: Ints
    gains: Ints
    summands: int

    def kept(self, mask: npt.NDArray[np.bool_]) -> Points:
        """The points of a mask."""
        return Points(self.values[mask], self.gains[mask], self.summands)

    @cached_property
    def ranges(self) -> tuple[Ints, Ints]:
        """Minimum and maximum of each coordinate, ``children`` last."""
        return self.values.min(axis=0), self.values.max(axis=0)


@dataclass(frozen=True, eq=False)
class Grid:
    """Sums of vectors: bit Σ stride · (value − offset) of ``bits``."""

    offset: Ints
    sizes: Ints
    bits: int

    @property
    def strides(self) -> Ints:
        """Strides of the grid; the last coordinate varies fastest."""
        return np.append(np.cumprod(self.sizes[:0:-1])[::-1], 1)

    def _flags(self) -> npt.NDArray[np.uint8]:
        cells = int(np.prod(self.sizes))
        data = np.frombuffer(self.bits.to_bytes(cells // 8 + 1, "little"), np.uint8)
        return np.unpackbits(data, bitorder="little")[:cells]

    def points(self, low: Ints | None = None, high: Ints | None = None) -> Ints:
        """The sums from ``low`` to ``high``, one per row."""
        first = np.zeros_like(self.sizes) if low is None else np.maximum(low - self.offset, 0)
        end = self.sizes if high is None else np.minimum(high - self.offset + 1, self.sizes)
        part = tuple(slice(int(a), max(int(a), int(e))) for a, e in zip(first, end, strict=True))
        cells = np.nonzero(self._flags().reshape(tuple(self.sizes))[part])
        return np.stack(cells, axis=1).astype(np.int64) + (first + self.offset)

    def contains(self, values: Ints) -> npt.NDArray[np.bool_]:
        """Mask of the rows that are sums."""
        steps = values - self.offset
        inside = ((steps >= 0) & (steps < self.sizes)).all(axis=1)
        cells = np.where(inside, steps @ self.strides, 0)
        held: npt.NDArray[np.bool_] = inside & (self._flags()[cells] > 0)
        return held


def sums(choices: Sequence[Ints], weights: Sequence[int]) -> Grid | None:
    """All weighted sums of one row per choice; None if the grid would be too large.

    >>> grid = sums([np.array([[0, 1], [1, 0]]), np.array([[1, 1]])], [2, 1])
    >>> grid.points().tolist()
    [[1, 3], [3, 1]]
    """
    lows = np.array([c.min(axis=0) for c in choices])
    highs = np.array([c.max(axis=0) for c in choices])
    weight = np.array(weights)
    offset, sizes = weight @ lows, weight @ (highs - lows) + 1
    # In Python integers: forged counts could overflow a product of 64 bits.
    cells = 1
    for size in sizes.tolist():
        cells *= size
    if cells > MOST_CELLS or (offset + sizes > LARGEST_COUNT + 1).any():
        return None
    grid = Grid(offset, sizes, 1)
    strides, bits = grid.strides, 1
    for choice, low, w in zip(choices, lows, weights, strict=True):
        shifted = 0
        for shift in (w * ((choice - low) @ strides)).tolist():
            shifted |= bits << shift
        bits = shifted
    return Grid(offset, sizes, bits)
