"""The score of a tree's adjacent siblings, pair by pair."""

from __future__ import annotations

import numpy as np


def sibling_value(heads: np.ndarray, siblings: np.ndarray) -> float:
    """The sum of siblings[h, s, m] over the pairs of a tree; s = h for the first dependent of a side."""
    words = range(1, len(heads))
    total = 0.0
    for h in range(len(heads)):
        left = [m for m in reversed(words) if m < h and heads[m] == h]
        right = [m for m in words if m > h and heads[m] == h]
        for side in (left, right):
            total += sum(siblings[h, before, m] for before, m in zip([h, *side], side, strict=False))
    return total
