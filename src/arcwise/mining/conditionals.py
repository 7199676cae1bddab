"""Exact conditionals: P(head and label of a word | all other annotated arcs); and gaps between best trees."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from arcwise.inference.arc_matrices import ArcMatrices
from arcwise.inference.kernels import NATIVE
from arcwise.inference.tree_class import TreeClass
from arcwise.mining.evidence import Codes, Floats

_WORST = 700.0
"""Log weight by which arcs and labels that a parser does not know are worse than all others."""


def possible_heads(heads: Codes, *, single_root: bool) -> npt.NDArray[np.bool_]:
    """Heads that keep a tree when the arcs of all other words stay, shape (n+1, n) for the words 1..n.

    ``heads``: shape (n,), -1 where unknown. A word can attach to every word outside its own subtree; to the
    root only if another word need not leave it (``single_root``). O(n · depth).

    >>> possible_heads(np.array([2, 0, 2], np.int32), single_root=True).T.astype(int).tolist()
    [[0, 0, 1, 1], [1, 0, 0, 0], [0, 1, 1, 0]]
    """
    n = len(heads)
    possible = np.ones((n + 1, n), np.bool_)
    for word in range(1, n + 1):
        # Every word above `word` (and itself) would close a cycle by attaching to it.
        above = word
        for _ in range(n):
            possible[word, above - 1] = False
            above = int(heads[above - 1])
            if above <= 0:
                break
    if single_root:
        roots = np.flatnonzero(heads == 0)
        if len(roots):
            possible[0] = heads == 0
        if len(roots) == 1:
            possible[1:, roots[0]] = False
    return possible


def arc_conditionals(weights: Floats, heads: Codes, *, single_root: bool) -> Floats:
    """P(head, label | all other annotated arcs), shape (L, n+1, n).

    ``weights``: log weights (L, n+1, n+1). All trees that agree with the other arcs differ in one arc, whose
    weight is all that remains of their score: a softmax over the possible heads and the labels. O(L n²).
    """
    of_words = weights[:, :, 1:]
    possible = possible_heads(heads, single_root=single_root)
    masked = np.where(possible[None], of_words, -np.inf)
    highest = masked.max(axis=(0, 1))
    # A word without a possible arc has no distribution: its column is 0.
    exponentials = np.exp(masked - np.where(np.isfinite(highest), highest, 0.0))
    total = exponentials.sum(axis=(0, 1))
    return np.asarray(exponentials / np.where(total > 0, total, 1.0))


def best_tree_gaps(weights: Floats, heads: Codes, same: npt.NDArray[np.bool_], trees: TreeClass) -> Floats:
    """log weight of the best tree with each annotated arc - that of the best tree without it, shape (n,).

    ``weights``: log weights (L, n+1, n+1). ``same``: shape (L, n), whether a label is that of a word; another
    label of the same head is another arc. One of the two trees is the best of all, so that every word takes
    one decoding: O(n³) in all for non-projective trees, O(n⁴) for projective ones. NaN where no head is
    annotated.
    """
    n = len(heads)
    gaps = np.full(n, np.nan)
    annotated = np.flatnonzero(heads >= 0)
    if not len(annotated):
        return gaps
    best = weights.max(axis=0)
    at = heads[annotated], annotated + 1
    labels, of_words = weights[:, at[0], at[1]], same[:, annotated]
    # Finite, so that there is always a tree.
    worst = best[np.isfinite(best)].min() - _WORST
    with_arc = np.maximum(np.where(of_words, labels, -np.inf).max(axis=0), worst)
    without_arc = np.maximum(np.where(of_words, -np.inf, labels).max(axis=0), worst)
    decoded, value = NATIVE.decode(ArcMatrices.of_checked([best]), trees, 1)
    stands = (decoded[annotated + 1] == heads[annotated]) & (with_arc >= without_arc)
    rivals = np.repeat(best[None], len(annotated), axis=0)
    for number, (head, word) in enumerate(zip(*at, strict=True)):
        if stands[number]:
            rivals[number, head, word] = without_arc[number]
        else:
            rivals[number, :, word] = -np.inf
            rivals[number, head, word] = with_arc[number]
    _, values = NATIVE.decode(ArcMatrices.of(rivals), trees, 1)
    gaps[annotated] = np.where(stands, 1, -1) * (value[0] - values)
    return gaps
