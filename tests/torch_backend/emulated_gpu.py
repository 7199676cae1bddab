"""CUDA kernels on the CPU: the same source, compiled as C++, one thread after the other or several with
barriers between them.

What it cannot show: several warps of several lanes, and races that no barrier of the block orders. Those are
for the GPU itself.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from threading import Thread

import torch
from torch import Tensor

ROOT = Path(__file__).parents[2]
COMPILER = os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++")
_WRAPPER = """
#include "kernels/{source}"
#include <barrier>
extern "C" void* make_barrier(int threads) {{ return new std::barrier<>(threads); }}
extern "C" void drop_barrier(void* barrier) {{ delete static_cast<std::barrier<>*>(barrier); }}
extern "C" void set_thread(int block, int blocks, int thread, int threads, char* shared, void* barrier) {{
  arcwise::emulated = {{block, blocks, thread, threads, shared, static_cast<std::barrier<>*>(barrier)}};
}}
"""


class EmulatedGpu:
    """A ``Launcher`` whose device is the CPU."""

    def __init__(
        self,
        *,
        threads: int = 1,
        lanes: int = 1,
        shared_limit: int = 232_448,
        multiprocessors: int = 2,
        native: Path = ROOT / "native",
    ) -> None:
        assert lanes in (1, threads), "a block of lanes is one warp"
        self.lanes = lanes
        self.native = native
        self.multiprocessors = multiprocessors
        self.shared_limit = shared_limit
        self.threads_limit = threads

    def empty(self, shape: Sequence[int], dtype: torch.dtype) -> Tensor:
        """Memory full of what nobody should read: nan, or a large number."""
        filling = float("nan") if dtype.is_floating_point else torch.iinfo(dtype).max
        return torch.full(tuple(shape), filling, dtype=dtype)

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
        """Run the blocks one after the other, each with fresh shared memory."""
        assert 1 <= threads <= self.threads_limit
        assert shared <= self.shared_limit
        library = _library(source, self.lanes, self.native)
        function = getattr(library, kernel)
        function.restype, function.argtypes = None, [type(arguments)]
        library.make_barrier.restype = ctypes.c_void_p
        for block in range(blocks):
            self._run_block(library, partial(function, arguments), block, blocks, threads, shared)

    def _run_block(
        self,
        library: ctypes.CDLL,
        run: Callable[[], None],
        block: int,
        blocks: int,
        threads: int,
        shared: int,
    ) -> None:
        memory = (ctypes.c_char * (shared + 16)).from_buffer(bytearray(b"\xff" * (shared + 16)))
        start = ctypes.c_void_p(ctypes.addressof(memory) + -ctypes.addressof(memory) % 16)
        barrier = ctypes.c_void_p(library.make_barrier(threads) if threads > 1 else None)

        def work(thread: int) -> None:
            library.set_thread(block, blocks, thread, threads, start, barrier)
            run()

        workers = [Thread(target=work, args=(thread,)) for thread in range(1, threads)]
        for worker in workers:
            worker.start()
        work(0)
        for worker in workers:
            worker.join()
        if threads > 1:
            library.drop_barrier(barrier)


@cache
def _library(source: str, lanes: int, native: Path) -> ctypes.CDLL:
    assert COMPILER, "no C++ compiler"
    digest = hashlib.sha256(_WRAPPER.encode())
    for path in sorted(
        [*native.glob("kernels/*/*.cu"), *native.glob("kernels/*/*.cuh"), *native.glob("kernels/*/*.hpp")]
    ):
        digest.update(path.read_bytes())
    folder = ROOT / "build" / "emulated"
    folder.mkdir(parents=True, exist_ok=True)
    made = folder / f"{Path(source).stem}-{lanes}-{digest.hexdigest()[:12]}.so"
    if not made.exists():
        wrapper = folder / f"{made.stem}-{os.getpid()}.cpp"
        (path,) = native.glob(f"kernels/*/{source}")
        wrapper.write_text(_WRAPPER.format(source=f"{path.parent.name}/{source}"))
        part = made.with_suffix(f".{os.getpid()}.part")
        options = ["-std=c++20", "-O1", "-shared", "-fPIC", "-Wall", "-Wextra", "-pthread", f"-I{native}"]
        options.append(f"-DEMULATED_LANES={lanes}")
        subprocess.run([COMPILER, *options, str(wrapper), "-o", str(part)], check=True)
        part.replace(made)
        wrapper.unlink()
    return ctypes.CDLL(str(made))
