"""Dual bounds by messages between blocks and sentences, and their serialization in certificates.

With prices on counts, a block may choose any point, whether or not parses add up to it. With messages, every
block chooses what each sentence adds to it, and there is a multiplier for every vector that a sentence can
add to a block (native/kernels/induction/count_agreement.hpp). Bounds at the root become as tight as those of
thousands of nodes with prices only.
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
    """Multipliers of a bound: messages in ``blocks``, prices of counts in the other blocks."""

    prices: Prices
    values: Values
    """By sentence, block and vector, in units of 2**-16."""
    blocks: npt.NDArray[np.uint8]
    """1 for blocks with messages."""


class MessageBounds:
    """Improves messages, and serializes them for certificates."""

    def __init__(self, problem: native.CountProblem, tags: int) -> None:
        self.problem = problem
        self.kernel = native.CountAgreement(problem)
        self._tags = tags
        self._order = cache(lambda block: self.kernel.in_order(problem, block))

    def of_prices(self, mu: Prices) -> DualMessages:
        """The messages equivalent to prices."""
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
        """Improve messages for a box; return the bound and the messages, at least as good as ``start``."""
        agreement = self.kernel.improve(
            self.problem,
            box,
            start.prices,
            start.values,
            threshold=threshold,
            most_sweeps=sweeps,
            precision=least_gain,
            seconds=seconds,
        )
        return agreement, DualMessages(start.prices, agreement.messages, agreement.blocks)

    def tighten(self, box: native.CountBox, agreement: native.Agreement, threshold: int) -> bool:
        """Remove from a box what its latest bound excludes; return False if nothing is left."""
        return self.kernel.tighten(box, agreement, threshold)

    def written(self, messages: DualMessages, coordinates: npt.NDArray[np.int64]) -> dict[str, Any]:
        """Serialize for a certificate: prices of the coordinates, block numbers, and the blocks' messages.

        Messages are ordered by sentence, then by vector in lexicographic order.
        """
        agreeing = np.flatnonzero(messages.blocks).tolist()
        order = np.concatenate([self._order(b) for b in agreeing]) if agreeing else np.zeros(0, np.int64)
        return {
            "prices": messages.prices[coordinates].tolist(),
            "blocks": [self.number_of(b) for b in agreeing],
            "messages": packed(messages.values[order]),
        }

    def read(self, written: dict[str, Any], coordinates: Any) -> DualMessages:
        """Restore messages from the certificate in a checkpoint."""
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
        """Number of a block in certificates.

        It is 0 for the roots, then left sides by head tag, then right sides.
        """
        last, t = self.problem.block_coordinates[block][-1], self._tags
        return 0 if last < t else (last - 2 * t) // (t + 1) + 1


def packed(values: Values) -> str:
    """Encode integers as text: little-endian, zlib, base64."""
    # Little-endian on every machine, since certificates are exchanged.
    return base64.b64encode(zlib.compress(values.astype("<i4").tobytes(), 6)).decode()


def unpacked(text: str) -> Values:
    """Decode ``packed``."""
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), "<i4").astype(np.int32)
