"""Partition function and marginals of non-projective trees: the Matrix-Tree theorem without subtraction.

Koo et al. 2007, Smith & Smith 2007 and McDonald & Satta 2007 invert a Laplacian, and lose all precision where
scores are far apart. Here marginals are probabilities of a random walk whose states are eliminated one by
one, using only additions, multiplications and divisions of non-negative numbers (Grassmann, Taksar & Heyman
1985): full relative accuracy for any scores. Numbers are doubles, or doubles with a wider exponent where a
relevant term could underflow. See docs/explanation/single-root-elimination.md.

Words are 1..n, 0 is the root; ``scores[h, m]`` is the score of the arc h → m, and -inf forbids it; column 0
and the diagonal are not read. ``single_root``: exactly one arc leaves the root. ``_batch`` functions take
sentences of any lengths in one native call."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.inference.arc_matrices import MINUS_INFINITY, ArcMatrices, Floats, as_matrix, why_no_value
from arcwise.inference.kernels import NATIVE
from arcwise.inference.tree_class import NON_PROJECTIVE


def matrix_tree_log_partition(scores: npt.ArrayLike, *, single_root: bool) -> float:
    """Return log Z = log Σ exp(score) over all trees. O(n³).

    >>> from math import exp
    >>> round(exp(matrix_tree_log_partition(np.zeros((4, 4)), single_root=True)), 9)  # of 3 words
    9.0
    """
    value = native.matrix_tree_log_partition(as_matrix(scores), single_root)
    if not value > MINUS_INFINITY:
        raise why_no_value(scores)
    return value


def matrix_tree_log_partition_batch(
    scores: Sequence[npt.ArrayLike], *, single_root: bool, threads: int = 1
) -> Floats:
    """Run ``matrix_tree_log_partition`` on every sentence, shape (B,)."""
    batch = ArcMatrices.of(scores)
    values = NATIVE.log_partition(batch, NON_PROJECTIVE[bool(single_root)], threads)
    batch.require_trees(values)
    return values


def matrix_tree_marginals(scores: npt.ArrayLike, *, single_root: bool) -> tuple[Floats, float]:
    """Return the probability of every arc, shape (n+1, n+1), and log Z.

    O(n³), about as much work as one inverse.

    >>> marginals, log_partition = matrix_tree_marginals(np.zeros((3, 3)), single_root=False)
    >>> marginals.round(3).tolist()  # three trees over two words
    [[0.0, 0.667, 0.667], [0.0, 0.0, 0.333], [0.0, 0.333, 0.0]]
    """
    matrix = as_matrix(scores)
    marginals = np.empty(matrix.shape)
    value = native.matrix_tree_marginals(matrix, single_root, marginals)
    if not value > MINUS_INFINITY:
        raise why_no_value(scores)
    return marginals, value


def matrix_tree_marginals_batch(
    scores: Sequence[npt.ArrayLike], *, single_root: bool, threads: int = 1
) -> tuple[list[Floats], Floats]:
    """Run ``matrix_tree_marginals`` on every sentence: a list of matrices, and log Z, shape (B,)."""
    batch = ArcMatrices.of(scores)
    flat, log_partitions = NATIVE.marginals(batch, NON_PROJECTIVE[bool(single_root)], threads)
    return list(batch.matrices(flat)), log_partitions
