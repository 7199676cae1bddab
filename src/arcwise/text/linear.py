"""Sparse linear models as arrays of a model file: 8-bit weights, one key and one length per row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.errors import ModelError
from arcwise.learning.model_file import Precision, check_precision

Arrays = dict[str, npt.NDArray[Any]]
Linear = tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]
"""Keys, starts, outputs and weights, in the layout of the native models."""

MAX_COUNT = 2**32 - 1
EPOCHS = "Training epochs."
RATE = "Learning rate (AdaGrad)."
DAMPING = "Initial value of AdaGrad's squared-gradient sums; larger values damp updates of rare features."
L2 = "L2 regularisation strength."
MIN_COUNT = "Minimum number of training occurrences of a feature with an output for it to get a weight."
PRUNE = "Drop weights below this after half of the epochs; the remaining epochs retrain the others."
"""Help texts of the options that tokenizer and tagger share."""

LEVELS = 127
_FULL = 65535
NEGLIGIBLE = 0.01
"""Weights below this round to (almost) 0 in 8 bits."""


class LinearTraining(NamedTuple):
    """Training options of a log-linear model, in the order of TrainingOptions in sparse_linear.hpp."""

    epochs: int
    rate: float
    damping: float
    l2: float
    min_count: int
    prune: float
    dropout: float
    seed: int


def pack_linear(name: str, model: Linear, precision: Precision = "int8") -> Arrays:
    """Pack a model into named arrays.

    8-bit weights are w = ± largest · (code / 127)²: a quadratic scale is finest near 0, where most weights
    are.

    >>> keys, starts = np.array([5], np.uint32), np.array([0, 2], np.uint32)
    >>> model = keys, starts, np.array([0, 1], np.uint16), np.array([-2, 0.01], np.float32)
    >>> [round(float(w), 3) for w in unpack_linear("m", pack_linear("m", model))[3]]
    [-2.0, 0.01]
    """
    keys, starts, outputs, weights = model
    arrays = {
        **pack_keys(f"{name}.keys", keys),
        f"{name}.lengths": narrow(np.diff(starts)),
        f"{name}.outputs": narrow(outputs),
    }
    if check_precision(precision) != "int8":
        return arrays | {f"{name}.weights": weights.astype(precision)}
    largest = max(float(np.abs(weights).max(initial=0.0)), 1e-30)
    codes = np.sign(weights) * np.rint(LEVELS * np.sqrt(np.abs(weights) / largest))
    return arrays | {
        f"{name}.codes": codes.astype(np.int8),
        f"{name}.largest": np.array([largest], np.float32),
    }


def unpack_linear(name: str, arrays: Mapping[str, npt.NDArray[Any]]) -> Linear:
    """Restore a model from its arrays."""
    lengths = get(arrays, f"{name}.lengths")
    starts = np.zeros(len(lengths) + 1, np.uint32)
    np.cumsum(lengths.astype(np.uint32), out=starts[1:])
    return (
        unpack_keys(f"{name}.keys", arrays),
        starts,
        get(arrays, f"{name}.outputs").astype(np.uint16),
        _weights(name, arrays),
    )


def _weights(name: str, arrays: Mapping[str, npt.NDArray[Any]]) -> npt.NDArray[np.float32]:
    if f"{name}.weights" in arrays:
        return np.array(arrays[f"{name}.weights"], np.float32)
    levels = np.arange(256).astype(np.uint8).view(np.int8).astype(np.float32) / LEVELS
    values = (np.sign(levels) * levels**2 * get(arrays, f"{name}.largest")[0]).astype(np.float32)
    weights: npt.NDArray[np.float32] = values[get(arrays, f"{name}.codes").view(np.uint8)]
    return weights


def pack_keys(name: str, keys: npt.NDArray[Any]) -> Arrays:
    """Store sorted 32-bit keys as 16-bit gaps where that is smaller; 65535 means that the gap continues.

    >>> keys = np.array([7, 9, 70_000], np.uint32)
    >>> packed = pack_keys("keys", keys)
    >>> packed["keys.gaps"].tolist(), unpack_keys("keys", packed).tolist()
    ([7, 2, 65535, 4456], [7, 9, 70000])
    """
    gaps = keys.astype(np.int64)
    gaps[1:] = gaps[1:] - gaps[:-1]
    if not len(keys) or gaps.min() < 0 or len(gaps) + (gaps // _FULL).sum() > 2 * len(keys):
        return {name: keys}
    full = gaps // _FULL
    steps = np.full(len(gaps) + int(full.sum()), _FULL, np.uint16)
    steps[np.cumsum(full + 1) - 1] = gaps % _FULL
    return {f"{name}.gaps": steps}


def unpack_keys(name: str, arrays: Mapping[str, npt.NDArray[Any]]) -> npt.NDArray[np.uint32]:
    """Restore the keys packed by ``pack_keys``."""
    if f"{name}.gaps" not in arrays:
        return np.ascontiguousarray(get(arrays, name), np.uint32)
    return native.keys_of_gaps(np.ascontiguousarray(arrays[f"{name}.gaps"], np.uint16))


def narrow(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Convert to the smallest unsigned integer type that holds all values."""
    largest = int(values.max(initial=0))
    return values.astype(np.uint8 if largest < 256 else np.uint16 if largest < 65536 else np.uint32)


def get(arrays: Mapping[str, npt.NDArray[Any]], name: str) -> npt.NDArray[Any]:
    """Return an array by name; raises ``ModelError`` if it is missing."""
    if name not in arrays:
        raise ModelError(f"model: array {name!r} is missing; the file is damaged")
    return arrays[name]


def lists_of(lists: list[list[int]]) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
    """Flatten lists of integers into starts and values."""
    starts = np.zeros(len(lists) + 1, np.uint32)
    np.cumsum([len(values) for values in lists], out=starts[1:])
    return starts, np.array([v for values in lists for v in values], np.uint32)
