"""Sparse linear models as arrays of a model: weights (in files of 8 bits), a key and a length per row."""

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
"""Keys, starts, outputs and weights, as the native models give and take them."""

MAX_COUNT = 2**32 - 1
EPOCHS = "Passes over the training data."
RATE = "The size of AdaGrad's steps."
DAMPING = "AdaGrad's sums of squared gradients start here: the larger, the less a rare feature moves."
L2 = "Weight of the squared weights in what is minimised."
MIN_COUNT = "How often a feature must have been seen with an output to get a weight."
PRUNE = (
    "Weights smaller than this after half of the epochs are dropped; the others make up for them in the rest."
)
"""Options that tokenizer and tagger both have, in words."""

LEVELS = 127
_FULL = 65535
NEGLIGIBLE = 0.01
"""Weights below this would be rounded to 0, or next to it."""


class LinearTraining(NamedTuple):
    """How a log-linear model is learned, in the order that native code takes it (TrainingOptions of sparse_linear.hpp)."""

    epochs: int
    rate: float
    damping: float
    l2: float
    min_count: int
    prune: float
    dropout: float
    seed: int


def pack_linear(name: str, model: Linear, precision: Precision = "int8") -> Arrays:
    """The arrays of a model. Weights of 8 bits are w = ± largest · (code / 127)², which is fine where most weights are.

    >>> model = np.array([5], np.uint32), np.array([0, 2], np.uint32), np.array([0, 1], np.uint16), np.array([-2, 0.01], np.float32)
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
    """A model from its arrays."""
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
    """Sorted 32-bit keys as the gaps between them, where that takes less room: 16 bits each, 65535 meaning that more follows.

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
    """The keys that ``pack_keys`` packed."""
    if f"{name}.gaps" not in arrays:
        return np.ascontiguousarray(get(arrays, name), np.uint32)
    return native.keys_of_gaps(np.ascontiguousarray(arrays[f"{name}.gaps"], np.uint16))


def narrow(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The same numbers in as few bytes as they need."""
    largest = int(values.max(initial=0))
    return values.astype(np.uint8 if largest < 256 else np.uint16 if largest < 65536 else np.uint32)


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
