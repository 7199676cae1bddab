"""Which kernels compute for which device."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache

import torch
from torch import Tensor

from arcwise.torch.cuda.compiler import CudaError
from arcwise.torch.padded import Padded, TreeBackend

_replaced: dict[str, TreeBackend] = {}


def backend_of(device: torch.device) -> TreeBackend:
    """The kernels for tensors of a device: those of the CPU in C++, those of a GPU in CUDA. Where a device has none of its own, those of
    the CPU, on copies, after one warning."""
    if _replaced and device.type in _replaced:
        return _replaced[device.type]
    return _backend_of(device.type, device.index)


@contextmanager
def replaced(kind: str, backend: TreeBackend) -> Iterator[None]:
    """Within, another backend computes for devices of this kind (``"cpu"``, ``"cuda"``): for tests."""
    before = _replaced.get(kind)
    _replaced[kind] = backend
    try:
        yield
    finally:
        del _replaced[kind]
        if before is not None:
            _replaced[kind] = before


@cache
def _backend_of(kind: str, index: int | None) -> TreeBackend:
    if kind == "cpu":
        return _cpu_backend()
    if kind == "cuda":
        try:
            return _cuda_backend(torch.device(kind, index or 0))
        except (CudaError, ImportError, OSError, RuntimeError) as error:
            reason = f"its kernels could not be made ready ({error})"
    else:
        reason = "arcwise has no kernels for it"
    warnings.warn(
        f"arcwise.torch: {kind}: {reason}; trees are computed on the CPU, from copies", stacklevel=2
    )
    return ThroughCpu(_cpu_backend())


def _cpu_backend() -> TreeBackend:
    from arcwise.torch.cpu import CpuBackend

    return CpuBackend()


def _cuda_backend(device: torch.device) -> TreeBackend:
    from arcwise.torch.cuda.backend import cuda_backend

    return cuda_backend(device, ThroughCpu(_cpu_backend()))


class ThroughCpu:
    """The operations of another device by a backend of the CPU: everything is copied there and back."""

    def __init__(self, cpu: TreeBackend) -> None:
        self._cpu = cpu

    def log_partition(self, batch: Padded) -> Tensor:
        """log Z."""
        return self._cpu.log_partition(_on_cpu(batch)).to(batch.scores.device)

    def marginals(self, batch: Padded) -> tuple[Tensor, Tensor]:
        """log Z, and the probability of every arc."""
        return self._both(batch, self._cpu.marginals)

    def marginals_slope(self, batch: Padded, direction: Tensor) -> Tensor:
        """The derivative of the marginals in a direction."""
        return self._cpu.marginals_slope(_on_cpu(batch), direction.cpu()).to(direction.device)

    def marginals_bend(self, batch: Padded, first: Tensor, second: Tensor) -> Tensor:
        """Their second derivative in two directions."""
        return self._cpu.marginals_bend(_on_cpu(batch), first.cpu(), second.cpu()).to(first.device)

    def decode(self, batch: Padded) -> tuple[Tensor, Tensor]:
        """The best tree."""
        return self._both(batch, self._cpu.decode)

    def k_best(self, batch: Padded, k: int) -> tuple[Tensor, Tensor]:
        """The k best trees."""
        return self._both(batch, lambda own: self._cpu.k_best(own, k))

    def sample(self, batch: Padded, count: int, seed: int) -> Tensor:
        """Draws."""
        return self._cpu.sample(_on_cpu(batch), count, seed).to(batch.scores.device)

    def _both(
        self, batch: Padded, operation: Callable[[Padded], tuple[Tensor, Tensor]]
    ) -> tuple[Tensor, Tensor]:
        first, second = operation(_on_cpu(batch))
        return first.to(batch.scores.device), second.to(batch.scores.device)


def _on_cpu(batch: Padded) -> Padded:
    return replace(
        batch,
        scores=batch.scores.cpu(),
        lengths=batch.lengths.cpu(),
        span_ends=batch.span_ends.cpu(),
        span_starts=batch.span_starts.cpu(),
    )
