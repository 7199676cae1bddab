"""Boxes of counts, and constraint propagation in them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from arcwise.induction.verifier.parses import Ints
from arcwise.induction.verifier.points import MOST_POINTS, Points, sums

if TYPE_CHECKING:
    from arcwise.induction.verifier.bounds import Bounds

Mask = npt.NDArray[np.bool_]
_ONLY = np.zeros(1, np.int64)


@dataclass(frozen=True, eq=False)
class Share:
    """Distinct vectors that a sentence can add to a block, one per row; ``of_parse``: that of each parse."""

    vectors: Ints
    of_parse: Ints


@dataclass(frozen=True, eq=False)
class TaggedSentence:
    """A sentence with its weight and the count vectors of its parses; None: too long, only their ranges."""

    tags: tuple[int, ...]
    weight: int
    vectors: Ints | None
    low: Ints
    high: Ints
    shares: tuple[Share, ...]


@dataclass(frozen=True)
class CountBlock:
    """The coordinates of one block of the likelihood; ``some`` and ``children`` are -1 for the roots."""

    parts: tuple[int, ...]
    some: int
    children: int
    words: int

    @cached_property
    def point(self) -> Ints:
        """The coordinates of a point: parts, some."""
        return np.array(self.all[: len(self.parts) + (self.some >= 0)])

    @cached_property
    def all(self) -> Ints:
        """The coordinates of a point, then children."""
        return np.array([*self.parts, self.some, self.children] if self.some >= 0 else self.parts)


@dataclass(frozen=True, eq=False)
class Look:
    """Ranges of the parses ``alive`` of a short sentence, and the vectors that they add to each block."""

    alive: Ints
    low: Ints
    high: Ints
    seen: list[Ints]


@dataclass(frozen=True, eq=False)
class Box:
    """A node's ranges of the corpus counts.

    ``alive``: the allowed count vectors of each sentence. ``points``: those of each block (None: all).
    ``looks``: cached ranges of the sentences, inherited from the parent box.
    """

    low: Ints
    high: Ints
    alive: tuple[Ints, ...]
    points: tuple[Points | None, ...]
    looks: tuple[Look | None, ...]


class Propagation:
    """Deletes infeasible parses and points of a box and shrinks it, to a fixed point."""

    def __init__(self, bounds: Bounds, box: Box) -> None:
        self.bounds = bounds
        self.low, self.high = box.low.copy(), box.high.copy()
        self.alive, self.points = list(box.alive), list(box.points)
        self.sentences = bounds.sentences
        self.weights = np.array([s.weight for s in self.sentences])
        self.lows = np.array([s.low for s in self.sentences])
        self.highs = np.array([s.high for s in self.sentences])
        self.looks = list(box.looks)

    def run(self) -> Box | None:
        """The remaining box, or None if it is empty."""
        self.short = [i for i, s in enumerate(self.sentences) if s.vectors is not None]
        if not all(len(self.alive[i]) for i in self.short):
            return None
        for i in self.short:
            self._look_at(i)
        changed = True
        while changed:
            if not self._fit():
                return None
            listed = self._list_points()
            if listed is None:
                return None
            changed = listed
        return Box(self.low, self.high, tuple(self.alive), tuple(self.points), tuple(self.looks))

    def _look_at(self, i: int) -> None:
        """Update the ranges of a short sentence."""
        look = self.looks[i]
        # By identity: arrays of parses are replaced, never changed in place.
        if look is None or look.alive is not self.alive[i]:
            look = self.looks[i] = self._look(self.sentences[i], self.alive[i])
        self.lows[i], self.highs[i] = look.low, look.high

    def _look(self, sentence: TaggedSentence, alive: Ints) -> Look:
        assert sentence.vectors is not None
        low, high, at = sentence.low.copy(), sentence.high.copy(), self.bounds.at
        seen = []
        for block, share in zip(self.bounds.blocks, sentence.shares, strict=True):
            if len(share.vectors) == 1:
                seen.append(_ONLY)
                continue
            used = np.zeros(len(share.vectors), bool)
            used[share.of_parse[alive]] = True
            numbers = np.flatnonzero(used)
            seen.append(numbers)
            vectors = share.vectors[numbers]
            low[block.all], high[block.all] = vectors.min(axis=0), vectors.max(axis=0)
        if self.bounds.marked.any():
            marked = sentence.vectors[alive, at.constrained]
            low[at.constrained], high[at.constrained] = marked.min(), marked.max()
        return Look(alive, low, high, seen)

    def _seen(self, i: int) -> list[Ints]:
        look = self.looks[i]
        assert look is not None
        return look.seen

    def _fit(self) -> bool:
        changed = True
        while changed:
            sum_low, sum_high = self.weights @ self.lows, self.weights @ self.highs
            self.low, self.high = np.maximum(self.low, sum_low), np.minimum(self.high, sum_high)
            if (self.low > self.high).any() or not self._shrink():
                return False
            fitted = self._fit_points()
            if fitted is None:
                return False
            changed = fitted
            for i, s in enumerate(self.sentences):
                if s.vectors is None:
                    continue
                # w·a must fit between what the other sentences leave at least and at most.
                least = -((sum_high - s.weight * self.highs[i] - self.low) // s.weight)
                most = (self.high - (sum_low - s.weight * self.lows[i])) // s.weight
                if (least <= self.lows[i]).all() and (most >= self.highs[i]).all():
                    continue
                fits = self._fitting(i, least, most)
                if not fits.any():
                    return False
                if not fits.all():
                    self.alive[i] = self.alive[i][fits]
                    self._look_at(i)
                    changed = True
        return True

    def _fitting(self, i: int, least: Ints, most: Ints) -> Mask:
        """Mask of the parses of a short sentence with all counts in least..most."""
        sentence, alive, at = self.sentences[i], self.alive[i], self.bounds.at
        assert sentence.vectors is not None
        marked = sentence.vectors[alive, at.constrained]
        fits: Mask = (marked >= least[at.constrained]) & (marked <= most[at.constrained])
        for block, share, seen in zip(self.bounds.blocks, sentence.shares, self._seen(i), strict=True):
            if len(share.vectors) == 1:
                continue  # feasible, else its range would be empty
            vectors = share.vectors[seen]
            out = ((vectors < least[block.all]) | (vectors > most[block.all])).any(axis=1)
            if out.any():
                unfit = np.zeros(len(share.vectors), bool)
                unfit[seen[out]] = True
                fits &= ~unfit[share.of_parse[alive]]
        return fits

    def _take(self, b: int, points: Points) -> bool:
        """Set the points of a block; return whether the box became narrower."""
        block = self.bounds.blocks[b]
        self.points[b] = points
        low, high = points.ranges
        narrower = bool((low > self.low[block.all]).any() or (high < self.high[block.all]).any())
        self.low[block.all] = np.maximum(low, self.low[block.all])
        self.high[block.all] = np.minimum(high, self.high[block.all])
        return narrower

    def _fit_points(self) -> bool | None:
        """Delete points outside the box.

        Return whether it became narrower, or None if a block has no points left.
        """
        narrower = False
        for b, points in enumerate(self.points):
            if points is None or self._holds(self.bounds.blocks[b], points):
                continue
            inside = self._inside(self.bounds.blocks[b], points.values)
            if not inside.any():
                return None
            narrower |= self._take(b, points if inside.all() else points.kept(inside))
        return narrower

    def _holds(self, block: CountBlock, points: Points) -> bool:
        """Whether the ranges of a block are those of its points."""
        low, high = points.ranges
        return bool((low == self.low[block.all]).all() and (high == self.high[block.all]).all())

    def _inside(self, block: CountBlock, values: Ints) -> Mask:
        inside: Mask = np.all((values >= self.low[block.all]) & (values <= self.high[block.all]), axis=1)
        return inside

    def _list_points(self) -> bool | None:
        """List the points of blocks with fewer vectors than before; returns as ``_fit_points``."""
        narrower = False
        for b, block in enumerate(self.bounds.blocks):
            if not self.bounds.can_be_listed[b] or not self.short:
                continue
            summands = sum(len(self._seen(i)[b]) for i in self.short)
            before = self.points[b]
            # Vectors are only ever removed, so the same number means the same vectors.
            if before is not None and before.summands == summands:
                continue
            width = len(block.point)
            choices = [self.sentences[i].shares[b].vectors[self._seen(i)[b], :width] for i in self.short]
            grid = sums(choices, [self.sentences[i].weight for i in self.short])
            if grid is None:
                continue
            if before is None:
                values = grid.points(self.low[block.point], self.high[block.point])
                if block.children >= 0:
                    values = np.column_stack([values, values[:, : len(block.parts)].sum(axis=1)])
                values = values[self._inside(block, values)]
                if len(values) > MOST_POINTS:
                    continue
                points = Points(values, self.bounds.gains(block, values), summands)
            else:
                points = replace(before.kept(grid.contains(before.values[:, :width])), summands=summands)
            if not len(points.values):
                return None
            narrower |= self._take(b, points)
        return narrower

    def _shrink(self) -> bool:
        """Enforce that ``children`` is the sum of the parts, with ``some`` in 1..``children`` (or both 0)."""
        low, high = self.low.tolist(), self.high.tolist()
        for block in self.bounds.blocks:
            total_low = total_high = block.words
            sum_low, sum_high = sum(low[p] for p in block.parts), sum(high[p] for p in block.parts)
            if block.children >= 0:
                k, a = block.children, block.some
                low[k] = max(low[k], sum_low, low[a])
                high[k] = min(high[k], sum_high)
                high[a] = min(high[a], high[k])
                if low[k] > 0:
                    low[a] = max(low[a], 1)
                if high[a] == 0:
                    high[k] = 0
                if low[k] > high[k] or low[a] > high[a]:
                    return False
                total_low, total_high = low[k], high[k]
            for part in block.parts:
                new_low = max(low[part], total_low - (sum_high - high[part]))
                new_high = min(high[part], total_high - (sum_low - low[part]))
                if new_low > new_high:
                    return False
                sum_low, sum_high = sum_low + new_low - low[part], sum_high + new_high - high[part]
                low[part], high[part] = new_low, new_high
        self.low, self.high = np.array(low), np.array(high)
        return True
