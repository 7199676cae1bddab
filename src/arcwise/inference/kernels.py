"""The five operations that everything asked of a distribution is made of: the seam for array libraries.

| operation | projective | non-projective |
|---|---|---|
| decode, k_best | ``eisner`` | ``spanning_tree`` |
| log_partition, marginals | ``eisner`` | ``matrix_tree`` |
| sample | ``eisner`` (through the inside chart) | ``wilson`` (loop-erased walks) |
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.inference.arc_matrices import ArcMatrices, Floats, Heads
from arcwise.inference.arguments import seed_number, thread_count, tree_count
from arcwise.inference.tree_class import TreeClass


class TreeKernels(Protocol):
    """The operations over a batch of arc matrices, one implementation for each array library. Results are flat over the batch."""

    def decode(self, batch: ArcMatrices, trees: TreeClass, threads: int) -> tuple[Heads, Floats]:
        """The heads of the best tree of each sentence, one after the other, and the scores, shape (B,)."""
        ...

    def k_best(
        self, batch: ArcMatrices, trees: TreeClass, k: int, threads: int
    ) -> tuple[list[Heads], list[Floats]]:
        """The k best trees of each sentence, best first: heads, shape (K, n+1), and scores, shape (K,), K <= k."""
        ...

    def log_partition(self, batch: ArcMatrices, trees: TreeClass, threads: int) -> Floats:
        """log Σ exp(score) over the trees of each sentence, shape (B,); -inf where there is none."""
        ...

    def marginals(self, batch: ArcMatrices, trees: TreeClass, threads: int) -> tuple[Floats, Floats]:
        """The probability of every arc, placed as the scores are, and log Z, shape (B,)."""
        ...

    def sample(
        self, batch: ArcMatrices, trees: TreeClass, count: int, seed: int, stream: int, threads: int
    ) -> list[Heads]:
        """``count`` draws of each sentence, shape (count, n+1); sentence s draws from stream ``stream + s`` of the seed."""
        ...


class NativeKernels:
    """numpy arrays, by the kernels in C++."""

    def decode(self, batch: ArcMatrices, trees: TreeClass, threads: int) -> tuple[Heads, Floats]:
        """The best tree of each sentence."""
        threads = thread_count(threads)
        if trees.projective:
            heads, values = native.eisner_decode_batch(*_arguments(batch, trees), threads, *_spans(batch))
        else:
            heads, values = native.spanning_tree_decode_batch(*_arguments(batch, trees), threads)
        batch.require_trees(values)
        return heads, values

    def k_best(
        self, batch: ArcMatrices, trees: TreeClass, k: int, threads: int
    ) -> tuple[list[Heads], list[Floats]]:
        """The k best trees of each sentence."""
        k, threads = tree_count("k", k, int(batch.head_starts[-1]), 1), thread_count(threads)
        if trees.projective:
            flat, values, counts = native.eisner_k_best_batch(
                *_arguments(batch, trees), k, threads, *_spans(batch)
            )
        else:
            flat, values, counts = native.spanning_tree_k_best_batch(*_arguments(batch, trees), k, threads)
        return batch.k_best(flat, values, counts)

    def log_partition(self, batch: ArcMatrices, trees: TreeClass, threads: int) -> Floats:
        """log Z of each sentence."""
        threads = thread_count(threads)
        if trees.projective:
            return native.eisner_log_partition_batch(*_arguments(batch, trees), threads, *_spans(batch))
        return native.matrix_tree_log_partition_batch(*_arguments(batch, trees), threads)

    def marginals(self, batch: ArcMatrices, trees: TreeClass, threads: int) -> tuple[Floats, Floats]:
        """The probability of every arc, and log Z."""
        threads = thread_count(threads)
        if trees.projective:
            flat, values = native.eisner_marginals_batch(*_arguments(batch, trees), threads, *_spans(batch))
        else:
            flat, values = native.matrix_tree_marginals_batch(*_arguments(batch, trees), threads)
        batch.require_trees(values)
        return flat, values

    def sample(
        self, batch: ArcMatrices, trees: TreeClass, count: int, seed: int, stream: int, threads: int
    ) -> list[Heads]:
        """``count`` draws of each sentence."""
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


def _arguments(
    batch: ArcMatrices, trees: TreeClass
) -> tuple[Floats, npt.NDArray[np.int64], npt.NDArray[np.int32], bool]:
    return batch.flat, batch.offsets, batch.lengths, trees.single_root


def _spans(batch: ArcMatrices) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    return batch.span_ends, batch.span_starts
