"""Size of a search tree, estimated by random walks from the root to a leaf (Knuth 1975).

A walk bounds a node, splits it, and continues with one of its open children, chosen at random. A node reached
after choices among b_1, …, b_d children stands for b_1·…·b_d nodes of its depth; the mean over walks is an
unbiased estimate of the size of the tree that a search with this incumbent and epsilon would build. Its
variance is high; it serves to compare strategies (Gormley & Eisner 2013, table 1).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np


class Walkable(Protocol):
    """A search whose tree can be sampled."""

    def walk_step(self, node: object | None, *, time_limit: float | None = None) -> list[object]:
        """Bound and split a node (None: the root), in about this time; return its children that are still
        open.
        """
        ...


_LATE = 10
"""A walk after the first is finished beyond the time limit, up to this many times its length."""


@dataclass(frozen=True)
class TreeEstimate:
    """Estimated nodes and seconds of the whole search, with their standard errors.

    ``walks`` is 0 if the time limit was reached during the first walk: nodes and seconds are then
    underestimates.
    """

    nodes: float
    nodes_error: float
    seconds: float
    seconds_error: float
    walks: int


def estimate_tree(
    search: Walkable,
    *,
    walks: int,
    seed: int = 0,
    time_limit: float | None = None,
    progress: Callable[[int], None] | None = None,
) -> TreeEstimate:
    """Estimate from this many walks, or as many as the time limit allows; a walk under way is finished."""
    random = np.random.default_rng(seed)
    began = time.monotonic()
    sizes: list[float] = []
    times: list[float] = []

    def left(times: int = 1) -> float | None:
        return None if time_limit is None else times * time_limit - (time.monotonic() - began)

    def over(times: int = 1) -> bool:
        return time_limit is not None and time.monotonic() - began > times * time_limit

    while len(sizes) < walks and not (sizes and over()):
        weight = 1.0
        nodes = seconds = 0.0
        node: object | None = None
        while True:
            started = time.monotonic()
            children = search.walk_step(node, time_limit=left(_LATE if sizes else 1))
            nodes += weight
            seconds += weight * (time.monotonic() - started)
            if not children:
                break
            if not sizes and over():
                return TreeEstimate(nodes, math.inf, seconds, math.inf, 0)
            if sizes and over(_LATE):
                return TreeEstimate(*_mean(sizes), *_mean(times), len(sizes))
            weight *= len(children)
            node = children[int(random.integers(len(children)))]
        sizes.append(nodes)
        times.append(seconds)
        if progress:
            progress(len(sizes))
    return TreeEstimate(*_mean(sizes), *_mean(times), len(sizes))


def _mean(values: list[float]) -> tuple[float, float]:
    error = float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("inf")
    return float(np.mean(values)), error
