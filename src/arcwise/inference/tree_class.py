"""The four classes of trees, {projective, non-projective} × {single root, multi root}, and the kernel of each operation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.errors import InputError
from arcwise.inference.score_batch import Floats, Heads, ScoreBatch
from arcwise.trees import Tree, is_projective


@dataclass(frozen=True)
class TreeClass:
    """A class of trees. Every operation exists for all four, exactly; results are flat arrays over the batch.

    | operation | projective | non-projective |
    |---|---|---|
    | decode, k_best | ``eisner`` | ``spanning_tree`` |
    | log_partition, marginals | ``eisner`` | ``matrix_tree`` |
    | sample | ``eisner`` (through the inside chart) | ``wilson`` (loop-erased walks) |
    """

    projective: bool
    single_root: bool

    def __contains__(self, other: object) -> bool:
        """Whether every tree of the other class is one of this class."""
        if not isinstance(other, TreeClass):
            return False
        return self.projective <= other.projective and self.single_root <= other.single_root

    def holds(self, tree: Tree) -> bool:
        """Whether a tree is of this class."""
        return not (self.single_root and len(tree.roots) != 1) and not (
            self.projective and not is_projective(tree)
        )

    def decode(self, batch: ScoreBatch, threads: int) -> tuple[Heads, Floats]:
        """The heads of the best tree of each sentence, one after the other, and the scores, shape (B,)."""
        if self.projective:
            heads, values = native.eisner_decode_batch(*self._arguments(batch), threads, *_spans(batch))
        else:
            heads, values = native.spanning_tree_decode_batch(*self._arguments(batch), threads)
        batch.require_trees(values)
        return heads, values

    def k_best(self, batch: ScoreBatch, k: int, threads: int) -> tuple[list[Heads], list[Floats]]:
        """The k best trees of each sentence, best first: heads, shape (K, n+1), and scores, shape (K,), K <= k."""
        if k < 1:
            raise InputError(f"k: found {k}, expected at least 1")
        if self.projective:
            flat, values, counts = native.eisner_k_best_batch(
                *self._arguments(batch), k, threads, *_spans(batch)
            )
        else:
            flat, values, counts = native.spanning_tree_k_best_batch(*self._arguments(batch), k, threads)
        return batch.k_best(flat, values, counts)

    def log_partition(self, batch: ScoreBatch, threads: int) -> Floats:
        """log Σ exp(score) over the trees of each sentence, shape (B,); -inf where there is none."""
        if self.projective:
            return native.eisner_log_partition_batch(*self._arguments(batch), threads, *_spans(batch))
        return native.matrix_tree_log_partition_batch(*self._arguments(batch), threads)

    def marginals(self, batch: ScoreBatch, threads: int) -> tuple[Floats, Floats]:
        """The probability of every arc, placed as the scores are, and log Z, shape (B,)."""
        if self.projective:
            flat, values = native.eisner_marginals_batch(*self._arguments(batch), threads, *_spans(batch))
        else:
            flat, values = native.matrix_tree_marginals_batch(*self._arguments(batch), threads)
        batch.require_trees(values)
        return flat, values

    def sample(self, batch: ScoreBatch, count: int, seed: int, stream: int, threads: int) -> list[Heads]:
        """``count`` draws of each sentence, shape (count, n+1); sentence s draws from stream ``stream + s`` of the seed."""
        if count < 0:
            raise InputError(f"count: found {count}, expected 0 or more")
        if self.projective:
            flat, values = native.eisner_sample_batch(
                *self._arguments(batch), count, seed, stream, threads, *_spans(batch)
            )
        else:
            flat, values = native.wilson_sample_batch(*self._arguments(batch), count, seed, stream, threads)
        batch.require_trees(values)
        return list(batch.heads(flat, count))

    def _arguments(
        self, batch: ScoreBatch
    ) -> tuple[Floats, npt.NDArray[np.int64], npt.NDArray[np.int32], bool]:
        return batch.flat, batch.offsets, batch.lengths, self.single_root


def _spans(batch: ScoreBatch) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    return batch.span_ends, batch.span_starts
