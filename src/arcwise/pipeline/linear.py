"""Sparse linear models as arrays of a model file: 8-bit weights, a key and a length per row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from arcwise.errors import ModelError

Arrays = dict[str, npt.NDArray[Any]]
Linear = tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]
"""Keys, starts, outputs and weights, as the native models give and take them."""

LEVELS = 127


def pack_linear(name: str, model: Linear) -> Arrays:
    """The arrays of a model, weights rounded to 8 bits."""
    keys, starts, outputs, weights = model
    scale = max(float(np.abs(weights).max(initial=0.0)) / LEVELS, 1e-30)
    wide = len(outputs) and int(outputs.max()) > 255
    return {
        f"{name}.keys": keys,
        f"{name}.lengths": np.diff(starts).astype(np.uint16),
        f"{name}.outputs": outputs.astype(np.uint16 if wide else np.uint8),
        f"{name}.weights": np.rint(weights / scale).astype(np.int8),
        f"{name}.scale": np.array([scale], np.float32),
    }


def unpack_linear(name: str, arrays: Mapping[str, npt.NDArray[Any]]) -> Linear:
    """A model from its arrays."""
    lengths = get(arrays, f"{name}.lengths")
    starts = np.zeros(len(lengths) + 1, np.uint32)
    np.cumsum(lengths, out=starts[1:])
    weights = get(arrays, f"{name}.weights").astype(np.float32) * get(arrays, f"{name}.scale")[0]
    keys = np.ascontiguousarray(get(arrays, f"{name}.keys"), np.uint32)
    return keys, starts, get(arrays, f"{name}.outputs").astype(np.uint16), weights


def get(arrays: Mapping[str, npt.NDArray[Any]], name: str) -> npt.NDArray[Any]:
    """The array of that name; ``ModelError`` if there is none."""
    if name not in arrays:
        raise ModelError(f"model: has no array {name!r}; the file is damaged")
    return arrays[name]


def lists_of(lists: list[list[int]]) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
    """Lists of numbers as starts and values."""
    starts = np.zeros(len(lists) + 1, np.uint32)
    np.cumsum([len(values) for values in lists], out=starts[1:])
    return starts, np.array([v for values in lists for v in values], np.uint32)
