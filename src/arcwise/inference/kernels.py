"""The six operations on which all inference builds, as an interface for array libraries.

| operation | projective | non-projective |
|---|---|---|
| decode, k_best | ``eisner`` | ``spanning_tree`` |
| log_partition, marginals, marginals_jvp | ``eisner`` | ``matrix_tree`` |
| sample | ``eisner`` (through the inside chart) | ``wilson`` (loop-erased walks) |
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.inference.arc_matrices import MINUS_INFINITY, ArcMatrices, Floats, Heads, why_no_value
from arcwise.inference.arguments import seed_number, thread_count, tree_count
from arcwise.inference.tree_class import TreeClass


class TreeKernels(Protocol):
    """The operations on a batch of arc matrices, implemented once per array library; results are flat."""

    def decode(self, batch: ArcMatrices, trees: TreeClass, threads: int) -> tuple[Heads, Floats]:
        """Return the heads of the best tree of each sentence, concatenated, and the scores, shape (B,)."""
        ...

    def k_best(
        self, batch: ArcMatrices, trees: TreeClass, k: int, threads: int
    ) -> tuple[list[Heads], list[Floats]]:
        """Return the k best trees of each sentence: heads, shape (K, n+1), and scores, shape (K,), K <= k."""
        ...

    def log_partition(self, batch: ArcMatrices, trees: TreeClass, threads: int) -> Floats:
        """Return log Σ exp(score) over the trees of each sentence, shape (B,); -inf if there is none."""
        ...

    def marginals(self, batch: ArcMatrices, trees: TreeClass, threads: int) -> tuple[Floats, Floats]:
        """Return the probability of every arc, laid out as the scores, and log Z, shape (B,)."""
        ...

    def marginals_jvp(self, batch: ArcMatrices, trees: TreeClass, directions: Floats, threads: int) -> Floats:
        """Return the derivative of the marginals along each direction, both (D, size of the scores)."""
        ...

    def sample(
        self, batch: ArcMatrices, trees: TreeClass, count: int, seed: int, stream: int, threads: int
    ) -> list[Heads]:
        """Draw ``count`` trees of each sentence, shape (count, n+1).

        Sentence s uses stream ``stream + s``.
        """
        ...


class NativeKernels:
    """The C++ kernels, for numpy arrays."""

    def decode(self, batch: ArcMatrices, trees: TreeClass, threads: int) -> tuple[Heads, Floats]:
        """See ``TreeKernels.decode``."""
        threads = thread_count(threads)
        if trees.projective:
            heads, values = native.eisner_decode_batch(*_arguments(batch, trees), threads, *_spans(batch))
        else:
            heads, values = native.spanning_tree_decode_batch(*_arguments(batch, trees), threads)
        # Checked here, so that no caller reads the heads of a sentence that has no tree.
        batch.require_trees(values)
        return heads, values

    def k_best(
        self, batch: ArcMatrices, trees: TreeClass, k: int, threads: int
    ) -> tuple[list[Heads], list[Floats]]:
        """See ``TreeKernels.k_best``."""
        k, threads = tree_count("k", k, int(batch.head_starts[-1]), 1), thread_count(threads)
        if trees.projective:
            flat, values, counts = native.eisner_k_best_batch(
                *_arguments(batch, trees), k, threads, *_spans(batch)
            )
        else:
            flat, values, counts = native.spanning_tree_k_best_batch(*_arguments(batch, trees), k, threads)
        return batch.k_best(flat, values, counts)

    def log_partition(self, batch: ArcMatrices, trees: TreeClass, threads: int) -> Floats:
        """See ``TreeKernels.log_partition``."""
        threads = thread_count(threads)
        if trees.projective:
            return native.eisner_log_partition_batch(*_arguments(batch, trees), threads, *_spans(batch))
        return native.matrix_tree_log_partition_batch(*_arguments(batch, trees), threads)

    def marginals(self, batch: ArcMatrices, trees: TreeClass, threads: int) -> tuple[Floats, Floats]:
        """See ``TreeKernels.marginals``."""
        threads = thread_count(threads)
        if trees.projective:
            flat, values = native.eisner_marginals_batch(*_arguments(batch, trees), threads, *_spans(batch))
        else:
            flat, values = native.matrix_tree_marginals_batch(*_arguments(batch, trees), threads)
        batch.require_trees(values)
        return flat, values

    def marginals_jvp(self, batch: ArcMatrices, trees: TreeClass, directions: Floats, threads: int) -> Floats:
        """See ``TreeKernels.marginals_jvp``."""
        arguments = (batch.flat, batch.offsets, batch.lengths, trees.projective, trees.single_root)
        rows = np.ascontiguousarray(directions)
        return native.marginals_jvp_batch(*arguments, rows, thread_count(threads), *_spans(batch))

    def sample(
        self, batch: ArcMatrices, trees: TreeClass, count: int, seed: int, stream: int, threads: int
    ) -> list[Heads]:
        """See ``TreeKernels.sample``."""
        count, threads = tree_count("count", count, int(batch.head_starts[-1]), 0), thread_count(threads)
        seed = seed_number(seed)
        if trees.projective:
            flat, values = native.eisner_sample_batch(
                *_arguments(batch, trees), count, seed, stream, threads, *_spans(batch)
            )
        else:
            flat, values = native.wilson_sample_batch(*_arguments(batch, trees), count, seed, stream, threads)
        batch.require_trees(values)
        return list(batch.heads(flat, count))


NATIVE: TreeKernels = NativeKernels()


def decode_one(scores: Floats, trees: TreeClass) -> Heads:
    """Return the heads of the best tree of one checked matrix, without the arrays that a batch needs."""
    decode = native.eisner_decode if trees.projective else native.spanning_tree_decode
    heads = np.empty(len(scores), np.int32)
    if not decode(scores, trees.single_root, heads) > MINUS_INFINITY:
        raise why_no_value(scores)
    return heads


def log_partition_one(scores: Floats, trees: TreeClass) -> float:
    """Return log Z of one checked matrix."""
    kernel = native.eisner_log_partition if trees.projective else native.matrix_tree_log_partition
    value = kernel(scores, trees.single_root)
    if not value > MINUS_INFINITY:
        raise why_no_value(scores)
    return value


def marginals_one(scores: Floats, trees: TreeClass) -> tuple[Floats, float]:
    """Return the probability of every arc of one checked matrix, shape (n+1, n+1), and log Z."""
    kernel = native.eisner_marginals if trees.projective else native.matrix_tree_marginals
    probabilities = np.empty(scores.shape)
    value = kernel(scores, trees.single_root, probabilities)
    if not value > MINUS_INFINITY:
        raise why_no_value(scores)
    return probabilities, value


def _arguments(
    batch: ArcMatrices, trees: TreeClass
) -> tuple[Floats, npt.NDArray[np.int64], npt.NDArray[np.int32], bool]:
    return batch.flat, batch.offsets, batch.lengths, trees.single_root


def _spans(batch: ArcMatrices) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    return batch.span_ends, batch.span_starts
