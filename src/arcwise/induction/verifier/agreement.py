"""Bounds under messages between blocks and sentences.

Every sentence adds one vector to each block (arcs by child tag, words with a child). There is a message m(s,
b, u) for each vector u that sentence s can add to block b. For any messages, the sum of

- for every block, the maximum of G(u_1 + … + u_S) - Σ_s m(s, b, u_s) over choices of one vector for each
  sentence,
- for every sentence, the maximum of Σ_b m(s, b, u_b(p)) over the parses p that are still allowed,

bounds the likelihood of the parses in a box: for the vectors of such parses the messages cancel. The first
maximum is a dynamic program over partial sums, which are cells of a grid. Blocks without messages have
prices, as in ``bounds``.
"""

from __future__ import annotations

import base64
import binascii
import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.induction.verifier.bounds import Bound, Bounds
from arcwise.induction.verifier.boxes import Box, Look, Mask
from arcwise.induction.verifier.claim import CertificateError
from arcwise.induction.verifier.form import is_int
from arcwise.induction.verifier.parses import Ints
from arcwise.induction.verifier.points import MOST_CELLS

UNIT = 2**14
"""Messages are in units of 2**-16, bounds in units of 2**-30. Sums of a block are computed in units of
2**-16, with its gains rounded up to them, in 32-bit integers: the grids are large."""
LARGEST = 2**28
"""Limit of the sum of all messages of a block, and of its gains."""
IMPOSSIBLE = -(2**29)
"""Below any sum of messages and gains. Two such sums minus a message of each sentence still fit into 32 bits.
If messages raise an impossible sum, the bound becomes higher than necessary, never lower."""
_SHORTEST_ROW = 256


Sums = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class CertificateMessages:
    """Prices of counts, and for some blocks (by number) a message for each vector of each sentence."""

    prices: Ints
    by_block: dict[int, list[Ints]]


def read_messages(bounds: Bounds, prices: Ints, blocks: Any, packed: Any) -> CertificateMessages:
    """Read the messages of a certificate; ``CertificateError`` if they are malformed."""
    last = len(bounds.blocks) - 1
    if type(blocks) is not list or not all(is_int(b, 0, last) for b in blocks):
        raise CertificateError("multipliers: messages refer to blocks that do not exist")
    if len(set(blocks)) < len(blocks) or not all(bounds.can_be_listed[b] for b in blocks):
        raise CertificateError("multipliers: messages refer to a block twice, or to one with long sentences")
    sizes = [0 if s.vectors is None else len(s.shares[b].vectors) for b in blocks for s in bounds.sentences]
    values = _unpacked(packed, sum(sizes)) * UNIT
    if len(values) and int(np.abs(values).max()) // UNIT * len(bounds.sentences) >= LARGEST:
        raise CertificateError("multipliers: messages are too large to compute with exactly")
    parts = np.split(values, np.cumsum(sizes)[:-1]) if sizes else []
    count = len(bounds.sentences)
    return CertificateMessages(prices, {b: parts[i * count : (i + 1) * count] for i, b in enumerate(blocks)})


def _unpacked(packed: Any, count: int) -> Ints:
    """Decode this many 32-bit integers from text."""
    try:
        if type(packed) is not str:
            raise ValueError
        reader = zlib.decompressobj()
        # One byte more than expected: too much data is noticed without being unpacked.
        data = reader.decompress(base64.b64decode(packed, validate=True), 4 * count + 1)
        if len(data) != 4 * count or not reader.eof:
            raise ValueError
    except (ValueError, binascii.Error, zlib.error):
        raise CertificateError(f"multipliers: messages are not {count} packed integers") from None
    return np.frombuffer(data, "<i4").astype(np.int64)


