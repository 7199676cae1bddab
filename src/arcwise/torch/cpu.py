"""Tensors on the CPU: the native kernels, reading and writing the tensors' own memory."""

from __future__ import annotations

import torch
from torch import Tensor

from arcwise import native
from arcwise.torch.padded import Padded

_SEEDS = 2**64


class CpuBackend:
    """``TreeBackend`` by the kernels in C++, on at most ``torch.get_num_threads()`` threads, fewer where the batch is small.

    Sums are made in double; contiguous float64 is read and written without a copy. Nothing depends on the number of threads.
    """

    def log_partition(self, batch: Padded) -> Tensor:
        """log Z."""
        values = batch.scores.new_empty(batch.scores.shape[0])
        native.padded_log_partition(_native(batch), torch.get_num_threads(), values.data_ptr())
        return values

    def marginals(self, batch: Padded) -> tuple[Tensor, Tensor]:
        """log Z, and the probability of every arc."""
        values, marginals = batch.scores.new_empty(batch.scores.shape[0]), _like_scores(batch)
        native.padded_marginals(
            _native(batch), torch.get_num_threads(), values.data_ptr(), marginals.data_ptr()
        )
        return values, marginals

    def marginals_jvp(self, batch: Padded, direction: Tensor) -> Tensor:
        """The derivative of the marginals along ``direction``."""
        direction = _direction(batch, direction)
        slope = _like_scores(batch)
        native.padded_marginal_derivatives(
            _native(batch), torch.get_num_threads(), direction.data_ptr(), 0, slope.data_ptr()
        )
        return slope

    def marginals_second_derivative(self, batch: Padded, first: Tensor, second: Tensor) -> Tensor:
        """The second derivative of the marginals, along ``first`` and ``second``."""
        first, second = _direction(batch, first), _direction(batch, second)
        bend = _like_scores(batch)
        native.padded_marginal_derivatives(
            _native(batch), torch.get_num_threads(), first.data_ptr(), second.data_ptr(), bend.data_ptr()
        )
        return bend

    def decode(self, batch: Padded) -> tuple[Tensor, Tensor]:
        """The heads of the best tree, and its score."""
        sentences, side, _ = batch.scores.shape
        heads = torch.empty_strided(
            (sentences, side), (side, 1), dtype=torch.int64
        )  # sooner than torch.empty
        values = batch.scores.new_empty(sentences)
        native.padded_decode(_native(batch), torch.get_num_threads(), heads.data_ptr(), values.data_ptr())
        return heads, values

    def k_best(self, batch: Padded, k: int) -> tuple[Tensor, Tensor]:
        """The k best trees, best first."""
        sentences, side, _ = batch.scores.shape
        heads = torch.empty(sentences, k, side, dtype=torch.int64)
        values = batch.scores.new_empty(sentences, k)
        native.padded_k_best(_native(batch), torch.get_num_threads(), k, heads.data_ptr(), values.data_ptr())
        return heads, values

    def sample(self, batch: Padded, count: int, seed: int) -> Tensor:
        """``count`` draws of each sentence."""
        sentences, side, _ = batch.scores.shape
        heads = torch.empty(count, sentences, side, dtype=torch.int64)
        native.padded_sample(_native(batch), torch.get_num_threads(), count, seed % _SEEDS, heads.data_ptr())
        return heads

    def are_trees(self, heads: Tensor, lengths: Tensor, projective: bool, single_root: bool) -> Tensor:
        """Whether heads are those of trees."""
        count = heads.shape[1]
        words = lengths if count == 1 else lengths[:, None].expand(-1, count).reshape(-1)
        rows = heads.reshape(-1, heads.shape[-1])
        found = native.are_trees(rows.numpy(), words.numpy(), projective, single_root)
        return torch.from_numpy(found).view(-1, count)


def _native(batch: Padded) -> native.PaddedBatch:
    """The addresses of the batch, once it is sure that they hold what the kernels expect."""
    scores, lengths, ends, starts = batch.scores, batch.lengths, batch.span_ends, batch.span_starts
    sentences, side, columns = scores.shape
    is_double = scores.dtype is torch.float64
    spans = ends.shape[0]
    if (
        side != columns
        or side < 1
        or not (is_double or scores.dtype is torch.float32)
        or lengths.dtype is not torch.int32
        or lengths.shape != (sentences,)
        or not (scores.is_contiguous() and lengths.is_contiguous())
        or scores.is_cuda
        or lengths.is_cuda
    ):
        raise ValueError(
            f"scores {scores.dtype} {tuple(scores.shape)} with lengths {lengths.dtype} {tuple(lengths.shape)}: "
            "expected float32 or float64 (B, N+1, N+1) and int32 (B,), contiguous, on the CPU"
        )
    if spans and (
        ends.dtype is not torch.int32
        or starts.dtype is not torch.int64
        or starts.shape != (sentences + 1,)
        or not (ends.is_contiguous() and starts.is_contiguous())
    ):
        raise ValueError(
            f"spans {ends.dtype} {tuple(ends.shape)} with starts {starts.dtype} {tuple(starts.shape)}: "
            "expected int32 (S, 2) and int64 (B+1,), contiguous"
        )
    return native.PaddedBatch(
        is_double,
        scores.data_ptr(),
        lengths.data_ptr(),
        sentences,
        side - 1,
        batch.projective,
        batch.single_root,
        ends.data_ptr() if spans else 0,
        starts.data_ptr() if spans else 0,
        spans,
    )


def _like_scores(batch: Padded) -> Tensor:
    return torch.empty_like(batch.scores)


def _direction(batch: Padded, direction: Tensor) -> Tensor:
    """A direction as the kernels read it: of the scores' type and shape, contiguous."""
    if direction.shape != batch.scores.shape:
        raise ValueError(
            f"direction {tuple(direction.shape)} of scores {tuple(batch.scores.shape)}: expected the same shape"
        )
    return direction.detach().to(batch.scores.dtype).contiguous()
