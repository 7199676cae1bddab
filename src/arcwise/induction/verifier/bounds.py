"""Lagrangian bounds on the likelihood of parses, in exact integer arithmetic.

All values are integers in units of 1/2**30. x log x is irrational; it is rounded outwards from fifty correct
digits. The bound of a box of counts under multipliers mu is the sum of

- for every sentence, the maximum of mu . counts over the parses that are still allowed;
- for every block (side, head tag), the maximum of G - mu . counts over its points, where with φ(x) = x log x
  G = φ(N-some) + 2 φ(some) + φ(children-some) - 2 φ(children) + Σ φ(arcs to a tag) - φ(N), N the words of the
  tag;
- for the roots, the maximum of Σ φ(roots of a tag) - φ(S) - mu . counts.

It holds for any multipliers, because the counts of a tree appear with both signs. The points of a block are
those that the allowed parses can add up to (``points``), or all integer points of the box if these are too
many to list.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext

import numpy as np

from arcwise.induction.verifier.boxes import Box, CountBlock, Propagation, Share, TaggedSentence
from arcwise.induction.verifier.parses import Coordinates, Ints, best_values, count_vectors
from arcwise.induction.verifier.points import Points

SCALE = 2**30
NOTHING = -(2**61)
"""Value of an impossible point; two of them still fit into 64 bits."""
_LARGEST_TABLE = 256
"""Ranges of single parts are tightened only up to this total: the dynamic program is quadratic in it."""


def phi_tables(most: int) -> tuple[Ints, Ints]:
    """x log x for x = 0..most, in units of 1/SCALE, rounded up and rounded down."""
    up, down = [0, 0], [0, 0]
    with localcontext() as context:
        context.prec = 50
        for x in range(2, most + 1):
            value = Decimal(x) * Decimal(x).ln() * SCALE  # correct to more than forty digits
            margin = Decimal("1e-20")
            up.append(int((value + margin).to_integral_value(ROUND_CEILING)))
            down.append(int((value - margin).to_integral_value(ROUND_FLOOR)))
    return np.array(up[: most + 1], np.int64), np.array(down[: most + 1], np.int64)


@dataclass(frozen=True, eq=False)
class Bound:
    """The bound of a box and its parts."""

    value: int
    sentences: list[int]
    blocks: list[int]
    owed: int
    """The constraint's term: minus its price times the number of arcs that it requires."""


