"""Backends on the CPU: the native kernels on the tensors' memory, and copies for tensors of other devices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

import torch
from torch import Tensor

from arcwise import native
from arcwise.inference.tree_class import TreeClass
from arcwise.torch.cpu_siblings import CpuSiblings
from arcwise.torch.padded import Padded, PaddedSiblings
from arcwise.torch.tree_tensors import tensors_are_trees

P = ParamSpec("P")
T = TypeVar("T")
BatchT = TypeVar("BatchT", Padded, PaddedSiblings)
_SEEDS = 2**64


class CpuBackend(CpuSiblings):
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
        values, marginals = batch.scores.new_empty(batch.scores.shape[0]), torch.empty_like(batch.scores)
        native.padded_marginals(
            _native(batch), torch.get_num_threads(), values.data_ptr(), marginals.data_ptr()
        )
        return values, marginals

    def marginals_jvp(self, batch: Padded, direction: Tensor) -> Tensor:
        """See ``TreeBackend.marginals_jvp``."""
        direction = _direction(batch, direction)
        derivative = torch.empty_like(batch.scores)
        native.padded_marginal_derivatives(
            _native(batch), torch.get_num_threads(), direction.data_ptr(), 0, derivative.data_ptr()
        )
        return derivative

    def marginals_second_derivative(self, batch: Padded, first: Tensor, second: Tensor) -> Tensor:
        """See ``TreeBackend.marginals_second_derivative``."""
        first, second = _direction(batch, first), _direction(batch, second)
        derivative = torch.empty_like(batch.scores)
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


def _through_cpu(
    operation: Callable[Concatenate[CpuBackend, BatchT, P], T],
) -> Callable[Concatenate[CpuFallback, BatchT, P], T]:
    """Return the operation for tensors on another device: copy them to the CPU, and the results back."""

    @wraps(operation)
    def run(self: CpuFallback, batch: BatchT, *rest: Any) -> Any:
        parts = {field.name: getattr(batch, field.name) for field in fields(batch)}
        on_cpu: dict[str, Any] = {
            name: part.cpu() for name, part in parts.items() if isinstance(part, Tensor)
        }
        others: Any = (value.cpu() if isinstance(value, Tensor) else value for value in rest)
        result: Any = cast(Any, operation)(self.backend, replace(batch, **on_cpu), *others)
        if isinstance(result, Tensor):
            return result.to(batch.scores.device)
        return tuple(tensor.to(batch.scores.device) for tensor in result)

    return cast("Callable[Concatenate[CpuFallback, BatchT, P], T]", run)


class CpuFallback:
    """The CPU's operations for tensors on another device, through copies."""

    def __init__(self, backend: CpuBackend) -> None:
        self.backend = backend

    log_partition = _through_cpu(CpuBackend.log_partition)
    marginals = _through_cpu(CpuBackend.marginals)
    marginals_jvp = _through_cpu(CpuBackend.marginals_jvp)
    marginals_second_derivative = _through_cpu(CpuBackend.marginals_second_derivative)
    decode = _through_cpu(CpuBackend.decode)
    k_best = _through_cpu(CpuBackend.k_best)
    sample = _through_cpu(CpuBackend.sample)
    sibling_log_partition = _through_cpu(CpuBackend.sibling_log_partition)
    sibling_marginals = _through_cpu(CpuBackend.sibling_marginals)
    sibling_marginals_jvp = _through_cpu(CpuBackend.sibling_marginals_jvp)
    sibling_marginals_second_derivative = _through_cpu(CpuBackend.sibling_marginals_second_derivative)
    sibling_decode = _through_cpu(CpuBackend.sibling_decode)

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


def _direction(batch: Padded, direction: Tensor) -> Tensor:
    """Return a direction as the kernels read it: contiguous, of the scores' type and shape."""
    if direction.shape != batch.scores.shape:
        raise ValueError(
            f"direction: found shape {tuple(direction.shape)}, expected that of the scores, "
            f"{tuple(batch.scores.shape)}"
        )
    return direction.detach().to(batch.scores.dtype).contiguous()
