"""Backends on the CPU: the native kernels on the tensors' memory, and copies for tensors of other devices."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from arcwise import native
from arcwise.inference.tree_class import TreeClass
from arcwise.torch.padded import Padded, TreeBackend
from arcwise.torch.tree_tensors import tensors_are_trees

_SEEDS = 2**64


class CpuBackend:
    """The C++ kernels, on at most ``torch.get_num_threads()`` threads, fewer for small batches.

    Sums are in doubles; contiguous float64 is read and written without a copy. Results do not depend on
    threads."""

    def log_partition(self, batch: Padded) -> Tensor:
        """See ``TreeBackend.log_partition``."""
        values = batch.scores.new_empty(batch.scores.shape[0])
        native.padded_log_partition(_native(batch), torch.get_num_threads(), values.data_ptr())
        return values

    def marginals(self, batch: Padded) -> tuple[Tensor, Tensor]:
        """See ``TreeBackend.marginals``."""
        values, marginals = batch.scores.new_empty(batch.scores.shape[0]), _like_scores(batch)
        native.padded_marginals(
            _native(batch), torch.get_num_threads(), values.data_ptr(), marginals.data_ptr()
        )
        return values, marginals

    def marginals_jvp(self, batch: Padded, direction: Tensor) -> Tensor:
        """See ``TreeBackend.marginals_jvp``."""
        direction = _direction(batch, direction)
        derivative = _like_scores(batch)
        native.padded_marginal_derivatives(
            _native(batch), torch.get_num_threads(), direction.data_ptr(), 0, derivative.data_ptr()
        )
        return derivative

    def marginals_second_derivative(self, batch: Padded, first: Tensor, second: Tensor) -> Tensor:
        """See ``TreeBackend.marginals_second_derivative``."""
        first, second = _direction(batch, first), _direction(batch, second)
        derivative = _like_scores(batch)
        native.padded_marginal_derivatives(
            _native(batch),
            torch.get_num_threads(),
            first.data_ptr(),
            second.data_ptr(),
            derivative.data_ptr(),
        )
        return derivative

    def decode(self, batch: Padded) -> tuple[Tensor, Tensor]:
        """See ``TreeBackend.decode``."""
        sentences, side, _ = batch.scores.shape
        # empty_strided is faster than torch.empty, whose arguments have more forms
        heads = torch.empty_strided((sentences, side), (side, 1), dtype=torch.int64)
        values = batch.scores.new_empty(sentences)
        native.padded_decode(_native(batch), torch.get_num_threads(), heads.data_ptr(), values.data_ptr())
        return heads, values

    def k_best(self, batch: Padded, k: int) -> tuple[Tensor, Tensor]:
        """See ``TreeBackend.k_best``."""
        sentences, side, _ = batch.scores.shape
        heads = torch.empty(sentences, k, side, dtype=torch.int64)
        values = batch.scores.new_empty(sentences, k)
        native.padded_k_best(_native(batch), torch.get_num_threads(), k, heads.data_ptr(), values.data_ptr())
        return heads, values

    def sample(self, batch: Padded, count: int, seed: int) -> Tensor:
        """See ``TreeBackend.sample``."""
        sentences, side, _ = batch.scores.shape
        heads = torch.empty(count, sentences, side, dtype=torch.int64)
        native.padded_sample(_native(batch), torch.get_num_threads(), count, seed % _SEEDS, heads.data_ptr())
        return heads

    def are_trees(self, heads: Tensor, lengths: Tensor, projective: bool, single_root: bool) -> Tensor:
        """See ``TreeBackend.are_trees``."""
        count = heads.shape[1]
        words = lengths if count == 1 else lengths[:, None].expand(-1, count).reshape(-1)
        rows = heads.reshape(-1, heads.shape[-1])
        flags = native.are_trees(rows.numpy(), words.numpy(), projective, single_root)
        return torch.from_numpy(flags).view(-1, count)


class CpuFallback:
    """A CPU backend for tensors on another device: copies them to the CPU, and the results back."""

    def __init__(self, backend: TreeBackend) -> None:
        self.backend = backend

    def log_partition(self, batch: Padded) -> Tensor:
        """See ``TreeBackend.log_partition``."""
        return self.backend.log_partition(_on_cpu(batch)).to(batch.scores.device)

    def marginals(self, batch: Padded) -> tuple[Tensor, Tensor]:
        """See ``TreeBackend.marginals``."""
        log_z, marginals = self.backend.marginals(_on_cpu(batch))
        return log_z.to(batch.scores.device), marginals.to(batch.scores.device)

    def marginals_jvp(self, batch: Padded, direction: Tensor) -> Tensor:
        """See ``TreeBackend.marginals_jvp``."""
        return self.backend.marginals_jvp(_on_cpu(batch), direction.cpu()).to(batch.scores.device)

    def marginals_second_derivative(self, batch: Padded, first: Tensor, second: Tensor) -> Tensor:
        """See ``TreeBackend.marginals_second_derivative``."""
        result = self.backend.marginals_second_derivative(_on_cpu(batch), first.cpu(), second.cpu())
        return result.to(batch.scores.device)

    def decode(self, batch: Padded) -> tuple[Tensor, Tensor]:
        """See ``TreeBackend.decode``."""
        heads, scores = self.backend.decode(_on_cpu(batch))
        return heads.to(batch.scores.device), scores.to(batch.scores.device)

    def k_best(self, batch: Padded, k: int) -> tuple[Tensor, Tensor]:
        """See ``TreeBackend.k_best``."""
        heads, scores = self.backend.k_best(_on_cpu(batch), k)
        return heads.to(batch.scores.device), scores.to(batch.scores.device)

    def sample(self, batch: Padded, count: int, seed: int) -> Tensor:
        """See ``TreeBackend.sample``."""
        return self.backend.sample(_on_cpu(batch), count, seed).to(batch.scores.device)

    def are_trees(self, heads: Tensor, lengths: Tensor, projective: bool, single_root: bool) -> Tensor:
        """See ``TreeBackend.are_trees``."""
        # Tensor operations need no copy to the CPU.
        return tensors_are_trees(heads, lengths, TreeClass(projective=projective, single_root=single_root))


def _native(batch: Padded) -> native.PaddedBatch:
    """Return the addresses of the batch, after checking that they hold what the kernels expect."""
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
            f"scores {scores.dtype} {tuple(scores.shape)} "
            f"with lengths {lengths.dtype} {tuple(lengths.shape)}: "
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
    """Return a direction as the kernels read it: contiguous, of the scores' type and shape."""
    if direction.shape != batch.scores.shape:
        raise ValueError(
            f"direction: found shape {tuple(direction.shape)}, expected that of the scores, "
            f"{tuple(batch.scores.shape)}"
        )
    return direction.detach().to(batch.scores.dtype).contiguous()


def _on_cpu(batch: Padded) -> Padded:
    return replace(
        batch,
        scores=batch.scores.cpu(),
        lengths=batch.lengths.cpu(),
        span_ends=batch.span_ends.cpu(),
        span_starts=batch.span_starts.cpu(),
    )