class AgreedBound:
    """The bound of a box under messages, and the parses and points that it excludes."""

    def __init__(self, bounds: Bounds, box: Box, messages: CertificateMessages) -> None:
        self.bounds, self.box, self.messages = bounds, box, messages
        # A copy, since blocks with messages have no prices.
        self.prices = messages.prices.copy()
        for b in messages.by_block:
            self.prices[bounds.blocks[b].all] = 0
        by_prices = bounds.bound(box, self.prices, without=messages.by_block.keys())
        self.linear = by_prices
        self.of_parses = [self._parse_values(i) for i in range(len(bounds.sentences))]
        self.sums = {b: _Sums(bounds, b, box, values) for b, values in messages.by_block.items()}
        blocks = list(by_prices.blocks)
        for b, sums in self.sums.items():
            blocks[b] = sums.best
        sentences = [
            by_prices.sentences[i] if values is None else int(values.max())
            for i, values in enumerate(self.of_parses)
        ]
        self.bound = Bound(by_prices.owed + sum(sentences) + sum(blocks), sentences, blocks, by_prices.owed)

    @property
    def value(self) -> int:
        """The bound in units of 2**-30."""
        return self.bound.value

    def _parse_values(self, i: int) -> Ints | None:
        """Sum of messages and prices for each parse of a short sentence."""
        sentence, alive = self.bounds.sentences[i], self.box.alive[i]
        if sentence.vectors is None:
            return None
        total = self.bounds.parse_values(sentence, alive, self.prices)
        for b, messages in self.messages.by_block.items():
            total += messages[i][sentence.shares[b].of_parse[alive]]
        return total

    def tightened(self, upper: int) -> Box | None:
        """The box without parses, points and ends of ranges for which the bound is at most ``upper``."""
        box, bounds, value = self.box, self.bounds, self.value
        of_blocks = sum(sums.best for sums in self.sums.values())
        alive = list(box.alive)
        for i, (sentence, paid) in enumerate(zip(bounds.sentences, self.of_parses, strict=True)):
            if paid is None:
                continue
            # For each parse: every block at its best given the parse's vector, all other sentences at theirs.
            with_parse = paid.copy()
            for b, sums in self.sums.items():
                of_parse = sentence.shares[b].of_parse[alive[i]]
                with_parse += sums.best_with[i][of_parse] * UNIT
            good = value - of_blocks - self.bound.sentences[i] + with_parse > upper
            alive[i] = alive[i] if good.all() else alive[i][good]
        low, high, points = box.low.copy(), box.high.copy(), list(box.points)
        for b, block in enumerate(bounds.blocks):
            if b not in self.sums:
                needed = self.bound.blocks[b] - (value - upper)
                if not bounds.tighten_block(b, box, self.prices, needed, low, high, points):
                    return None
                continue
            sums = self.sums[b]
            good = sums.ends * UNIT > upper - (value - sums.best)
            listed = points[b]
            if listed is not None:
                kept = sums.holds(listed.values[:, : len(block.point)], good)
                points[b] = listed if kept.all() else listed.kept(kept)
                if not kept.any():
                    return None
                continue
            if not good.any():
                return None
            reached = sums.values_of(good)
            low[block.point] = np.maximum(low[block.point], reached.min(axis=0))
            high[block.point] = np.minimum(high[block.point], reached.max(axis=0))
        return bounds.propagated(Box(low, high, tuple(alive), tuple(points), box.looks))


