"""Linear constraints on parses and parameters, written down independently of the search.

Columns and rows are numbered as ``arcwise.induction.global_search.theta_certificate`` describes; a
certificate refers to them by number. Every projective tree with one root, with the flow of each arc equal to
the words below it, satisfies all rows, so that a certificate can only choose among true inequalities.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from arcwise.induction.verifier.claim import Constraint
from arcwise.induction.verifier.parses import Coordinates, best_values

LEAST_THETA = -25
"""Parameters that are not used may be this low; those that are used are above it in any corpus."""

LinearRow = tuple[dict[int, int], int | None, int | None]
"""Coefficients by column, lower and upper limit."""


class ParseProgram:
    """Columns with their ranges, and rows.

    sentences: tag numbers with weights. ``f`` and ``theta``: column of each feature that can occur. Features
    are numbered as in ``claim.Constraint``, then T + 2T² + ((side·T + tag)·2 + later)·2 + (0 stop, 1
    continue).
    """

    def __init__(
        self, tags: int, sentences: Sequence[tuple[tuple[int, ...], int]], constraint: Constraint | None
    ) -> None:
        self.tags = tags
        self.low: list[int] = []
        self.high: list[int] = []
        self.rows: list[LinearRow] = []
        features = tags + 2 * tags * tags + 8 * tags
        self._sums: list[dict[int, int]] = [{} for _ in range(features)]
        self._constants = [0] * features
        for words, weight in sentences:
            self._add_parse(words, weight)
        used = [m for m in range(features) if self._sums[m] or self._constants[m]]
        ranges = self._count_ranges(sentences)
        self.f = {m: self._new_column(*ranges[m]) for m in used}
        for m in used:
            row = {**self._sums[m], self.f[m]: -1}
            self.rows.append((row, -self._constants[m], -self._constants[m]))
        if constraint is not None:
            marked = {self.f[m]: 1 for m in used if m in set(constraint.features)}
            self.rows.append((marked, constraint.least, None))
        self.theta = {m: self._new_column(LEAST_THETA, 0) for m in used}

    @property
    def distributions(self) -> list[range]:
        """The features whose probabilities sum to one: roots, children by side and head, decisions."""
        t = self.tags
        first = t + 2 * t * t
        starts = [range(t)] + [range(t + k * t, t + k * t + t) for k in range(2 * t)]
        return starts + [range(first + 2 * k, first + 2 * k + 2) for k in range(4 * t)]

    def _new_column(self, low: int, high: int) -> int:
        self.low.append(low)
        self.high.append(high)
        return len(self.low) - 1

    def _add_parse(self, words: tuple[int, ...], weight: int) -> None:
        n, rows = len(words), self.rows
        pairs = [(h, m) for h in range(n + 1) for m in range(1, n + 1) if h != m]
        arc = {pair: self._new_column(0, 1) for pair in pairs}
        flow = {pair: self._new_column(0, n) for pair in pairs}
        rows.append(({arc[0, m]: 1 for m in range(1, n + 1)}, 1, 1))
        rows.append(({flow[0, m]: 1 for m in range(1, n + 1)}, n, n))
        for w in range(1, n + 1):
            heads = [(h, w) for h in range(n + 1) if h != w]
            rows.append(({arc[pair]: 1 for pair in heads}, 1, 1))
            balance = {flow[pair]: 1 for pair in heads}
            balance |= {flow[w, m]: -1 for m in range(1, n + 1) if m != w}
            rows.append((balance, 1, 1))
        for pair in pairs:
            rows.append(({flow[pair]: 1, arc[pair]: -n}, None, 0))
            a, b = sorted(pair)
            across = {}
            for other in pairs:
                c, d = sorted(other)
                if a < c < b < d or c < a < d < b:
                    across[arc[other]] = 1
            if across:
                rows.append((across | {arc[pair]: n}, None, n))
        for (h, m), column in arc.items():
            child = words[m - 1]
            side = int(m > h)
            feature = child if h == 0 else self.tags * (1 + side * self.tags + words[h - 1]) + child
            self._sums[feature][column] = weight
        for w in range(1, n + 1):
            for side, reach in enumerate((range(1, w), range(w + 1, n + 1))):
                self._add_decisions(words[w - 1], side, [arc[w, m] for m in reach], weight, n)

    def _add_decisions(self, tag: int, side: int, arcs: list[int], weight: int, n: int) -> None:
        """Stop and continue decisions of one word on one side, by the column that says "has a child"."""
        t = self.tags
        stop = t + 2 * t * t + (side * t + tag) * 4
        self._constants[stop] += weight
        if not arcs:
            return
        some = self._new_column(0, 1)
        children = dict.fromkeys(arcs, 1)
        self.rows.append((children | {some: -n}, None, 0))
        self.rows.append((children | {some: -1}, 0, None))
        self._sums[stop][some] = -weight
        self._sums[stop + 1][some] = weight
        self._sums[stop + 2][some] = weight
        self._sums[stop + 3] |= dict.fromkeys(arcs, weight) | {some: -weight}

    def _count_ranges(self, sentences: Sequence[tuple[tuple[int, ...], int]]) -> list[tuple[int, int]]:
        """Least and largest count of each feature in any trees, by Viterbi."""
        t, at = self.tags, Coordinates(self.tags)
        features, decisions = t + 2 * t * t + 8 * t, t + 2 * t * t
        prices = np.zeros((at.count, features), np.int64)
        prices[np.arange(t), np.arange(t)] = 1
        for block in range(2 * t):
            children = [at.child(block, c) for c in range(t)]
            prices[children, t + block * t + np.arange(t)] = 1
            stop, some = decisions + block * 4, at.some(block)
            prices[some, stop] = -1  # words without a child: all but those with one
            prices[some, stop + 1] = prices[some, stop + 2] = 1
            prices[children, stop + 3] = 1
            prices[some, stop + 3] = -1
        low, high = np.array(self._constants), np.array(self._constants)
        for words, weight in sentences:
            high += weight * best_values(at, words, prices)
            low -= weight * best_values(at, words, -prices)
        return list(zip(low.tolist(), high.tolist(), strict=True))
