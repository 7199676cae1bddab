"""What a call needs not do where nobody traces, compiles or transforms it: on a GPU, that is most of the time of a small batch."""

from __future__ import annotations

from functools import lru_cache

import torch
from torch import Tensor


def is_plain(tensor: Tensor) -> bool:
    """Whether the tensor is memory that kernels may read now: no tracer, no mode and no transform of torch has to see what is done to it."""
    return not torch.compiler.is_compiling() and (
        type(tensor) is Tensor
        and not tensor.is_neg()
        and not torch._C._len_torch_dispatch_stack()
        and not torch._C._are_functorch_transforms_active()
        and torch._C._get_tracing_state() is None
    )


def in_inference_mode() -> bool:
    """Whether what is made now can never have a gradient."""
    return not torch.compiler.is_compiling() and torch.is_inference_mode_enabled()


def constant_lengths(values: Tensor, words: int) -> Tensor:
    """(B,), int32, on the device of (B, …): so many words for each sentence. It may be shared: nobody writes to it."""
    device = values.device
    if not is_plain(values):
        return torch.full((values.shape[0],), words, dtype=torch.int32, device=device)
    stream = 0
    if values.is_cuda:
        if (
            torch.cuda.is_current_stream_capturing()
        ):  # its memory would be filled when the graph runs, not now
            return torch.full((values.shape[0],), words, dtype=torch.int32, device=device)
        stream = torch._C._cuda_getCurrentRawStream(device.index)
    return _kept_lengths(device, stream, values.shape[0], words)


@lru_cache(maxsize=256)
def _kept_lengths(device: torch.device, stream: int, count: int, words: int) -> Tensor:
    """One for each stream: what is launched on it comes after what fills the tensor."""
    with torch.inference_mode(False):
        return torch.full((count,), words, dtype=torch.int32, device=device)


def no_spans(values: Tensor) -> tuple[Tensor, Tensor]:
    """The span tensors of a batch without spans: both are empty."""
    return _kept_no_spans(values.device) if is_plain(values) else _no_spans(values.device)


def _no_spans(device: torch.device) -> tuple[Tensor, Tensor]:
    ends = torch.empty((0, 2), dtype=torch.int32, device=device)
    return ends, torch.empty(0, dtype=torch.int64, device=device)


@lru_cache(maxsize=64)
def _kept_no_spans(device: torch.device) -> tuple[Tensor, Tensor]:
    with torch.inference_mode(False):
        return _no_spans(device)
