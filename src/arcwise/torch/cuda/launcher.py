"""Where CUDA kernels run: on a GPU, or in tests on the CPU, from the same source."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

DOUBLE, WIDE_NUMBER, DUAL, HYPER_DUAL = 8, 16, 24, 40
"""Bytes of a number of ``cuda_number.cuh``; those with derivatives are over ``WideNumber``."""


class Launcher(Protocol):
    """A device that runs kernels of ``native/kernels/inference/*.cu``."""

    multiprocessors: int
    """Blocks that can run at the same time, at least."""
    shared_limit: int
    """The most bytes of shared memory that a block may ask for."""
    threads_limit: int
    """The most threads of a block; 1 in the emulation."""

    def empty(self, shape: Sequence[int], dtype: torch.dtype) -> Tensor:
        """Memory on the device, not filled."""
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
        """Run a kernel, say ``eisner_marginals_float`` of ``eisner.cu``, after all that was launched before. ``arguments`` has the
        fields of the kernel's struct; ``shared`` is the bytes of shared memory a block."""
        ...