class Bounds:
    """The data of one corpus that bounds need."""

    def __init__(
        self,
        tags: int,
        sentences: Sequence[tuple[tuple[int, ...], int]],
        marked: Ints,
        least: int,
        enumerate_up_to: int,
    ) -> None:
        self.at = at = Coordinates(tags)
        self.marked = marked
        words = sum(len(s) * w for s, w in sentences)
        count = sum(w for _, w in sentences)
        self.phi_up, self.phi_down = phi_tables(words + count)
        of_tag = np.zeros(tags, np.int64)
        for s, w in sentences:
            np.add.at(of_tag, list(s), w)
        self.blocks = [CountBlock(tuple(range(tags)), -1, -1, count)]
        for b in range(2 * tags):
            parts = tuple(at.child(b, t) for t in range(tags))
            self.blocks.append(CountBlock(parts, at.some(b), at.children(b), int(of_tag[b % tags])))
        self.sentences = [self._sentence(s, w, enumerate_up_to) for s, w in sentences]
        long = [s for s in self.sentences if s.vectors is None]
        self.can_be_listed = [not any(s.high[list(b.parts)].any() for s in long) for b in self.blocks]
        low, high = np.zeros(at.count, np.int64), np.full(at.count, words, np.int64)
        low[at.constrained] = least
        alive = tuple(np.arange(0 if s.vectors is None else len(s.vectors)) for s in self.sentences)
        nothing = (None,) * len(self.sentences)
        self.root = self.propagated(Box(low, high, alive, (None,) * len(self.blocks), nothing))

    def _sentence(self, tags: tuple[int, ...], weight: int, enumerate_up_to: int) -> TaggedSentence:
        at = self.at
        if len(tags) <= enumerate_up_to:
            vectors = count_vectors(at, tags, self.marked)
            shares = tuple(_share(vectors[:, block.all]) for block in self.blocks)
            return TaggedSentence(tags, weight, vectors, vectors.min(axis=0), vectors.max(axis=0), shares)
        # Ranges by Viterbi, with a price of 1 on each coordinate and with -1.
        unit = np.zeros((at.count, at.count), np.int64)
        unit[: at.priced, : at.priced] = np.eye(at.priced, dtype=np.int64)
        for b in range(2 * at.tags):
            for t in range(at.tags):
                unit[at.child(b, t), at.children(b)] = 1
        unit[:, at.constrained] = self.marked
        return TaggedSentence(
            tags, weight, None, -best_values(at, tags, -unit), best_values(at, tags, unit), ()
        )

    def propagated(self, box: Box) -> Box | None:
        """The box without infeasible parses, points and counts; None if nothing is left."""
        return Propagation(self, box).run()

    def split(self, box: Box, sentence: int, coordinate: int, at: int, *, above: bool) -> Box:
        """The part of the box where a count is at most (or above) ``at``.

        The count is that of the corpus (sentence -1) or of a sentence's parse.
        """
        if sentence < 0:
            low, high = box.low.copy(), box.high.copy()
            if above:
                low[coordinate] = max(low[coordinate], at + 1)
            else:
                high[coordinate] = min(high[coordinate], at)
            return replace(box, low=low, high=high)
        vectors = self.sentences[sentence].vectors
        if vectors is None:
            raise ValueError("cannot split on a sentence that is not enumerated")
        counts = vectors[box.alive[sentence], coordinate]
        alive = list(box.alive)
        alive[sentence] = alive[sentence][counts > at if above else counts <= at]
        return replace(box, alive=tuple(alive))

    def gains(self, block: CountBlock, values: Ints) -> Ints:
        """G of points, rounded up."""
        up, down = self.phi_up, self.phi_down
        parts = values[:, : len(block.parts)]
        gains: Ints = up[parts].sum(axis=1) - down[block.words]
        if block.some >= 0:
            total, some = parts.sum(axis=1), values[:, len(block.parts)]
            gains = gains + up[block.words - some] + 2 * up[some] + up[total - some] - 2 * down[total]
        return gains

    def gains_of_ranges(self, block: CountBlock, ranges: Sequence[Ints], box: Box, nothing: int) -> Ints:
        """G of all points in a product of ranges, one axis per coordinate.

        ``nothing`` for impossible counts.
        """
        up, down, axes = self.phi_up, self.phi_down, np.ix_(*ranges)
        parts = axes[: len(block.parts)]
        total: Ints = sum(parts[1:], parts[0])
        gains: Ints = sum((up[p] for p in parts[1:]), up[parts[0]]) - down[block.words]
        if block.some < 0:
            return np.where(total == block.words, gains, nothing)
        some = axes[-1]
        exists = (some <= total) & ((some > 0) | (total == 0)) & (some <= block.words)
        exists &= (total >= box.low[block.children]) & (total <= box.high[block.children])
        gains = gains + (up[np.maximum(block.words - some, 0)] + 2 * up[some]) - 2 * down[total]
        return np.where(exists, gains + up[np.maximum(total - some, 0)], nothing)

    def bound(self, box: Box, mu: Ints, *, without: Collection[int] = ()) -> Bound:
        """Bound of the box under multipliers, one per coordinate (0 for ``children``), ``without`` blocks."""
        prices = self._prices(mu)
        sentences = []
        for s, alive in zip(self.sentences, box.alive, strict=True):
            if s.vectors is None:
                best = int(best_values(self.at, s.tags, prices[:, None])[0])
            else:
                best = int(self._values(s, alive, prices).max())
            sentences.append(s.weight * best)
        blocks = [0 if b in without else self._block_bound(b, box, mu) for b in range(len(self.blocks))]
        owed = -int(mu[self.at.constrained]) * int(box.low[self.at.constrained])
        return Bound(sum(sentences) + sum(blocks) + owed, sentences, blocks, owed)

    def _block_bound(self, b: int, box: Box, mu: Ints) -> int:
        block, points = self.blocks[b], box.points[b]
        if block.some >= 0 and not box.high[list(block.parts)].any():
            return 0  # without children G = φ(N) - φ(N)
        if points is None:
            return _BlockTable(self, block, box, mu).best()
        return int((points.gains - points.values @ mu[block.all]).max())

    def parse_values(self, sentence: TaggedSentence, alive: Ints, mu: Ints) -> Ints:
        """Value of multipliers for each parse of a short sentence, for all its copies."""
        return sentence.weight * self._values(sentence, alive, self._prices(mu))

    def _prices(self, mu: Ints) -> Ints:
        """Price per unit of each coordinate of a parse."""
        prices: Ints = mu + self.marked * mu[self.at.constrained]
        prices[self.at.priced :] = 0
        return prices

    def _values(self, sentence: TaggedSentence, alive: Ints, prices: Ints) -> Ints:
        """prices . counts for the parses of a short sentence, summed over its shares of the blocks."""
        total = np.zeros(len(alive), np.int64)
        for block, share in zip(self.blocks, sentence.shares, strict=True):
            values = share.vectors @ prices[block.all]
            total += values[share.of_parse[alive]] if len(values) > 1 else values[0]
        return total

    def tightened(self, box: Box, mu: Ints, bound: Bound, upper: int) -> Box | None:
        """The box without parses, points and ends of ranges for which the bound is at most ``upper``."""
        spare = bound.value - upper
        prices = self._prices(mu)
        alive, points = list(box.alive), list(box.points)
        for i, s in enumerate(self.sentences):
            if s.vectors is not None:
                values = s.weight * self._values(s, alive[i], prices)
                good = bound.sentences[i] - values < spare
                alive[i] = alive[i] if good.all() else alive[i][good]
        low, high = box.low.copy(), box.high.copy()
        for b, best in enumerate(bound.blocks):
            if not self.tighten_block(b, box, mu, best - spare, low, high, points):
                return None
        return self.propagated(Box(low, high, tuple(alive), tuple(points), box.looks))

    def tighten_block(
        self, b: int, box: Box, mu: Ints, needed: int, low: Ints, high: Ints, points: list[Points | None]
    ) -> bool:
        """Delete points of a block, or trim its ranges, where the value is at most ``needed``.

        Returns whether anything is left.
        """
        block, listed = self.blocks[b], points[b]
        if listed is not None:
            good = listed.gains - listed.values @ mu[block.all] > needed
            points[b] = listed if good.all() else listed.kept(good)
            return bool(good.any())
        for coordinate, values in _BlockTable(self, block, box, mu).by_coordinate():
            kept = np.flatnonzero(values > needed)
            if not len(kept):
                return False
            low[coordinate] = max(low[coordinate], kept[0])
            high[coordinate] = min(high[coordinate], kept[-1])
        return True


