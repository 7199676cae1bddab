"""``Launcher``: runs CUDA kernels on a GPU or, in tests, the same source on the CPU."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, Protocol

import torch
from torch import Tensor

DOUBLE, WIDE_NUMBER, DUAL, HYPER_DUAL = 8, 16, 24, 40
"""Bytes of the number types of ``cuda_number.cuh``; dual numbers consist of ``WideNumber``."""


def rounded_up(count: int, to: int = 16) -> int:
    """Return the next multiple of ``to``."""
    return -(-count // to) * to


def fields(pointers: str, longs: str, integers: str) -> list[tuple[str, type[Any]]]:
    """Return the fields of a kernel's struct from their names: pointers, int64, int32, in this order."""
    kinds = (pointers, ctypes.c_void_p), (longs, ctypes.c_int64), (integers, ctypes.c_int32)
    return [(name, kind) for names, kind in kinds for name in names.split()]


class Launcher(Protocol):
    """A device that runs kernels of ``native/kernels/inference/*.cu``."""

    multiprocessors: int
    """Minimum number of blocks that run concurrently."""
    shared_limit: int
    """Maximum bytes of shared memory per block."""
    threads_limit: int
    """Maximum threads per block; 1 in the emulation."""

    def empty(self, shape: Sequence[int], dtype: torch.dtype) -> Tensor:
        """Allocate uninitialised memory on the device."""
        ...

    def launch(
        self,
        source: str,
        kernel: str,
        arguments: ctypes.Structure,
        *,
        blocks: int,
        threads: int,
        shared: int = 0,
    ) -> None:
        """Run a kernel, such as ``eisner_marginals_float`` of ``eisner.cu``, after all earlier launches.

        ``arguments`` has the fields of the kernel's struct; ``shared`` is the bytes of shared memory per
        block."""
        ...
