"""Sparse tables of weights in model files: a bit for each cell that is not zero, and the values of those, in the precision asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.learning.model_file import Packed, Precision, check_precision

_BLOCK = native.WEIGHT_BLOCK
Arrays = dict[str, npt.NDArray[Any]]


def pack_weights(name: str, weights: npt.NDArray[np.float32], precision: Precision) -> Arrays:
    """The arrays ``name.bits`` and ``name.values`` (and ``name.scales`` for int8: one for every 256 values).

    >>> arrays = pack_weights("w", np.array([0, 0.5, 0, -2], np.float32), "int8")
    >>> unpack_weights("w", arrays, 4).tolist()
    [0.0, 0.503..., 0.0, -2.0]
    """
    check_precision(precision)
    present = weights != 0
    values: npt.NDArray[Any] = weights[present]
    arrays: Arrays = {f"{name}.bits": np.packbits(present)}
    if precision == "int8":
        blocks = np.zeros(-(-len(values) // _BLOCK) * _BLOCK, np.float32)
        blocks[: len(values)] = values
        largest = np.abs(blocks.reshape(-1, _BLOCK)).max(axis=1) if len(blocks) else np.zeros(0)
        scales = np.maximum(largest / 127, np.finfo(np.float32).tiny).astype(np.float32)
        arrays[f"{name}.scales"] = scales
        values = np.rint(blocks / np.repeat(scales, _BLOCK))[: len(values)].astype(np.int8)
    elif precision == "float16":
        values = np.clip(values, -65504, 65504).astype(np.float16)
    arrays[f"{name}.values"] = values
    return arrays


def unpack_weights(name: str, arrays: Mapping[str, npt.NDArray[Any]], size: int) -> npt.NDArray[np.float32]:
    """The table of ``size`` weights that ``pack_weights`` packed."""
    bits = arrays[f"{name}.bits"]
    if f"{name}.scales" in arrays:
        return native.spread_weights(bits, arrays[f"{name}.values"], arrays[f"{name}.scales"], size)
    weights = np.zeros(size, np.float32)
    weights[np.unpackbits(bits, count=size).view(np.bool_)] = arrays[f"{name}.values"]
    return weights


def read_weights(packed: Packed, name: str, size: int) -> npt.NDArray[np.float32]:
    """The table of a packed model; ``ModelError`` if it is not there."""
    packed.array(f"{name}.bits"), packed.array(f"{name}.values")
    return unpack_weights(name, packed.arrays, size)
