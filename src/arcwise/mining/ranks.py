"""Features as log-ranks within a treebank, so that treebanks and parsers of all sizes are comparable."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from arcwise.mining.evidence import Floats
from arcwise.mining.words import codes_of


def log_ranks(values: Floats, reference: npt.NDArray[np.bool_]) -> Floats:
    """-log(share of the reference words with higher values) - 1: mean 0, and 2.3 more for each tenth.

    Equal values count half. NaN becomes 0: nothing is known, as for the average word.

    >>> log_ranks(np.array([1.0, 2.0, np.nan]), np.array([True, True, True])).round(3).tolist()
    [-0.712, 0.386, 0.0]
    """
    finite = np.isfinite(values)
    sample = np.sort(values[finite & reference])
    ranks = np.zeros(len(values))
    if len(sample):
        at = values[finite]
        below = (np.searchsorted(sample, at, "left") + np.searchsorted(sample, at, "right")) / 2
        # At least half a word is higher, so that the highest value stays finite.
        ranks[finite] = -np.log(np.maximum(1 - below / len(sample), 0.5 / len(sample))) - 1
    return ranks


def log_ranks_within(values: Floats, kinds: Sequence[str]) -> Floats:
    """``log_ranks`` among the words of the same kind; NaN ranks lowest.

    >>> log_ranks_within(np.array([1.0, 5.0, 9.0]), ["a", "b", "a"]).round(3).tolist()
    [-0.712, -0.307, 0.386]
    """
    codes = codes_of(kinds)
    lowest = np.where(np.isnan(values), -np.inf, values)
    order = np.lexsort((lowest, codes))
    sizes = np.bincount(codes)
    starts = np.cumsum(sizes) - sizes
    sorted_codes = codes[order]
    position = np.arange(len(order)) - starts[sorted_codes]
    ranks = np.zeros(len(values))
    ranks[order] = -np.log(1 - (position + 0.5) / sizes[sorted_codes]) - 1
    return ranks
