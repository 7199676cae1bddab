"""Bounds in which blocks and sentences agree vector by vector, and how a certificate writes their multipliers.

Prices on counts let a block choose any point, whatever parses are paid for. Here every block chooses what each sentence adds to it, and the
multipliers are messages, one for every vector that a sentence can add to a block (native/kernels/induction/count_agreement.hpp). Bounds at the
root become as tight as those of thousands of nodes under prices alone.
"""

from __future__ import annotations

import base64
import zlib
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from arcwise import native

Prices = npt.NDArray[np.int64]
Values = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class DualMessages:
    """Multipliers of a bound: messages in the ``blocks`` that agree by them, prices of counts in the others."""

    prices: Prices
    values: Values
    """By sentence, block and vector, in units of 2**-16."""
    blocks: npt.NDArray[np.uint8]
    """1 for those that agree."""


class MessageBounds:
    """Improves messages, and writes them as certificates have them."""

    def __init__(self, problem: native.CountProblem, tags: int) -> None:
        self.problem = problem
        self.kernel = native.CountAgreement(problem)
        self._tags = tags
        self._order = cache(lambda block: self.kernel.in_order(problem, block))

    def of_prices(self, mu: Prices) -> DualMessages:
        """The messages that say the same as prices."""
        values = self.kernel.from_prices(self.problem, mu)
        return DualMessages(mu, values, np.zeros(len(self.problem.block_coordinates), np.uint8))

    def improved(
        self,
        box: native.CountBox,
        start: DualMessages,
        *,
        threshold: int,
        sweeps: int,
        least_gain: float,
        seconds: float,
    ) -> tuple[native.Agreement, DualMessages]:
        """A bound of the box from messages at least as good as those given, and these."""
        found = self.kernel.improve(
            self.problem,
            box,
            start.prices,
            start.values,
            threshold=threshold,
            most_sweeps=sweeps,
            precision=least_gain,
            seconds=seconds,
        )
        return found, DualMessages(start.prices, found.messages, found.blocks)

    def tighten(self, box: native.CountBox, found: native.Agreement, threshold: int) -> bool:
        """Delete what the bound found last excludes from its box; False: nothing is left."""
        return self.kernel.tighten(box, found, threshold)

    def written(self, messages: DualMessages, coordinates: npt.NDArray[np.int64]) -> dict[str, Any]:
        """For a certificate: prices of the coordinates, numbers of the blocks, their messages (sentence after sentence, vectors in
        lexicographic order)."""
        agreeing = np.flatnonzero(messages.blocks).tolist()
        order = np.concatenate([self._order(b) for b in agreeing]) if agreeing else np.zeros(0, np.int64)
        return {
            "prices": messages.prices[coordinates].tolist(),
            "blocks": [self.number_of(b) for b in agreeing],
            "messages": packed(messages.values[order]),
        }

    def read(self, written: dict[str, Any], coordinates: Any) -> DualMessages:
        """The same from a certificate of a search of our own (a checkpoint)."""
        start = np.zeros(self.problem.coordinates, np.int64)
        start[coordinates] = written["prices"]
        numbers = [self.number_of(b) for b in range(len(self.problem.block_coordinates))]
        agreeing = [numbers.index(b) for b in written["blocks"]]
        blocks = np.zeros(len(numbers), np.uint8)
        blocks[agreeing] = 1
        values = self.kernel.from_prices(self.problem, start)
        order = np.concatenate([self._order(b) for b in agreeing]) if agreeing else np.zeros(0, np.int64)
        values[order] = unpacked(written["messages"])
        return DualMessages(start, values, blocks)

    def number_of(self, block: int) -> int:
        """A block as certificates number them: 0 for the roots, then left sides by head tag, then right sides."""
        last, t = self.problem.block_coordinates[block][-1], self._tags
        return 0 if last < t else (last - 2 * t) // (t + 1) + 1


def packed(values: Values) -> str:
    """Integers as text: little-endian, compressed, base64."""
    return base64.b64encode(zlib.compress(values.astype("<i4").tobytes(), 6)).decode()


def unpacked(text: str) -> Values:
    """The other way round."""
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), "<i4").astype(np.int32)
