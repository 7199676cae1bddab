"""Compile CUDA source on the user's machine with NVRTC, which ships with torch, and cache the result.

NVRTC rather than Triton: each thread owns a cell of a sentence's chart, with barriers between widths and
tables in shared memory, which Triton's tile programs cannot express. The same source runs on the CPU in
tests."""

from __future__ import annotations

import ctypes
import hashlib
import os
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path

from arcwise import _cpu
from arcwise.errors import ArcwiseError

OPTIONS = ("-std=c++20", "-default-device")


class CudaError(ArcwiseError):
    """An error of the CUDA compiler or driver."""


def source_folder() -> Path:
    """Return the folder of the CUDA source, installed next to the native modules."""
    return Path(str(_cpu.__file__)).parent / "cuda_source"


def source_path(source: str) -> Path:
    """Return the file of this name, which is in the folder of one room alone."""
    paths = list((source_folder() / "kernels").glob(f"*/{source}"))
    if len(paths) != 1:
        raise CudaError(f"{source}: found {len(paths)} files of this name in {source_folder()}, expected 1")
    return paths[0]


def cache_folder() -> Path:
    """Return the cache of compiled kernels: ``$XDG_CACHE_HOME/arcwise/kernels``, or
    ``~/.cache/arcwise/kernels``."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "arcwise" / "kernels"


def machine_code(source: str, architecture: str) -> bytes:
    """Return the cubin of ``kernels/<room>/<source>`` for an architecture (``sm_90``), cached or compiled."""
    cached = cache_folder() / f"{Path(source).stem}-{architecture}-{_digest(source, architecture)}.cubin"
    try:
        return cached.read_bytes()
    except OSError:
        pass
    text = source_path(source).read_bytes()
    code = compile_source(text, source, architecture)
    _store(cached, code)
    return code


def compile_source(text: bytes, name: str, architecture: str) -> bytes:
    """Compile; raises ``CudaError`` with the compiler's log on failure."""
    nvrtc = nvrtc_library()
    program = ctypes.c_void_p()
    _check(nvrtc.nvrtcCreateProgram(ctypes.byref(program), text, name.encode(), 0, None, None))
    try:
        options = [option.encode() for option in _options(architecture)]
        status = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
        if status != 0:
            log = _read(program, nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog)
            raise CudaError(
                f"{name}: NVRTC cannot compile it for {architecture}: {log.decode().rstrip(chr(0)).strip()}"
            )
        return _read(program, nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN)
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))


@cache
def nvrtc_library() -> ctypes.CDLL:
    """Return NVRTC from torch's packages, or else the system's."""
    for name in _library_names():
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    raise CudaError("NVRTC was not found (libnvrtc.so, which ships with torch for CUDA)")


def _library_names() -> list[str]:
    beside_torch = [
        str(library)
        for folder in map(Path, sys.path)
        if folder.name in ("site-packages", "dist-packages")
        for library in sorted(folder.glob("nvidia/*/lib/libnvrtc.so.*"))
        if "builtins" not in library.name
    ]
    return [
        *beside_torch,
        "libnvrtc.so.13",
        "libnvrtc.so.12",
        "libnvrtc.so",
        "nvrtc64_130_0.dll",
        "nvrtc64_120_0.dll",
    ]


def _options(architecture: str) -> tuple[str, ...]:
    return (f"-arch={architecture}", *OPTIONS, f"-I{source_folder()}")


def _digest(source: str, architecture: str) -> str:
    """Hash everything that determines the machine code: all source, the options, the version of NVRTC."""
    digest = hashlib.sha256(repr((source, architecture, OPTIONS, _version())).encode())
    for path in sorted(source_folder().rglob("*.*")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def _version() -> tuple[int, int]:
    major, minor = ctypes.c_int(), ctypes.c_int()
    _check(nvrtc_library().nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)))
    return major.value, minor.value


def _store(path: Path, code: bytes) -> None:
    """Write atomically; if the cache is not writable, the kernel is compiled again next time."""
    part = path.with_suffix(f".{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(code)
        part.replace(path)
    except OSError:
        with suppress(OSError):
            part.unlink()


def _read(
    program: ctypes.c_void_p, size_of: ctypes._NamedFuncPointer, read: ctypes._NamedFuncPointer
) -> bytes:
    size = ctypes.c_size_t()
    _check(size_of(program, ctypes.byref(size)))
    buffer = ctypes.create_string_buffer(size.value)
    _check(read(program, buffer))
    return buffer.raw


def _check(status: int) -> None:
    if status != 0:
        nvrtc = nvrtc_library()
        nvrtc.nvrtcGetErrorString.restype = ctypes.c_char_p
        raise CudaError(f"NVRTC: {nvrtc.nvrtcGetErrorString(status).decode()}")