def _share(vectors: Ints) -> Share:
    """Distinct vectors.

    Rows are compared by a single number that preserves their order, if it fits 64 bits.
    """
    sizes = vectors.max(axis=0) + 1
    if math.prod(sizes.tolist()) >= 2**62:
        different, numbers = np.unique(vectors, axis=0, return_inverse=True)
        return Share(different, numbers.ravel())
    strides = np.append(np.cumprod(sizes[:0:-1])[::-1], 1)
    _, first, numbers = np.unique(vectors @ strides, return_index=True, return_inverse=True)
    return Share(np.ascontiguousarray(vectors[first]), numbers.ravel())


class _BlockTable:
    """Maximum value of a block over the integer points of a box, by dynamic programming over its parts."""

    def __init__(self, bounds: Bounds, block: CountBlock, box: Box, mu: Ints) -> None:
        self.bounds, self.block, self.mu = bounds, block, mu
        self.low, self.high = box.low, box.high
        self.parts = [p for p in block.parts if box.high[p] > 0]
        self.total_low = self.total_high = block.words
        if block.children >= 0:
            self.total_low, self.total_high = int(box.low[block.children]), int(box.high[block.children])
        start = np.full(self.total_high + 1, NOTHING, np.int64)
        start[0] = 0
        self.prefix = [start]
        for part in self.parts:
            self.prefix.append(self.extended(self.prefix[-1], part))

    def part_values(self, part: int) -> Ints:
        """φ(g) - mu g for g = low .. high."""
        g = np.arange(self.low[part], min(self.high[part], self.total_high) + 1)
        values: Ints = self.bounds.phi_up[g] - self.mu[part] * g
        return values

    def extended(self, sums: Ints, part: int) -> Ints:
        """Best value for each total, with one more part."""
        out = np.full_like(sums, NOTHING)
        for g, value in enumerate(self.part_values(part), int(self.low[part])):
            np.maximum(out[g:], sums[: len(sums) - g] + value, out=out[g:])
        # Floored again, or sums of impossible values would leave 64 bits after many parts.
        floored: Ints = np.maximum(out, NOTHING)
        return floored

    def after(self) -> Ints:
        """Shape (totals, values of some): the contribution of a total and ``some``.

        (totals, 1) for the roots.
        """
        up, down, words = self.bounds.phi_up, self.bounds.phi_down, self.block.words
        k = np.arange(self.total_low, self.total_high + 1)[:, None]
        if self.block.children < 0:
            return np.full(k.shape, -int(down[words]), np.int64)
        a = np.arange(self.low[self.block.some], self.high[self.block.some] + 1)[None, :]
        values: Ints = (
            up[words - a]
            + 2 * up[a]
            + up[np.maximum(k - a, 0)]
            - 2 * down[k]
            - down[words]
            - self.mu[self.block.some] * a
        )
        allowed: Ints = np.where((a <= k) & ((a > 0) | (k == 0)), values, NOTHING)
        return allowed

    def best(self) -> int:
        """Maximum over all points."""
        totals = self.prefix[-1][self.total_low :]
        return int(np.maximum(totals + self.after().max(axis=1), NOTHING).max())

    def by_coordinate(self) -> list[tuple[int, Ints]]:
        """For each coordinate, the maximum for each of its values from 0 on."""
        maxima = []
        after = self.after()
        totals = self.prefix[-1][self.total_low :]
        joint = totals[:, None] + after
        block = self.block
        if block.children >= 0:
            maxima.append((block.children, _from(self.total_low, joint.max(axis=1))))
            maxima.append((block.some, _from(int(self.low[block.some]), joint.max(axis=0))))
        if self.total_high > _LARGEST_TABLE:
            return maxima
        outer = _from(self.total_low, after.max(axis=1))
        suffix = self.prefix[0]
        for c in reversed(range(len(self.parts))):
            part = self.parts[c]
            if self.low[part] < self.high[part]:
                others = np.full_like(suffix, NOTHING)
                for k, value in enumerate(suffix):
                    # Ordinary values cannot lift an impossible sum above half of it.
                    if value > NOTHING // 2:
                        np.maximum(others[k:], self.prefix[c][: len(others) - k] + value, out=others[k:])
                values = [
                    int((others[: len(others) - g] + outer[g:]).max()) + int(v)
                    for g, v in enumerate(self.part_values(part), int(self.low[part]))
                ]
                maxima.append((part, _from(int(self.low[part]), np.array(values, np.int64))))
            suffix = self.extended(suffix, part)
        return maxima


def _from(first: int, values: Ints) -> Ints:
    return np.concatenate([np.full(first, NOTHING, np.int64), values])
