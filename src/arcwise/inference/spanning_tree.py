"""The best non-projective trees: maximum spanning arborescences (Edmonds 1967) in O(n²).

Words are 1..n, 0 is the root; ``scores[h, m]`` is the score of the arc h → m, and -inf forbids it; column 0
and the diagonal are not read. ``single_root``: exactly one arc leaves the root. ``_batch`` functions take
sentences of any lengths in one native call."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.inference.arc_matrices import MINUS_INFINITY, ArcMatrices, Floats, Heads, as_matrix, why_no_value
from arcwise.inference.kernels import NATIVE
from arcwise.inference.tree_class import NON_PROJECTIVE

HEAD_TYPE = np.dtype(np.int32)


def spanning_tree_decode(scores: npt.ArrayLike, *, single_root: bool) -> tuple[Heads, float]:
    """Return the heads of the best tree, shape (n+1,), and its score.

    O(n²): Tarjan 1977; Gabow & Tarjan 1984 for a single root.

    >>> scores = np.array([[0, 9, 10, 9], [0, 0, 20, 3], [0, 30, 0, 30], [0, 11, 0, 0]])
    >>> heads, value = spanning_tree_decode(scores, single_root=True)
    >>> heads.tolist(), value
    ([-1, 2, 0, 2], 70.0)
    """
    matrix = as_matrix(scores)
    heads = np.empty(len(matrix), HEAD_TYPE)
    value = native.spanning_tree_decode(matrix, single_root, heads)
    if not value > MINUS_INFINITY:
        raise why_no_value(scores)
    return heads, value


def spanning_tree_decode_batch(
    scores: Sequence[npt.ArrayLike], *, single_root: bool, threads: int = 1
) -> tuple[list[Heads], Floats]:
    """Run ``spanning_tree_decode`` on every sentence: a list of heads, and the scores, shape (B,)."""
    batch = ArcMatrices.of(scores)
    heads, values = NATIVE.decode(batch, NON_PROJECTIVE[bool(single_root)], threads)
    return [heads[start:end] for start, end in pairwise(batch.head_starts.tolist())], values


def spanning_tree_k_best(scores: npt.ArrayLike, *, k: int, single_root: bool) -> tuple[Heads, Floats]:
    """Return the k best distinct trees, best first: heads, shape (K, n+1), and scores, shape (K,).

    K < k if there are fewer trees. O(k n²): Camerini, Fratta & Maffioli 1980; Zmigrod, Vieira & Cotterell
    2021, here with the single root as part of the order of trees.

    >>> heads, values = spanning_tree_k_best(np.zeros((3, 3)), k=10, single_root=True)
    >>> sorted(heads.tolist())
    [[-1, 0, 1], [-1, 2, 0]]
    """
    heads, values = spanning_tree_k_best_batch([scores], k=k, single_root=single_root)
    return heads[0], values[0]


def spanning_tree_k_best_batch(
    scores: Sequence[npt.ArrayLike], *, k: int, single_root: bool, threads: int = 1
) -> tuple[list[Heads], list[Floats]]:
    """Run ``spanning_tree_k_best`` on every sentence."""
    return NATIVE.k_best(ArcMatrices.of(scores), NON_PROJECTIVE[bool(single_root)], k, threads)
