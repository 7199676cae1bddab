"""Argument checks: each function returns the normalised value, or raises ``InputError`` with the argument's
name."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from arcwise.errors import InputError
from arcwise.trees import Tree

LARGEST_SCORE = 1e300
"""Largest accepted score; finite scores below its negative count as its negative, so that no sum overflows.

The same as ``LARGEST_SCORE`` in ``score_matrix.hpp``.
"""
MOST_HEADS = 2**31
"""Most heads that one call may write: requested trees times n+1, over the whole batch."""
MOST_THREADS = 1024
_LARGEST_SEED = 2**64 - 1
_INFINITY = float("inf")

_KINDS = {"c": "complex numbers", "U": "text", "S": "text", "O": "objects that are not numbers", "M": "dates"}


def floats(values: npt.ArrayLike, name: str) -> npt.NDArray[np.float64]:
    """Return ``values`` as a float64 array, which may share their memory."""
    # float64 passes without a copy: kernels only read their input.
    if isinstance(values, np.ndarray) and values.dtype.char == "d":
        return values
    # Silently detaching would cut the graph that the caller trains through.
    if getattr(values, "requires_grad", False):
        raise InputError(f"{name}: found a tensor that requires gradients, expected {name}.detach()")
    try:
        array = np.asarray(values)
    except (ValueError, TypeError, RuntimeError) as error:
        reason = (
            "rows of different lengths" if "inhomogeneous" in str(error) else "something that is not an array"
        )
        raise InputError(
            f"{name}: found {reason}, expected an array of numbers; for a batch, a list of such arrays"
        ) from error
    if array.dtype.kind not in "fiub":
        kind = _KINDS.get(array.dtype.kind, f"values of type {array.dtype}")
        raise InputError(f"{name}: found {kind}, expected real numbers")
    return array.astype(np.float64)


def whole(name: str, value: Any, lowest: int, highest: int) -> int:
    """Return an integer within bounds."""
    if type(value) is int and lowest <= value <= highest:
        return value
    try:
        number = operator.index(value)
    except TypeError:
        number = lowest - 1
    if not lowest <= number <= highest:
        raise InputError(f"{name}: found {value!r}, expected a whole number from {lowest} to {highest}")
    return number


def thread_count(threads: Any) -> int:
    """Return a valid number of threads."""
    return whole("threads", threads, 1, MOST_THREADS)


def seed_number(seed: Any) -> int:
    """Return a seed; a numpy ``Generator`` draws one, which advances it."""
    if isinstance(seed, np.random.Generator):
        # The most that numpy's default int64 can draw.
        return int(seed.integers(2**63))
    try:
        return whole("seed", seed, 0, _LARGEST_SEED)
    except InputError:
        if isinstance(seed, int):
            raise
        raise InputError(
            f"seed: found {seed!r}, expected a whole number (the same seed gives the same trees) "
            "or a numpy Generator"
        ) from None


def tree_count(name: str, count: Any, heads: int, lowest: int) -> int:
    """Return a valid number of trees per sentence; one tree per sentence has ``heads`` heads in all."""
    # At least `lowest`, so that the message for an enormous sentence still shows a range that is not empty.
    return whole(name, count, lowest, max(MOST_HEADS // max(heads, 1), lowest))


def a_tree(tree: Any, words: int) -> Tree:
    """Return a tree, after checking its length."""
    if not isinstance(tree, Tree):
        raise InputError(
            f"tree: found {type(tree).__name__} {tree!r}, expected a Tree, such as Tree.from_heads([2, 0, 2])"
        )
    if len(tree) != words:
        raise InputError(f"tree: found {len(tree)} words, expected {words}")
    return tree


def label_set(labels: Sequence[str]) -> tuple[str, ...]:
    names = (labels,) if isinstance(labels, str) else tuple(labels)
    if isinstance(labels, str) or not names or len(set(names)) != len(names):
        raise InputError(f"labels: found {names}, expected at least one, all different")
    return names


def unpadded(
    scores: npt.ArrayLike, lengths: npt.ArrayLike, *, sentence_axes: int
) -> list[npt.NDArray[np.float64]]:
    """Split a padded batch into one array per sentence."""
    padded = floats(scores, "scores")
    if padded.ndim != sentence_axes + 1 or padded.shape[-1] != padded.shape[-2]:
        expected = "(B, L, N+1, N+1)" if sentence_axes == 3 else "(B, N+1, N+1)"
        raise InputError(f"scores: found shape {padded.shape} with lengths=, expected {expected}")
    words = np.asarray(lengths)
    if words.shape != (len(padded),):
        raise InputError(f"lengths: found shape {words.shape}, expected ({len(padded)},)")
    sides = [whole("lengths", n, 1, padded.shape[-1] - 1) + 1 for n in words.tolist()]
    return [array[..., :side, :side] for array, side in zip(padded, sides, strict=True)]


def depth(scores: Any) -> int:
    """Return the number of dimensions; looks only at the first element of each sequence."""
    levels = 0
    while isinstance(scores, list | tuple):
        if not scores:
            raise InputError("scores: found an empty list, expected at least one sentence")
        scores, levels = scores[0], levels + 1
    return levels + np.ndim(scores)


def temperature_number(name: str, value: float) -> float:
    if type(value) is float and 0 < value < _INFINITY:
        return value
    if not isinstance(value, int | float | np.number) or not 0 < value < np.inf:
        raise InputError(f"{name}: found {value}, expected a number above 0")
    return float(value)


def smoothing_number(value: float) -> float:
    if type(value) is float and 0 <= value < _INFINITY:
        return value
    if not isinstance(value, int | float | np.number) or not 0 <= value < np.inf:
        raise InputError(f"smoothing: found {value}, expected a number, 0 or more")
    return float(value)
