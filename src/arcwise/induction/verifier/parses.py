"""Feature counts of the trees of a sentence, computed independently of the search.

Coordinates of a tree over tags 0..T-1, as in certificates: ``t``: the root has tag t. ``T + b(T+1) + t``:
arcs from a head of block b to a child of tag t, where block b = side·T + tag of the head, side 0 left and 1
right. ``T + b(T+1) + T``: words of block b with a child ("some"). ``T + 2T(T+1) + b``: all arcs of block b
("children"). Last: arcs that the constraint counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Coordinates:
    """Numbering of the coordinates."""

    tags: int

    def child(self, block: int, tag: int) -> int:
        """Arcs of a block to a child tag."""
        return self.tags + block * (self.tags + 1) + tag

    def some(self, block: int) -> int:
        """Words of a block with a child."""
        return self.child(block, self.tags)

    def children(self, block: int) -> int:
        """All arcs of a block."""
        return self.priced + block

    @property
    def priced(self) -> int:
        """Number of coordinates that have prices; they determine the others."""
        return self.tags + 2 * self.tags * (self.tags + 1)

    @property
    def constrained(self) -> int:
        """Arcs that the constraint counts."""
        return self.priced + 2 * self.tags

    @property
    def count(self) -> int:
        """Number of coordinates."""
        return self.constrained + 1


def tree_counts(at: Coordinates, tags: Sequence[int], heads: Sequence[int], marked: Ints) -> Ints:
    """Coordinates of one tree; ``heads[m-1]`` is the head of word m."""
    counts = np.zeros(at.count, np.int64)
    for i, tag in enumerate(tags, 1):
        for side, others in ((0, range(1, i)), (1, range(i + 1, len(tags) + 1))):
            block = side * at.tags + tag
            children = [tags[m - 1] for m in others if heads[m - 1] == i]
            for child in children:
                counts[at.child(block, child)] += 1
            counts[at.children(block)] += len(children)
            counts[at.some(block)] += bool(children)
        counts[tag] += heads[i - 1] == 0
    counts[at.constrained] = counts @ marked
    return counts


def is_projective_tree(heads: Sequence[int]) -> bool:
    """Whether the heads form a projective tree with one root."""
    n = len(heads)
    if not all(isinstance(h, int) for h in heads):
        return False
    if sorted(heads).count(0) != 1 or any(not 0 <= h <= n or h == m for m, h in enumerate(heads, 1)):
        return False
    for m in range(1, n + 1):
        seen, at = 0, m
        while at and seen <= n:
            at, seen = heads[at - 1], seen + 1
        if at:
            return False
    arcs = [(min(h, m), max(h, m)) for m, h in enumerate(heads, 1)]
    return not any(a < c < b < d for a, b in arcs for c, d in arcs)


def count_vectors(at: Coordinates, tags: Sequence[int], marked: Ints) -> Ints:
    """Distinct coordinate vectors of all trees of a sentence, one per row.

    The usual chart, with sets of vectors as values: ``half[side, h, e]`` for the children of word h on a
    side, which cover the words up to e.
    """
    n = len(tags)
    half: dict[tuple[int, int, int], Ints] = {}
    unfinished: dict[tuple[int, int, int], Ints] = {}
    for width in range(n):
        for side in (0, 1):
            for head in range(1, n + 1):
                end = head + (width if side else -width)
                if 1 <= end <= n:
                    _fill(at, tags, half, unfinished, side, head, end)
    whole = []
    for r in range(1, n + 1):
        root = np.zeros((1, at.count), np.int64)
        root[0, tags[r - 1]] = 1
        whole.append(_sums(_sums(half[0, r, 1], half[1, r, n]), root))
    vectors = _different(whole)
    vectors[:, at.constrained] = vectors @ marked
    return vectors


def _fill(
    at: Coordinates,
    tags: Sequence[int],
    half: dict[tuple[int, int, int], Ints],
    unfinished: dict[tuple[int, int, int], Ints],
    side: int,
    head: int,
    end: int,
) -> None:
    nothing = np.zeros((1, at.count), np.int64)
    if head == end:
        half[side, head, end] = nothing
        return
    step, block = (1, at.tags + tags[head - 1]) if side else (-1, tags[head - 1])
    vectors = []
    for child in range(head + step, end + step, step):  # the outermost child
        arc = nothing.copy()
        arc[0, at.child(block, tags[child - 1])] = arc[0, at.children(block)] = 1
        outer = _sums(arc, half[side, child, end])
        for k in range(head, child, step):  # earlier children cover the words up to k
            before = nothing if k == head else unfinished[side, head, k]
            vectors.append(_sums(_sums(outer, half[1 - side, child, k + step]), before))
    unfinished[side, head, end] = _different(vectors)
    half[side, head, end] = unfinished[side, head, end].copy()
    half[side, head, end][:, at.some(block)] += 1


def _sums(a: Ints, b: Ints) -> Ints:
    """Distinct sums of a row of a and a row of b."""
    return _different([(a[:, None, :] + b[None, :, :]).reshape(-1, a.shape[1])])


def _different(parts: list[Ints]) -> Ints:
    rows = np.concatenate(parts)
    if len(rows) < 2:
        return rows
    small = np.ascontiguousarray(rows.astype(np.uint8))  # counts of an enumerated sentence are below 256
    _, first = np.unique(small.view(np.dtype((np.void, small.shape[1]))).ravel(), return_index=True)
    return rows[first]


def best_values(at: Coordinates, tags: Sequence[int], prices: Ints) -> Ints:
    """Maximum over trees of coordinates . prices, for each column of ``prices`` (integer Viterbi, O(n³))."""
    n = len(tags)
    right: dict[tuple[int, int], Ints] = {}
    left: dict[tuple[int, int], Ints] = {}
    right_open: dict[tuple[int, int], Ints] = {}
    left_open: dict[tuple[int, int], Ints] = {}
    zero = np.zeros(prices.shape[1], np.int64)
    for i in range(1, n + 1):
        right[i, i] = left[i, i] = zero
    right_arc: dict[tuple[int, int], Ints] = {}
    left_arc: dict[tuple[int, int], Ints] = {}
    for width in range(1, n):
        for i in range(1, n - width + 1):
            j = i + width
            to_right, to_left = at.tags + tags[i - 1], tags[j - 1]
            # The first child on a side adds the price of "some".
            ways = [left[i + 1, j] + prices[at.some(to_right)]]
            ways += [right_open[i, k] + left[k + 1, j] for k in range(i + 1, j)]
            right_arc[i, j] = np.maximum.reduce(ways) + prices[at.child(to_right, tags[j - 1])]
            ways = [right[i, j - 1] + prices[at.some(to_left)]]
            ways += [right[i, k - 1] + left_open[k, j] for k in range(i + 1, j)]
            left_arc[i, j] = np.maximum.reduce(ways) + prices[at.child(to_left, tags[i - 1])]
            right_open[i, j] = np.maximum.reduce([right_arc[i, k] + right[k, j] for k in range(i + 1, j + 1)])
            left_open[i, j] = np.maximum.reduce([left[i, k] + left_arc[k, j] for k in range(i, j)])
            right[i, j], left[i, j] = right_open[i, j], left_open[i, j]
    best: Ints = np.maximum.reduce([left[1, r] + right[r, n] + prices[tags[r - 1]] for r in range(1, n + 1)])
    return best
