"""For the verifier: bounds under messages, in which blocks and sentences agree vector by vector, without anything of the search.

Every sentence adds one vector to each block (arcs by the child's tag, words with a child). A message m(s, b, u) stands on each vector u that
sentence s can add to block b. For any messages

- the sum over blocks of the highest G(u_1 + … + u_S) - Σ_s m(s, b, u_s), over choices of one vector for each sentence,
- and the sum over sentences of the highest Σ_b m(s, b, u_b(p)), over the parses p that may be used,

bounds the likelihood of the parses in a box: for the vectors of such parses the messages cancel. The first is a dynamic program over partial
sums, which are cells of a grid. Blocks without messages have prices, as in ``bounds``.
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
"""CertificateMessages are given in units of 2**-16, bounds in units of 2**-30. Sums of a block are formed in units of 2**-16, its gains rounded up to
them, in integers of 32 bits."""
LARGEST = 2**28
"""All messages of a block together, and its gains, are smaller than this."""
IMPOSSIBLE = -(2**29)
"""Below any sum of messages and gains. Two such sums less a message of each sentence still have 32 bits. Where messages raise an impossible
sum, the bound is higher than it needs to be, never lower."""
_SHORTEST_ROW = 256


Sums = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class CertificateMessages:
    """Prices of counts, and for some blocks (by number) the messages of each sentence, one for every vector of its share."""

    prices: Ints
    by_block: dict[int, list[Ints]]


def read_messages(bounds: Bounds, prices: Ints, blocks: Any, packed: Any) -> CertificateMessages:
    """The messages of a certificate; ``CertificateError`` if they are not of the right form."""
    known = range(len(bounds.blocks))
    if type(blocks) is not list or not all(is_int(b, 0, known[-1]) for b in blocks):
        raise CertificateError("multipliers: messages are about blocks that do not exist")
    if len(set(blocks)) < len(blocks) or not all(bounds.can_be_listed[b] for b in blocks):
        raise CertificateError(
            "multipliers: messages are about a block twice, or about one of long sentences"
        )
    sizes = [0 if s.vectors is None else len(s.shares[b].vectors) for b in blocks for s in bounds.sentences]
    values = _unpacked(packed, sum(sizes)) * UNIT
    if len(values) and int(np.abs(values).max()) // UNIT * len(bounds.sentences) >= LARGEST:
        raise CertificateError("multipliers: messages are too large to compute with exactly")
    parts = np.split(values, np.cumsum(sizes)[:-1]) if sizes else []
    count = len(bounds.sentences)
    return CertificateMessages(prices, {b: parts[i * count : (i + 1) * count] for i, b in enumerate(blocks)})


def _unpacked(packed: Any, count: int) -> Ints:
    """So many integers of 32 bits from text."""
    try:
        if type(packed) is not str:
            raise ValueError
        reader = zlib.decompressobj()
        data = reader.decompress(base64.b64decode(packed, validate=True), 4 * count + 1)
        if len(data) != 4 * count or not reader.eof:
            raise ValueError
    except (ValueError, binascii.Error, zlib.error):
        raise CertificateError(f"multipliers: messages are no {count} packed integers") from None
    return np.frombuffer(data, "<i4").astype(np.int64)


class AgreedBound:
    """The bound of a box under messages, and what it excludes."""

    def __init__(self, bounds: Bounds, box: Box, messages: CertificateMessages) -> None:
        self.bounds, self.box, self.messages = bounds, box, messages
        self.prices = messages.prices.copy()
        for b in messages.by_block:
            self.prices[bounds.blocks[b].all] = 0
        by_prices = bounds.bound(box, self.prices, without=messages.by_block.keys())
        self.linear = by_prices
        self.of_parses = [self._parse_values(i) for i in range(len(bounds.sentences))]
        self.sums = {b: _Sums(bounds, b, box, own) for b, own in messages.by_block.items()}
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
        """In units of 2**-30."""
        return self.bound.value

    def _parse_values(self, i: int) -> Ints | None:
        """What the messages and prices pay the parses of a short sentence."""
        sentence, alive = self.bounds.sentences[i], self.box.alive[i]
        if sentence.vectors is None:
            return None
        total = self.bounds.parse_values(sentence, alive, self.prices)
        for b, messages in self.messages.by_block.items():
            total += messages[i][sentence.shares[b].of_parse[alive]]
        return total

    def tightened(self, upper: int) -> Box | None:
        """The box without parses, points and ends of ranges with which the bound is at most ``upper``."""
        box, bounds, value = self.box, self.bounds, self.value
        of_blocks = sum(sums.best for sums in self.sums.values())
        alive = list(box.alive)
        for i, (sentence, paid) in enumerate(zip(bounds.sentences, self.of_parses, strict=True)):
            if paid is None:
                continue
            # With a parse: every block at its best given the vector of the parse, all other sentences at theirs.
            given = paid.copy()
            for b, sums in self.sums.items():
                of_parse = sentence.shares[b].of_parse[alive[i]]
                given += sums.given[i][of_parse] * UNIT
            good = value - of_blocks - self.bound.sentences[i] + given > upper
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
            own = points[b]
            if own is not None:
                kept = sums.holds(own.values[:, : len(block.point)], good)
                points[b] = own if kept.all() else own.kept(kept)
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
    """The sums that parses alive can add to one block, as cells of a grid, and the best choices for each.

    Sums of the first sentences lie in a part of the grid: their array has the first coordinates as axes of their own, as long as they need
    to be, and the last ones as one axis, in which a cell stands where it does in the whole grid.
    """

    def __init__(self, bounds: Bounds, b: int, box: Box, messages: Sequence[Ints]) -> None:
        self.block = bounds.blocks[b]
        self.width = len(self.block.point)
        short = [i for i, s in enumerate(bounds.sentences) if s.vectors is not None]
        looks = {i: _look(box, i) for i in short}
        weights = np.array([bounds.sentences[i].weight for i in short])
        own = self.block.point
        low = np.array([look.low[own] for look in looks.values()]).reshape(-1, self.width)
        ranges = np.array([look.high[own] for look in looks.values()]).reshape(-1, self.width) - low
        self.offset: Ints = weights @ low
        self.shape: tuple[int, ...] = tuple((weights @ ranges + 1).tolist())
        if math.prod(self.shape) > MOST_CELLS:
            raise CertificateError(
                f"multipliers: messages are about block {b}, whose sums are too many to list"
            )
        self.outer = self._axes()
        self.strides = np.array([math.prod(self.shape[c + 1 :]) for c in range(self.width)], np.int64)
        inner = self.strides[self.outer :]
        self.steps = []
        for place, i in sorted(enumerate(short), key=lambda at: -len(looks[at[1]].seen[b])):
            sentence, numbers = bounds.sentences[i], looks[i].seen[b]
            vectors = sentence.shares[b].vectors
            moves = np.empty((len(numbers) + 1, self.outer + 1), np.int64)  # and last, the furthest
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
        """How many of the first coordinates have an axis of their own."""
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
        """The sums that cells stand for."""
        cells = np.flatnonzero(good)
        return np.stack(np.unravel_index(cells, self.shape), axis=1).astype(np.int64) + self.offset

    def _cells_of(self, values: Ints) -> tuple[Mask, Ints]:
        steps = values - self.offset
        inside: Mask = np.all((steps >= 0) & (steps < np.array(self.shape)), axis=1)
        return inside, np.where(inside, steps @ self.strides, 0)

    def holds(self, values: Ints, good: Mask) -> Mask:
        """Which sums lie in good cells."""
        inside, cells = self._cells_of(values)
        found: Mask = inside & good.reshape(-1)[cells]
        return found

    @cached_property
    def given(self) -> dict[int, Ints]:
        """For each short sentence, the best of the block with each vector of its share."""
        out: dict[int, Ints] = {}
        after = self.last[tuple(slice(0, n) for n in self.before[-1].shape)]
        for step, before in zip(reversed(self.steps), self.before[-2::-1], strict=True):
            out[step.sentence], after = step.given(before, after)
        return out


@dataclass(frozen=True, eq=False)
class _Step:
    """What one sentence adds: the numbers of its vectors, where each leads, and what it costs."""

    sentence: int
    size: int
    numbers: Ints
    shifts: Ints
    furthest: Ints
    prices: Sums

    def added(self, sums: Sums) -> Sums:
        """The best sums with this sentence: of each cell, over the vectors v, the highest ``sums[cell - shift_v] - price_v``."""
        to = tuple((np.array(sums.shape) + self.furthest).tolist())
        out = native.verifier_sums_added(
            sums.ravel(), sums.shape, to, self.shifts.ravel(), self.prices, IMPOSSIBLE
        )
        return out.reshape(to)

    def given(self, before: Sums, after: Sums) -> tuple[Ints, Sums]:
        """The best of all with each of its vectors, and the best of this and the later sentences for each sum of those before."""
        best, both = native.verifier_sums_given(
            before.ravel(),
            after.ravel(),
            before.shape,
            after.shape,
            self.shifts.ravel(),
            self.prices,
            IMPOSSIBLE,
        )
        found = np.full(self.size, 2 * IMPOSSIBLE, np.int64)
        found[self.numbers] = best
        return found, both.reshape(before.shape)


def _look(box: Box, i: int) -> Look:
    look = box.looks[i]
    assert look is not None
    return look
