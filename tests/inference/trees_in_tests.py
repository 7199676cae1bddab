"""Small things that the tests of distributions share."""

from __future__ import annotations

from itertools import product

import numpy as np
import numpy.typing as npt

from arcwise import Tree
from reference.enumerate_trees import Enumeration

Floats = npt.NDArray[np.float64]


def log_sum(values: Floats) -> float:
    top = values.max()
    return float(top + np.log(np.exp(values - top).sum())) if top > -np.inf else -np.inf


def labelled_trees(scores: Floats, labels: list[str], structures: Enumeration) -> list[tuple[Tree, float]]:
    """Every labelled tree over the structures with its score, best first, one by one."""
    found = []
    n = scores.shape[-1] - 1
    for heads in structures.trees:
        for codes in product(range(len(labels)), repeat=n):
            value = sum(scores[code, heads[m], m] for m, code in enumerate(codes, start=1))
            if value > -np.inf:
                found.append((Tree.from_heads(heads[1:], [labels[code] for code in codes]), float(value)))
    return sorted(found, key=lambda pair: -pair[1])


def plain_trees(structures: Enumeration) -> list[tuple[Tree, float]]:
    """Every tree with its score, best first."""
    return [
        (Tree(heads), float(value)) for heads, value in zip(structures.trees, structures.values, strict=True)
    ]
