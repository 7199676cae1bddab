"""Projective trees (Eisner 1996): best tree, k best, partition function, marginals, samples.

Words are 1..n, 0 is the root; ``scores[h, m]`` is the score of the arc h → m, and -inf forbids it; column 0
and the diagonal are not read. ``single_root``: exactly one arc leaves the root. ``_batch`` functions take
sentences of any lengths in one native call. Everything is exact: arithmetic is in doubles, and switches to
logarithms where the scores are too far apart for them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.inference.arc_matrices import MINUS_INFINITY, ArcMatrices, Floats, Heads, as_matrix, why_no_value
from arcwise.inference.kernels import NATIVE
from arcwise.inference.tree_class import PROJECTIVE


def eisner_decode(scores: npt.ArrayLike, *, single_root: bool) -> tuple[Heads, float]:
    """Return the heads of the best projective tree, shape (n+1,), and its score. O(n³).

    >>> scores = np.array([[0, 1, 9, 1], [0, 0, 2, 1], [0, 8, 0, 7], [0, 1, 1, 0]])
    >>> heads, value = eisner_decode(scores, single_root=True)
    >>> heads.tolist(), value
    ([-1, 2, 0, 2], 24.0)
    """
    matrix = as_matrix(scores)
    heads = np.empty(len(matrix), np.int32)
    value = native.eisner_decode(matrix, single_root, heads)
    if not value > MINUS_INFINITY:
        raise why_no_value(scores)
    return heads, value


def eisner_decode_batch(
    scores: Sequence[npt.ArrayLike], *, single_root: bool, threads: int = 1
) -> tuple[list[Heads], Floats]:
    """Run ``eisner_decode`` on every sentence: a list of heads, and the scores, shape (B,)."""
    batch = ArcMatrices.of(scores)
    heads, values = NATIVE.decode(batch, PROJECTIVE[bool(single_root)], threads)
    return [rows[0] for rows in batch.heads(heads)], values


def eisner_k_best(scores: npt.ArrayLike, *, k: int, single_root: bool) -> tuple[Heads, Floats]:
    """Return the k best projective trees, best first: heads, shape (K, n+1), and scores, shape (K,).

    K < k if there are fewer trees.

    Lazy k-best (Huang & Chiang 2005, algorithm 3) over the chart: O(n³ + k n log(k n)).

    >>> heads, values = eisner_k_best(np.zeros((3, 3)), k=10, single_root=True)
    >>> heads.tolist()
    [[-1, 0, 1], [-1, 2, 0]]
    """
    heads, values = eisner_k_best_batch([scores], k=k, single_root=single_root)
    return heads[0], values[0]


def eisner_k_best_batch(
    scores: Sequence[npt.ArrayLike], *, k: int, single_root: bool, threads: int = 1
) -> tuple[list[Heads], list[Floats]]:
    """Run ``eisner_k_best`` on every sentence."""
    return NATIVE.k_best(ArcMatrices.of(scores), PROJECTIVE[bool(single_root)], k, threads)


def eisner_log_partition(scores: npt.ArrayLike, *, single_root: bool) -> float:
    """Return log Z = log Σ exp(score) over all projective trees. O(n³).

    >>> from math import exp
    >>> round(exp(eisner_log_partition(np.zeros((4, 4)), single_root=True)), 9)  # three words have 7 trees
    7.0
    """
    value = native.eisner_log_partition(as_matrix(scores), single_root)
    if not value > MINUS_INFINITY:
        raise why_no_value(scores)
    return value


def eisner_log_partition_batch(
    scores: Sequence[npt.ArrayLike], *, single_root: bool, threads: int = 1
) -> Floats:
    """Run ``eisner_log_partition`` on every sentence, shape (B,)."""
    batch = ArcMatrices.of(scores)
    values = NATIVE.log_partition(batch, PROJECTIVE[bool(single_root)], threads)
    batch.require_trees(values)
    return values


def eisner_marginals(scores: npt.ArrayLike, *, single_root: bool) -> tuple[Floats, float]:
    """Return the probability of every arc, shape (n+1, n+1), and log Z: inside-outside, O(n³).

    >>> marginals, log_partition = eisner_marginals(np.zeros((3, 3)), single_root=False)
    >>> marginals.round(3).tolist()  # three trees over two words
    [[0.0, 0.667, 0.667], [0.0, 0.0, 0.333], [0.0, 0.333, 0.0]]
    """
    matrix = as_matrix(scores)
    probabilities = np.empty(matrix.shape)
    log_partition = native.eisner_marginals(matrix, single_root, probabilities)
    if not log_partition > MINUS_INFINITY:
        raise why_no_value(scores)
    return probabilities, log_partition


def eisner_marginals_batch(
    scores: Sequence[npt.ArrayLike], *, single_root: bool, threads: int = 1
) -> tuple[list[Floats], Floats]:
    """Run ``eisner_marginals`` on every sentence: a list of matrices, and log Z, shape (B,)."""
    batch = ArcMatrices.of(scores)
    flat, log_partitions = NATIVE.marginals(batch, PROJECTIVE[bool(single_root)], threads)
    return list(batch.matrices(flat)), log_partitions


def eisner_sample(scores: npt.ArrayLike, *, count: int, seed: int, single_root: bool) -> Heads:
    """Draw ``count`` trees independently from p(tree) = exp(score) / Z, shape (count, n+1).

    Top-down through the inside chart: O(n³) once, then O(n²) per draw. The same seed draws the same trees on
    every machine.

    >>> eisner_sample(np.zeros((3, 3)), count=4, seed=1, single_root=True).shape
    (4, 3)
    """
    return eisner_sample_batch([scores], count=count, seed=seed, single_root=single_root)[0]


def eisner_sample_batch(
    scores: Sequence[npt.ArrayLike], *, count: int, seed: int, single_root: bool, threads: int = 1
) -> list[Heads]:
    """Run ``eisner_sample`` on every sentence; each has its own random stream, at any thread count."""
    return NATIVE.sample(ArcMatrices.of(scores), PROJECTIVE[bool(single_root)], count, seed, 0, threads)
