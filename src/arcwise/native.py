"""The native module, compiled for the widest instruction set that this machine supports.

The kernels are compiled once per instruction set (``_native_baseline``, ``_native_v3``); importing this
module replaces it with the chosen one. Wheels have all of them, a clone has the one for the machine that
compiled it. The environment variable ``ARCWISE_NATIVE=baseline`` overrides the choice."""

from __future__ import annotations

import importlib
import os
import sys
from importlib.util import find_spec

_REBUILD = "`make setup` in a clone, or `pip install .` anew, compiles it (C++20)"


def _variant() -> str:
    forced = os.environ.get("ARCWISE_NATIVE")
    if forced:
        if not _is_installed(forced):
            raise ImportError(
                f"ARCWISE_NATIVE={forced}: this installation has no such variant; "
                'SKBUILD_CMAKE_DEFINE="ARCWISE_VARIANTS=baseline;v3" before `make setup` compiles both'
            )
        return forced
    from arcwise import _cpu

    runs_v3 = _cpu.has_x86_64_v3()
    if runs_v3 and _is_installed("v3"):
        return "v3"
    if _is_installed("baseline"):
        return "baseline"
    if _is_installed("v3"):
        raise ImportError(f"arcwise was compiled for a processor with AVX2, which this one lacks; {_REBUILD}")
    raise ImportError(f"arcwise was installed without its native module; {_REBUILD}")


def _is_installed(variant: str) -> bool:
    return find_spec(f"arcwise._native_{variant}") is not None


sys.modules[__name__] = importlib.import_module(f"arcwise._native_{_variant()}")
