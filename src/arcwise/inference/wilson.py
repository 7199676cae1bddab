"""Exact samples of non-projective trees: Wilson's loop-erased random walk (1996).

With a single root, the root word is drawn first from its marginal, and the walk is rooted there. Where the
walk would cycle almost forever (words that strongly prefer each other), heads are drawn word by word with
state elimination instead: O(n³) per tree for any scores. The distribution stays the same, because the number
of steps of the walk is independent of the resulting tree (Propp & Wilson 1998)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy.typing as npt

from arcwise.inference.arc_matrices import ArcMatrices, Heads
from arcwise.inference.kernels import NATIVE
from arcwise.inference.tree_class import NON_PROJECTIVE


def wilson_sample(scores: npt.ArrayLike, *, count: int, seed: int, single_root: bool) -> Heads:
    """Draw ``count`` trees independently from p(tree) = exp(score) / Z, shape (count, n+1).

    ``scores`` is (n+1, n+1) as in ``matrix_tree_marginals``. O(n³) once, then usually about O(n) steps per
    draw. The same seed draws the same trees on every machine.

    >>> import numpy as np
    >>> wilson_sample(np.zeros((3, 3)), count=4, seed=1, single_root=True).shape
    (4, 3)
    """
    return wilson_sample_batch([scores], count=count, seed=seed, single_root=single_root)[0]


def wilson_sample_batch(
    scores: Sequence[npt.ArrayLike], *, count: int, seed: int, single_root: bool, threads: int = 1
) -> list[Heads]:
    """Run ``wilson_sample`` on every sentence; each has its own random stream, at any thread count."""
    return NATIVE.sample(ArcMatrices.of(scores), NON_PROJECTIVE[bool(single_root)], count, seed, 0, threads)