class _Sums:
    """The sums that the remaining parses can add to one block, as cells of a grid.

    Sums of the first sentences occupy a part of the grid: their array has the first coordinates as separate
    axes, as long as necessary, and the last ones as one axis, in which a cell has the same position as in the
    whole grid.
    """

    def __init__(self, bounds: Bounds, b: int, box: Box, messages: Sequence[Ints]) -> None:
        self.block = bounds.blocks[b]
        self.width = len(self.block.point)
        short = [i for i, s in enumerate(bounds.sentences) if s.vectors is not None]
        looks = {i: _look(box, i) for i in short}
        weights = np.array([bounds.sentences[i].weight for i in short])
        point = self.block.point
        low = np.array([look.low[point] for look in looks.values()]).reshape(-1, self.width)
        ranges = np.array([look.high[point] for look in looks.values()]).reshape(-1, self.width) - low
        self.offset: Ints = weights @ low
        self.shape: tuple[int, ...] = tuple((weights @ ranges + 1).tolist())
        if math.prod(self.shape) > MOST_CELLS:
            raise CertificateError(
                f"multipliers: messages refer to block {b}, which has too many sums to list"
            )
        self.outer = self._axes()
        self.strides = np.array([math.prod(self.shape[c + 1 :]) for c in range(self.width)], np.int64)
        inner = self.strides[self.outer :]
        self.steps = []
        # Most vectors first, while the grid is still small.
        for place, i in sorted(enumerate(short), key=lambda at: -len(looks[at[1]].seen[b])):
            sentence, numbers = bounds.sentences[i], looks[i].seen[b]
            vectors = sentence.shares[b].vectors
            moves = np.empty((len(numbers) + 1, self.outer + 1), np.int64)  # the last row is the furthest
            steps = np.empty((len(numbers) + 1, self.width), np.int64)
            steps[:-1] = vectors[numbers, : self.width]
            steps[:-1] -= low[place]
            steps[-1] = ranges[place]
            steps *= sentence.weight
            moves[:, : self.outer] = steps[:, : self.outer]
            moves[:, self.outer] = steps[:, self.outer :] @ inner
            prices = (messages[i][numbers] // UNIT).astype(np.int32)
            self.steps.append(_Step(i, len(vectors), numbers, moves[:-1], moves[-1], prices))
        self.before: list[Sums] = [np.zeros((1,) * (self.outer + 1), np.int32)]
        for step in self.steps:
            self.before.append(step.added(self.before[-1]))
        self.last = self._gains(bounds, b, box)
        self.ends: Ints = np.full(self.last.shape, 2 * IMPOSSIBLE, np.int64)
        reach = tuple(slice(0, n) for n in self.before[-1].shape)
        self.ends[reach] = self.before[-1] + self.last[reach]
        self.best = int(self.ends.max()) * UNIT

    def _axes(self) -> int:
        """Number of coordinates with a separate axis.

        The others form rows of at least ``_SHORTEST_ROW`` cells.
        """
        count, row = self.width, 1
        while count > 0 and row < _SHORTEST_ROW:
            count -= 1
            row *= self.shape[count]
        return count

    def _gains(self, bounds: Bounds, b: int, box: Box) -> Sums:
        """G of every cell that is a point of the block in the box, rounded up."""
        nothing = IMPOSSIBLE * UNIT
        last = np.full(self.shape, nothing, np.int64)
        points = box.points[b]
        if points is not None:
            inside, cells = self._cells_of(points.values[:, : self.width])
            last.reshape(-1)[cells[inside]] = points.gains[inside]
        else:
            low, high = box.low[self.block.point], box.high[self.block.point]
            first = np.maximum(low - self.offset, 0)
            end = np.minimum(high - self.offset + 1, self.shape)
            if (first < end).all():
                ranges = [np.arange(a, e) + o for a, e, o in zip(first, end, self.offset, strict=True)]
                part = tuple(slice(int(a), int(e)) for a, e in zip(first, end, strict=True))
                last[part] = bounds.gains_of_ranges(self.block, ranges, box, nothing)
        rounded = -(-last // UNIT)
        if int(np.abs(rounded[rounded > IMPOSSIBLE]).max(initial=0)) >= LARGEST:
            raise CertificateError(f"multipliers: gains of block {b} are too large to compute with exactly")
        return rounded.astype(np.int32).reshape(*self.shape[: self.outer], -1)

    def values_of(self, good: Mask) -> Ints:
        """The sums of cells."""
        cells = np.flatnonzero(good)
        return np.stack(np.unravel_index(cells, self.shape), axis=1).astype(np.int64) + self.offset

    def _cells_of(self, values: Ints) -> tuple[Mask, Ints]:
        steps = values - self.offset
        inside: Mask = np.all((steps >= 0) & (steps < np.array(self.shape)), axis=1)
        return inside, np.where(inside, steps @ self.strides, 0)

    def holds(self, values: Ints, good: Mask) -> Mask:
        """Mask of the sums in good cells."""
        inside, cells = self._cells_of(values)
        held: Mask = inside & good.reshape(-1)[cells]
        return held

    @cached_property
    def best_with(self) -> dict[int, Ints]:
        """For each short sentence, the best value of the block with each vector of its share."""
        out: dict[int, Ints] = {}
        after = self.last[tuple(slice(0, n) for n in self.before[-1].shape)]
        for step, before in zip(reversed(self.steps), self.before[-2::-1], strict=True):
            out[step.sentence], after = step.best_with(before, after)
        return out


@dataclass(frozen=True, eq=False)
class _Step:
    """The contribution of one sentence.

    The numbers of its vectors, their shifts in the grid, and their prices.
    """

    sentence: int
    size: int
    numbers: Ints
    shifts: Ints
    furthest: Ints
    prices: Sums

    def added(self, sums: Sums) -> Sums:
        """Best sums including this sentence.

        Per cell the maximum over vectors v of ``sums[cell - shift_v] - price_v``.
        """
        to = tuple((np.array(sums.shape) + self.furthest).tolist())
        out = native.verifier_sums_added(
            sums.ravel(), sums.shape, to, self.shifts.ravel(), self.prices, IMPOSSIBLE
        )
        return out.reshape(to)

    def best_with(self, before: Sums, after: Sums) -> tuple[Ints, Sums]:
        """Best total with each vector; best of this and later sentences for each sum of earlier ones."""
        best, both = native.verifier_sums_given(
            before.ravel(),
            after.ravel(),
            before.shape,
            after.shape,
            self.shifts.ravel(),
            self.prices,
            IMPOSSIBLE,
        )
        values = np.full(self.size, 2 * IMPOSSIBLE, np.int64)
        values[self.numbers] = best
        return values, both.reshape(before.shape)


def _look(box: Box, i: int) -> Look:
    look = box.looks[i]
    assert look is not None
    return look
