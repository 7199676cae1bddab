"""Projective trees with sibling scores (McDonald & Pereira 2006): best tree, partition function, marginals.

``scores[h, m]`` is the score of the arc h → m, as for ``eisner_decode``; ``siblings[h, s, m]`` that of
adjacent siblings, as for ``Siblings``. Both arrays are read where they are, and checked on the way. All
functions are exact and take O(n³); an operation that is not here is one of ``FactoredTreeDistribution``."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.errors import NoTreeError
from arcwise.factors.siblings import Siblings
from arcwise.inference.arc_matrices import MINUS_INFINITY, Floats, Heads, as_matrix, check_scores

_NO_SPANS = np.zeros(0, np.int32)
_FLOAT64 = np.dtype(np.float64)


def eisner_siblings_decode(
    scores: npt.ArrayLike, siblings: npt.ArrayLike, *, single_root: bool
) -> tuple[Heads, float]:
    """Return the heads of the best projective tree, shape (n+1,), and its score.

    >>> siblings = np.zeros((3, 3, 3))
    >>> siblings[0, 1, 2] = 1  # word 2 follows word 1 as a dependent of the root
    >>> heads, value = eisner_siblings_decode(np.zeros((3, 3)), siblings, single_root=False)
    >>> heads.tolist(), value
    ([-1, 0, 0], 1.0)
    """
    arrays = _arrays(scores, siblings)
    heads, value = native.eisner_siblings_decode(*arrays, single_root, _NO_SPANS)
    if not value > MINUS_INFINITY:
        raise _why_no_value(*arrays)
    return heads, value


def eisner_siblings_log_partition(
    scores: npt.ArrayLike, siblings: npt.ArrayLike, *, single_root: bool
) -> float:
    """Return log Z = log Σ exp(score) over all projective trees.

    >>> round(eisner_siblings_log_partition(np.zeros((3, 3)), np.zeros((3, 3, 3)), single_root=False), 3)
    1.099
    """
    arrays = _arrays(scores, siblings)
    value = native.eisner_siblings_log_partition(*arrays, single_root, _NO_SPANS)
    if not value > MINUS_INFINITY:
        raise _why_no_value(*arrays)
    return value


def eisner_siblings_marginals(
    scores: npt.ArrayLike, siblings: npt.ArrayLike, *, single_root: bool
) -> tuple[Floats, float]:
    """Return the probability of every arc, shape (n+1, n+1), and log Z.

    >>> marginals, _ = eisner_siblings_marginals(np.zeros((3, 3)), np.zeros((3, 3, 3)), single_root=False)
    >>> marginals.round(3).tolist()
    [[0.0, 0.667, 0.667], [0.0, 0.0, 0.333], [0.0, 0.333, 0.0]]
    """
    arrays = _arrays(scores, siblings)
    marginals, _, value = native.eisner_siblings_marginals(*arrays, single_root, _NO_SPANS, False)
    if not value > MINUS_INFINITY:
        raise _why_no_value(*arrays)
    return marginals, value


def _arrays(scores: npt.ArrayLike, siblings: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Return arrays of the right shapes; the kernels return nan for a bad score, so none is scanned here."""
    arcs = as_matrix(scores)
    side = len(arcs)
    if (
        isinstance(siblings, np.ndarray)
        and siblings.dtype is _FLOAT64
        and siblings.shape == (side, side, side)
        and arcs.shape[1] == side > 1
    ):
        return arcs, siblings
    arcs, checked = check_scores(arcs, "scores"), Siblings(siblings)
    checked.check(len(arcs) - 1)
    return arcs, checked.scores


def _why_no_value(arcs: Floats, siblings: Floats) -> Exception:
    check_scores(arcs, "scores")
    Siblings(siblings)
    return NoTreeError(
        f"scores: no projective tree over the {len(arcs) - 1} words has finite arcs and siblings"
    )
