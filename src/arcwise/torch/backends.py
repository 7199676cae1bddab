"""The backend of each device."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import torch

from arcwise.torch.padded import TreeBackend

_overrides: dict[str, TreeBackend] = {}


def backend_of(device: torch.device) -> TreeBackend:
    """Return the backend for tensors on a device: C++ on the CPU, CUDA on an NVIDIA GPU.

    Other devices use the CPU, on copies, after one warning.
    """
    if _overrides and device.type in _overrides:
        return _overrides[device.type]
    return _backend_of(device)


@contextmanager
def override_backend(kind: str, backend: TreeBackend) -> Iterator[None]:
    """Use another backend for devices of this kind (``"cpu"``, ``"cuda"``) inside the block, for tests."""
    before = _overrides.get(kind)
    _overrides[kind] = backend
    try:
        yield
    finally:
        del _overrides[kind]
        if before is not None:
            _overrides[kind] = before


@cache
def _backend_of(device: torch.device) -> TreeBackend:
    kind = device.type
    if kind == "cuda":
        from arcwise.torch.cuda.backend import cuda_backend

        return cuda_backend(device.index or 0)
    from arcwise.torch.cpu import CpuBackend, CpuFallback

    if kind == "cpu":
        return CpuBackend()
    warnings.warn(
        f"trees are computed on the CPU, not on {kind}: arcwise has no kernels for it", stacklevel=2
    )
    return CpuFallback(CpuBackend())
