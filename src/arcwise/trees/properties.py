"""Properties of trees: projective, planar, well-nested, and degrees of non-projectivity.

Definitions follow Kuhlmann and Nivre 2006, "Mildly non-projective dependency structures". Throughout:

- A word *dominates* itself, its modifiers, their modifiers, and so on; its *yield* is the words it dominates.
- The root dominates every word, so an arc from the root is never non-projective, and the root has no gaps.
  The root is at position 0, before the first word, so an arc from it can cross another arc; each function
  says whether it counts.
- In a partial tree, a word with an unknown head is the top of a separate fragment, and no arc leads to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.errors import InputError
from arcwise.trees.tree import Tree

Arc = tuple[int, int]
"""(head, modifier)"""

Counts = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]


_LONG_SENTENCE = 20_000  # words up to which any tree takes a second
_MAX_WORK = 4 * 10**9  # words under arcs, and pairs of arcs


@dataclass(frozen=True)
class TreeProperties:
    """Properties of S trees with W words in total: arrays of shape (S,), and two of shape (W,)."""

    roots: Counts
    """Words whose head is the root."""
    depth: Counts
    """Words on the longest path downwards from the root (or from a word with an unknown head)."""
    gap_degree: Counts
    edge_degree: Counts
    crossings: Counts
    """Pairs of arcs that cross, including arcs from the root."""
    planar: Flags
    """Whether no two arcs between words cross."""
    well_nested: Flags
    non_projective_arcs: Flags
    """Shape (W,): whether the arc to a word is non-projective."""
    crossing_arcs: Flags
    """Shape (W,): whether the arc to a word crosses another one, including arcs from the root."""


def tree_properties(
    heads: npt.NDArray[np.int32], sentence_words: npt.NDArray[np.uint32] | None = None
) -> TreeProperties:
    """Compute all properties of many trees in one native call. O(n²) per tree, about linear in practice.

    heads: the heads of all words, flat and without the root. sentence_words: tree s has the words
    ``sentence_words[s] .. sentence_words[s+1]-1`` (as in ``Treebank``); by default there is one tree.

    >>> trees = tree_properties(np.array([2, 0, 3, 0, 2, 2], np.int32), np.array([0, 2, 6], np.uint32))
    >>> trees.roots.tolist(), trees.gap_degree.tolist(), trees.non_projective_arcs.tolist()
    ([1, 1], [0, 1], [False, False, True, False, False, False])
    """
    if sentence_words is None:
        sentence_words = np.array([0, len(heads)], np.uint32)
    _check_work(heads, sentence_words)
    try:
        measures, non_projective, crossing = native.tree_properties(
            np.ascontiguousarray(heads, np.int32), np.ascontiguousarray(sentence_words, np.uint32)
        )
    except ValueError as error:
        raise InputError(f"heads: {error}") from None
    roots, depth, gap_degree, edge_degree, crossings, with_root_arcs, well_nested = measures.T
    return TreeProperties(
        roots=roots,
        depth=depth,
        gap_degree=gap_degree,
        edge_degree=edge_degree,
        crossings=crossings,
        planar=crossings == with_root_arcs,
        well_nested=well_nested.astype(bool),
        non_projective_arcs=non_projective.view(bool),
        crossing_arcs=crossing.view(bool),
    )


def _check_work(heads: npt.NDArray[np.int32], sentence_words: npt.NDArray[np.uint32]) -> None:
    """Refuse trees for which comparing all pairs of arcs would take minutes."""
    for first, end in pairwise(sentence_words.tolist()):
        if end - first <= _LONG_SENTENCE:
            continue
        sentence_heads = heads[first:end]
        spans = np.abs(sentence_heads - np.arange(1, end - first + 1, dtype=np.int64))[sentence_heads >= 0]
        work = int(spans.sum()) + int((spans > 1).sum()) ** 2 // 2
        if work > _MAX_WORK:
            raise InputError(
                f"heads: a tree of {end - first} words has too many long arcs to look for crossings"
            )


def _of(tree: Tree) -> TreeProperties:
    return tree_properties(tree.heads[1:])


def is_projective(tree: Tree) -> bool:
    """Whether every arc is projective: its head dominates all words between head and modifier.

    A complete tree is projective exactly if no two arcs cross, including arcs from the root.

    >>> is_projective(Tree.from_heads([2, 0, 2])), is_projective(Tree.from_heads([3, 0, 2]))
    (True, False)
    """
    return not _of(tree).non_projective_arcs.any()


def non_projective_arcs(tree: Tree) -> list[Arc]:
    """The arcs (head, modifier) that span a word not dominated by the head; never an arc from the root.

    >>> non_projective_arcs(Tree.from_heads([3, 0, 2]))
    [(3, 1)]
    """
    modifiers = np.flatnonzero(_of(tree).non_projective_arcs) + 1
    return [(int(tree.heads[m]), int(m)) for m in modifiers]


def crossing_arcs(tree: Tree, *, root_arcs: bool = True) -> list[tuple[Arc, Arc]]:
    """All pairs of crossing arcs, each arc as (head, modifier), the one that starts further left first.

    O(n²). Two arcs cross if each has exactly one end strictly between the ends of the other. root_arcs:
    include arcs from the root, as arcs from position 0.

    >>> crossing_arcs(Tree.from_heads([3, 0, 2]))
    [((0, 2), (3, 1))]
    >>> crossing_arcs(Tree.from_heads([3, 0, 2]), root_arcs=False)
    []
    """
    arcs = [(h, m) for h, m in tree.arcs if root_arcs or h > 0]
    if not arcs:
        return []
    left, right = np.sort(np.array(arcs), axis=1).T
    begins_inside = (left[:, None] < left) & (left < right[:, None])
    first, second = np.nonzero(begins_inside & (right[:, None] < right))
    return [(arcs[a], arcs[b]) for a, b in zip(first, second, strict=True)]


def root_count(tree: Tree) -> int:
    """The number of words whose head is the root; unknown heads do not count.

    >>> root_count(Tree.from_heads([0, -1, 0]))
    2
    """
    return len(tree.roots)


def gap_degree(tree: Tree) -> int:
    """The largest number of gaps (interruptions) in the yield of a word; 0 means projective.

    The root has none.

    >>> gap_degree(Tree.from_heads([3, 0, 2])), gap_degree(Tree.from_heads([0, 1, 1]))
    (1, 0)
    """
    return int(_of(tree).gap_degree[0])


def edge_degree(tree: Tree) -> int:
    """The largest number of components strictly under one arc that its head does not dominate.

    0 means projective.

    The components are those of the forest of the words strictly between head and modifier (Nivre 2006,
    "Constraints on non-projective dependency parsing"). Arcs from the root have degree 0.

    >>> edge_degree(Tree.from_heads([5, 0, 2, 2, 2])), edge_degree(Tree.from_heads([5, 0, 0, 0, 0]))
    (1, 3)
    """
    return int(_of(tree).edge_degree[0])


def is_planar(tree: Tree) -> bool:
    """Whether no two arcs cross, ignoring arcs from the root; every projective tree is planar.

    >>> tree = Tree.from_heads([3, 0, 2])
    >>> is_planar(tree), is_projective(tree)
    (True, False)
    """
    return bool(_of(tree).planar[0])


def is_well_nested(tree: Tree) -> bool:
    """Whether no two disjoint subtrees interleave.

    That is, there are no l₁ < l₂ < r₁ < r₂ with l₁, r₁ in one subtree and l₂, r₂ in the other.

    The subtree of the root contains all words and is left out. Every planar tree with one root is
    well-nested.

    >>> is_well_nested(Tree.from_heads([3, 4, 0, 3])), is_well_nested(Tree.from_heads([5, 5, 1, 2, 0]))
    (True, False)
    """
    return bool(_of(tree).well_nested[0])


def depth(tree: Tree) -> int:
    """The number of words on the longest path downwards from the root (or from a word with an unknown head).

    >>> depth(Tree.from_heads([2, 0, 2]))
    2
    """
    return int(_of(tree).depth[0])
