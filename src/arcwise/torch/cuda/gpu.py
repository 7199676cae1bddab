"""``Gpu``: launches kernels through the CUDA driver, on torch's current stream."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
from functools import cache, lru_cache
from math import prod
from typing import Any

import torch
from torch import Tensor

from arcwise.torch.cuda.compiler import CudaError, machine_code

_ONE_POINTER = ctypes.c_void_p * 1
_NO_CONTEXT = 201
"""CUDA_ERROR_INVALID_CONTEXT: a thread that has not used CUDA before."""
_MAX_DYNAMIC_SHARED = 8
"""CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES"""


class Gpu:
    """One GPU as a ``Launcher``."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        properties: Any = torch.cuda.get_device_properties(device)
        self.multiprocessors: int = properties.multi_processor_count
        self.shared_limit: int = properties.shared_memory_per_block_optin
        self.threads_limit = 1024
        self._architecture = f"sm_{properties.major}{properties.minor}"
        self._index = torch.cuda.current_device() if device.index is None else device.index
        self._modules: dict[str, ctypes.c_void_p] = {}
        self._kernels: dict[tuple[str, str], ctypes.c_void_p] = {}

    def empty(self, shape: Sequence[int], dtype: torch.dtype) -> Tensor:
        """Allocate uninitialised memory on the device."""
        # empty_strided takes half the time of torch.empty, whose arguments have more forms
        return torch.empty_strided(shape, _strides(*shape), dtype=dtype, device=self.device)

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
        """Run a kernel on the current stream of torch."""
        if blocks == 0:
            return
        if torch._C._cuda_getDevice() != self._index:  # the driver launches on the current device
            with torch.cuda.device(self._index):
                self.launch(source, kernel, arguments, blocks=blocks, threads=threads, shared=shared)
            return
        function = self._kernels.get((source, kernel)) or self._load(source, kernel)
        stream = torch._C._cuda_getCurrentRawStream(self._index)
        pointer = _ONE_POINTER(ctypes.addressof(arguments))
        numbers = blocks, 1, 1, threads, 1, 1, shared
        status = _driver().cuLaunchKernel(function, *numbers, stream, pointer, None)
        if status == _NO_CONTEXT:
            self._enter_context()
            status = _driver().cuLaunchKernel(function, *numbers, stream, pointer, None)
        if status != 0:
            _fail(f"{kernel} ({blocks} blocks of {threads} threads, {shared} bytes shared)", status)

    def _load(self, source: str, kernel: str) -> ctypes.c_void_p:
        """Compile the source, load it, and find the kernel in it."""
        driver = _driver()
        self._enter_context()
        if source not in self._modules:
            module = ctypes.c_void_p()
            code = machine_code(source, self._architecture)
            _check(f"loading {source}", driver.cuModuleLoadData(ctypes.byref(module), code))
            self._modules[source] = module
        function = ctypes.c_void_p()
        status = driver.cuModuleGetFunction(ctypes.byref(function), self._modules[source], kernel.encode())
        _check(f"{kernel} of {source}", status)
        _check(kernel, driver.cuFuncSetAttribute(function, _MAX_DYNAMIC_SHARED, self.shared_limit))
        self._kernels[source, kernel] = function
        return function

    def _enter_context(self) -> None:
        """Set torch's context in a thread that has none, such as one of the backward pass."""
        context = ctypes.c_void_p()
        _check("context", _driver().cuCtxGetCurrent(ctypes.byref(context)))
        if not context:
            _check("context", _driver().cuDevicePrimaryCtxRetain(ctypes.byref(context), self._index))
            _check("context", _driver().cuCtxSetCurrent(context))


@lru_cache(maxsize=1024)
def _strides(*shape: int) -> tuple[int, ...]:
    """Return the strides of a contiguous tensor."""
    return tuple(prod(max(side, 1) for side in shape[at:]) for at in range(1, len(shape) + 1))


@cache
def gpu(index: int) -> Gpu:
    """Return a GPU by its index."""
    return Gpu(torch.device("cuda", index))


@cache
def _driver() -> ctypes.CDLL:
    try:
        driver = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError as problem:
        raise CudaError(f"the CUDA driver was not found: {problem}") from None
    pointers = [ctypes.c_void_p] * 3
    driver.cuLaunchKernel.argtypes = [ctypes.c_void_p, *[ctypes.c_uint] * 7, *pointers]
    return driver


def _check(action: str, status: int) -> None:
    if status != 0:
        _fail(action, status)


def _fail(action: str, status: int) -> None:
    text = ctypes.c_char_p()
    _driver().cuGetErrorString(status, ctypes.byref(text))
    raise CudaError(f"CUDA: {action}: {(text.value or b'error').decode()} ({status})")
