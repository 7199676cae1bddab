"""Which kernels compute for which device."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import torch

from arcwise.torch.on_the_cpu import OnTheCpu
from arcwise.torch.padded import TreeBackend

_replaced: dict[str, TreeBackend] = {}


def backend_of(device: torch.device) -> TreeBackend:
    """The kernels for tensors of a device: those of the CPU in C++, those of a GPU in CUDA. Where a device has none of its own, those of
    the CPU, on copies, after one warning."""
    if _replaced and device.type in _replaced:
        return _replaced[device.type]
    return _backend_of(device)


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
def _backend_of(device: torch.device) -> TreeBackend:
    kind = device.type
    if kind == "cuda":
        from arcwise.torch.cuda.backend import cuda_backend

        return cuda_backend(device.index or 0)
    from arcwise.torch.cpu import CpuBackend

    if kind == "cpu":
        return CpuBackend()
    warnings.warn(
        f"trees are computed on the CPU, not on {kind}: arcwise has no kernels for it", stacklevel=2
    )
    return OnTheCpu(CpuBackend())
