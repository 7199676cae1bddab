"""How well induced trees agree with a gold treebank."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from arcwise.errors import InputError
from arcwise.induction.dmv import Heads


@dataclass(frozen=True)
class Accuracy:
    """Shares of words whose head is right (``directed``), or whose arc is right up to its direction (``undirected``)."""

    directed: float
    undirected: float
    words: int


def attachment_accuracy(heads: Heads, gold: Heads, starts: np.ndarray) -> Accuracy:
    """Compare heads with gold heads, flat over all words; sentence s is ``starts[s] .. starts[s+1]-1``.

    Undirected: an arc h→m is right if the gold tree has h→m or m→h. Words without a gold head are left out.

    >>> attachment_accuracy(np.array([0, 1]), np.array([2, 0]), np.array([0, 2]))
    Accuracy(directed=0.0, undirected=0.5, words=2)
    """
    if len(heads) != len(gold):
        raise InputError(f"heads: found {len(heads)} words, expected {len(gold)} as in the gold treebank")
    directed = undirected = words = 0
    for a, b in pairwise(starts.tolist()):
        for m in range(1, b - a + 1):
            h, g = int(heads[a + m - 1]), int(gold[a + m - 1])
            if g < 0:
                continue
            words += 1
            directed += h == g
            undirected += h == g or (h > 0 and int(gold[a + h - 1]) == m)
    return Accuracy(directed / max(words, 1), undirected / max(words, 1), words)
