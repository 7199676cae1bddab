"""Shortcuts for calls that torch does not trace, compile or transform: they dominate small batches on a
GPU."""

from __future__ import annotations

from functools import lru_cache

import torch
from torch import Tensor


def is_plain(tensor: Tensor) -> bool:
    """Return whether kernels may read the tensor's memory now: no tracer, mode or transform of torch is
    active."""
    return not torch.compiler.is_compiling() and (
        type(tensor) is Tensor
        and not tensor.is_neg()
        and not torch._C._len_torch_dispatch_stack()
        and not torch._C._are_functorch_transforms_active()
        and torch._C._get_tracing_state() is None
    )


def in_inference_mode() -> bool:
    """Return whether results of this moment can never have a gradient."""
    return not torch.compiler.is_compiling() and torch.is_inference_mode_enabled()


def constant_lengths(values: Tensor, words: int) -> Tensor:
    """Return ``words`` for each sentence, (B,), int32, on the device of ``values``.

    Shared, so never write to it.
    """
    device = values.device
    if not is_plain(values):
        return torch.full((values.shape[0],), words, dtype=torch.int32, device=device)
    stream = 0
    if values.is_cuda:
        # While a CUDA graph is captured, the fill would run with the graph, not now.
        if torch.cuda.is_current_stream_capturing():
            return torch.full((values.shape[0],), words, dtype=torch.int32, device=device)
        stream = torch._C._cuda_getCurrentRawStream(device.index)
    return _cached_lengths(device, stream, values.shape[0], words)


@lru_cache(maxsize=256)
def _cached_lengths(device: torch.device, stream: int, count: int, words: int) -> Tensor:
    """Cache per stream: whatever is launched on the stream comes after the fill."""
    with torch.inference_mode(False):
        return torch.full((count,), words, dtype=torch.int32, device=device)


def no_spans(values: Tensor) -> tuple[Tensor, Tensor]:
    """Return the two empty span tensors of a batch without spans."""
    return _cached_no_spans(values.device) if is_plain(values) else _no_spans(values.device)


def _no_spans(device: torch.device) -> tuple[Tensor, Tensor]:
    ends = torch.empty((0, 2), dtype=torch.int32, device=device)
    return ends, torch.empty(0, dtype=torch.int64, device=device)


@lru_cache(maxsize=64)
def _cached_no_spans(device: torch.device) -> tuple[Tensor, Tensor]:
    with torch.inference_mode(False):
        return _no_spans(device)
