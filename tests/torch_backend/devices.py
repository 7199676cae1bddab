"""Devices that tests run over: each a name, a torch device, and the backend that computes for it
meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch

from arcwise.torch.backends import override_backend
from arcwise.torch.cpu import CpuBackend
from arcwise.torch.cuda.backend import CudaBackend
from torch_backend.emulated_gpu import COMPILER, EmulatedGpu
from torch_backend.enumeration_backend import EnumerationBackend

NAMES = ["enumeration", "cpu", "emulated", "cuda"]


@contextmanager
def using(name: str) -> Iterator[torch.device]:
    """``enumeration``: the twin that lists all trees (short sentences alone); ``cpu``: the native kernels;
    ``cuda``: a GPU; ``emulated``: the kernels of a GPU, compiled for the CPU."""
    if name == "enumeration":
        with override_backend("cpu", EnumerationBackend()):
            yield torch.device("cpu")
    elif name == "emulated":
        if not COMPILER:
            pytest.skip("needs a C++ compiler")
        with override_backend("cpu", CudaBackend(EmulatedGpu(), CpuBackend())):
            yield torch.device("cpu")
    elif name == "cuda" and not torch.cuda.is_available():
        pytest.skip("needs a GPU")
    else:
        yield torch.device(name)
