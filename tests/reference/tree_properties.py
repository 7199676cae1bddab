"""Properties of trees straight from their definitions (Kuhlmann and Nivre 2006), as slowly as need be.

``heads[m - 1]`` is the head of word m, 0 the root, -1 unknown.
"""

from collections.abc import Sequence
from itertools import combinations, pairwise

Heads = Sequence[int]


def dominates(heads: Heads, above: int, below: int) -> bool:
    """Whether a path leads from ``above`` down to ``below``; the root dominates all."""
    while below > 0 and below != above:
        below = heads[below - 1]
    return below == above or above == 0


def tree_yield(heads: Heads, word: int) -> list[int]:
    return [k for k in range(1, len(heads) + 1) if dominates(heads, word, k)]


def arcs(heads: Heads, *, root_arcs: bool = True) -> list[tuple[int, int]]:
    return [(h, m) for m, h in enumerate(heads, 1) if h > 0 or (h == 0 and root_arcs)]


def non_projective_arcs(heads: Heads) -> list[tuple[int, int]]:
    return [
        (h, m)
        for h, m in arcs(heads)
        if not all(dominates(heads, h, k) for k in range(min(h, m) + 1, max(h, m)))
    ]


def crossing_arcs(heads: Heads, *, root_arcs: bool = True) -> set[frozenset[tuple[int, int]]]:
    return {
        frozenset({a, b})
        for a, b in combinations(arcs(heads, root_arcs=root_arcs), 2)
        if min(a) < min(b) < max(a) < max(b) or min(b) < min(a) < max(b) < max(a)
    }


def gap_degree(heads: Heads) -> int:
    yields = [tree_yield(heads, v) for v in range(1, len(heads) + 1)]
    return max(sum(b - a > 1 for a, b in pairwise(y)) for y in yields)


def edge_degree(heads: Heads) -> int:
    return max((_degree(heads, h, m) for h, m in arcs(heads)), default=0)


def _degree(heads: Heads, head: int, modifier: int) -> int:
    inside = set(range(min(head, modifier) + 1, max(head, modifier)))
    components = {k: {k} for k in inside}
    for k in inside:
        if heads[k - 1] in inside:
            joined = components[k] | components[heads[k - 1]]
            components |= dict.fromkeys(joined, joined)
    outside = 0
    for component in {frozenset(c) for c in components.values()}:
        (root,) = (k for k in component if heads[k - 1] not in component)
        outside += not dominates(heads, head, root)
    return outside


def is_well_nested(heads: Heads) -> bool:
    yields = [tree_yield(heads, v) for v in range(1, len(heads) + 1)]
    disjoint = [(a, b) for a, b in combinations(yields, 2) if not set(a) & set(b)]
    return not any(_interleave(a, b) or _interleave(b, a) for a, b in disjoint)


def _interleave(first: list[int], second: list[int]) -> bool:
    return any(l1 < l2 < r1 < r2 for l1, r1 in combinations(first, 2) for l2, r2 in combinations(second, 2))


def depth(heads: Heads) -> int:
    return max(
        sum(dominates(heads, a, w) for a in range(1, len(heads) + 1)) for w in range(1, len(heads) + 1)
    )
