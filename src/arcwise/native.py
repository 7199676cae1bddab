"""The native module, compiled for the widest instruction set that this machine supports.

The kernels are compiled once per instruction set (``_native_baseline``, ``_native_v3``); importing this
module replaces it with the chosen one. The environment variable ``ARCWISE_NATIVE=baseline`` overrides the
choice."""

from __future__ import annotations

import importlib
import os
import sys
from importlib.util import find_spec


def _variant() -> str:
    forced = os.environ.get("ARCWISE_NATIVE")
    if forced:
        return forced
    from arcwise import _cpu

    for variant in ("v3", "baseline"):
        is_supported = variant == "baseline" or _cpu.has_x86_64_v3()
        if is_supported and find_spec(f"arcwise._native_{variant}"):
            return variant
    raise ImportError("arcwise was installed without its native module; reinstall it with a C++20 compiler")


sys.modules[__name__] = importlib.import_module(f"arcwise._native_{_variant()}")
