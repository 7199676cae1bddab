"""Exact samples of non-projective trees: Wilson's loop-erased random walk (1996).

With a single root the word under the root is drawn first, from its marginal probability, and the walk is rooted there. Where the
walk would go round in circles almost forever (words that prefer each other by far), heads are drawn one word after the
other by state elimination instead: O(n³) a tree, however the scores are spread, and the same distribution, because the
number of steps of the walk is independent of the tree that it ends in (Propp & Wilson 1998).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy.typing as npt

from arcwise.inference.arc_matrices import ArcMatrices, Heads
from arcwise.inference.kernels import NATIVE
from arcwise.inference.tree_class import NON_PROJECTIVE


def wilson_sample(scores: npt.ArrayLike, *, count: int, seed: int, single_root: bool) -> Heads:
    """``count`` independent draws from p(tree) = exp(score) / Z, shape (count, n+1).

    ``scores`` is (n+1, n+1) as in ``matrix_tree_marginals``. O(n³) once, then about O(n) steps a draw where no words keep
    the walk among themselves. The same seed gives the same trees on every machine.

    >>> import numpy as np
    >>> wilson_sample(np.zeros((3, 3)), count=4, seed=1, single_root=True).shape
    (4, 3)
    """
    return wilson_sample_batch([scores], count=count, seed=seed, single_root=single_root)[0]


def wilson_sample_batch(
    scores: Sequence[npt.ArrayLike], *, count: int, seed: int, single_root: bool, threads: int = 1
) -> list[Heads]:
    """``wilson_sample`` of every sentence; each draws from a stream of its own, so threads change nothing."""
    return NATIVE.sample(ArcMatrices.of(scores), NON_PROJECTIVE[bool(single_root)], count, seed, 0, threads)
