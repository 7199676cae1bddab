"""How kernels are launched, with a driver that writes down what it is told."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest
import torch

from arcwise.torch.cuda import gpu as gpu_module
from arcwise.torch.cuda.compiler import CudaError
from arcwise.torch.cuda.gpu import Gpu


class Arguments(ctypes.Structure):
    _fields_ = [("number", ctypes.c_int64)]


class Driver:
    """Answers launches with the statuses it was given, then with 0."""

    def __init__(self, *statuses: int) -> None:
        self.statuses = list(statuses)
        self.launches: list[tuple[Any, ...]] = []
        self.entered = 0

    def cuLaunchKernel(self, function: Any, *rest: Any) -> int:
        *numbers, stream, pointers, extra = rest
        assert extra is None
        number = Arguments.from_address(pointers[0]).number
        self.launches.append((function, tuple(numbers), stream, number))
        return self.statuses.pop(0) if self.statuses else 0

    def cuCtxGetCurrent(self, context: Any) -> int:
        return 0

    def cuDevicePrimaryCtxRetain(self, context: Any, index: int) -> int:
        assert index == 1
        return 0

    def cuCtxSetCurrent(self, context: Any) -> int:
        self.entered += 1
        return 0

    def cuGetErrorString(self, status: int, text: Any) -> int:
        return 0


@pytest.fixture
def devices(monkeypatch) -> list[int]:
    """The devices that were current, the last one is; it begins with that of the tensors, 1."""
    current = [1]

    class Guard:
        def __init__(self, index: int) -> None:
            self.index = index

        def __enter__(self) -> None:
            self.before = current[-1]
            current.append(self.index)

        def __exit__(self, *_: object) -> None:
            current.append(self.before)

    monkeypatch.setattr(torch._C, "_cuda_getDevice", lambda: current[-1], raising=False)
    monkeypatch.setattr(torch._C, "_cuda_getCurrentRawStream", lambda index: 70 + index, raising=False)
    monkeypatch.setattr(torch.cuda, "device", Guard)
    return current


def launched(driver: Driver, monkeypatch) -> Driver:
    device = Gpu.__new__(Gpu)
    device._index = 1
    device._kernels = {("some.cu", "some"): "function"}  # type: ignore[dict-item]
    monkeypatch.setattr(gpu_module, "_driver", lambda: driver)
    device.launch("some.cu", "some", Arguments(number=5), blocks=3, threads=64, shared=16)
    return driver


LAUNCH = ("function", (3, 1, 1, 64, 1, 1, 16), 71, 5)


def test_on_the_stream_of_torch(devices, monkeypatch) -> None:
    assert launched(Driver(), monkeypatch).launches == [LAUNCH]
    assert devices == [1]


def test_on_the_device_of_the_tensors_where_another_is_current(devices, monkeypatch) -> None:
    devices[0] = 0
    assert launched(Driver(), monkeypatch).launches == [LAUNCH]
    assert devices == [0, 1, 0]


def test_in_a_thread_without_a_context(devices, monkeypatch) -> None:
    driver = launched(Driver(201), monkeypatch)
    assert driver.launches == [LAUNCH, LAUNCH]
    assert driver.entered == 1


def test_what_fails_is_told(devices, monkeypatch) -> None:
    with pytest.raises(CudaError, match=r"some \(3 blocks of 64 threads, 16 bytes shared\): error \(1\)"):
        launched(Driver(1), monkeypatch)


def test_memory_is_contiguous() -> None:
    device = Gpu.__new__(Gpu)
    device.device = torch.device("cpu")
    for shape in ((), (3,), (0, 4), (2, 0, 3), (2, 3, 4)):
        found = device.empty(shape, torch.int64)
        assert found.shape == shape
        assert found.is_contiguous()
        assert found.stride() == torch.empty(shape).stride()
