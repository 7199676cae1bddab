"""Labelled scores, shape (L, n+1, n+1): sum labels out of arcs, and put them back (Koo et al. 2007, 3.4)."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from arcwise.inference.arc_matrices import Floats, Heads

LabelCodes = npt.NDArray[np.int64]
"""Shape (n+1,): the label code of each word; the root's is meaningless."""


def log_sum_scores(labelled: Floats) -> Floats:
    """Sum labels out: logsumexp over labels, shape (n+1, n+1)."""
    top = labelled.max(axis=0)
    # A column of -inf has no finite maximum; shifting by 0 keeps it -inf instead of NaN.
    shift = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.exp(labelled - shift).sum(axis=0)) + shift)


def log_label_probabilities(labelled: Floats) -> Floats:
    """Return log p(label | arc), shape (L, n+1, n+1); -inf for forbidden arcs.

    Scores are taken relative to the best label of the arc, so that large scores do not overflow.
    """
    top = labelled.max(axis=0)
    below = labelled - np.where(np.isfinite(top), top, 0.0)
    total = np.exp(below).sum(axis=0)
    return below - np.log(np.where(total > 0, total, 1.0))


def label_probabilities(labelled: Floats) -> Floats:
    """Return p(label | arc), shape (L, n+1, n+1); 0 for forbidden arcs."""
    return np.exp(log_label_probabilities(labelled))


def sample_labels(labelled: Floats, heads: Heads, rng: np.random.Generator) -> LabelCodes:
    """Draw a label for each arc of a tree from p(label | arc)."""
    cumulative = np.cumsum(_of_arcs(label_probabilities(labelled), heads), axis=0)
    # Divided by the last sum, since rounding may leave it just below 1 and a draw could fall behind it.
    cumulative /= np.where(cumulative[-1] > 0, cumulative[-1], 1.0)
    return np.asarray((rng.random(len(heads)) >= cumulative).sum(axis=0).clip(max=len(labelled) - 1))


def k_best_labelled(
    labelled: Floats, structures: Heads, values: Floats, k: int
) -> list[tuple[Heads, LabelCodes]]:
    """Return the k best labelled trees from the k best structures (scored with their best labels).

    The structure of a labelled tree among the k best is itself among the k best structures, since every
    better structure has at least one better labelled tree. So the labellings of these structures are merged,
    best first."""
    series = [
        _valued(t, value, _labellings(_of_arcs(labelled, heads)))
        for t, (heads, value) in enumerate(zip(structures, values.tolist(), strict=True))
    ]
    # Merged lazily: a tree of n words has L^n labellings, of which k are read.
    merged = heapq.merge(*series, key=lambda entry: -entry[0])
    return [(structures[t], np.array(codes)) for _, t, codes in islice(merged, k)]


def _valued(
    structure: int, best: float, labellings: Iterator[tuple[float, tuple[int, ...]]]
) -> Iterator[tuple[float, int, tuple[int, ...]]]:
    for loss, codes in labellings:
        yield best - loss, structure, codes


def _of_arcs(labelled: Floats, heads: Heads) -> Floats:
    """Return the entries of a tree's arcs, shape (L, n+1); 0 for the root, which has no arc."""
    entries = labelled[:, heads, np.arange(len(heads))]
    entries[:, 0] = 0
    return entries


def _labellings(of_arcs: Floats) -> Iterator[tuple[float, tuple[int, ...]]]:
    """Yield every labelling of a tree, best first, as (score lost against the best, label codes).

    Best-first search over the ranks of labels. Ranks are raised from left to right only, so that each vector
    of ranks is reached once."""
    order = np.argsort(-of_arcs, axis=0, kind="stable")
    losses = of_arcs.max(axis=0) - np.take_along_axis(of_arcs, order, axis=0)
    words = of_arcs.shape[1]
    heap: list[tuple[float, tuple[int, ...], int]] = [(0.0, (0,) * words, 1)]
    while heap:
        loss, ranks, last = heapq.heappop(heap)
        yield loss, tuple(int(order[rank, m]) for m, rank in enumerate(ranks))
        for m in range(last, words):
            rank = ranks[m] + 1
            if rank < len(order) and losses[rank, m] < np.inf:
                raised = loss - losses[rank - 1, m] + losses[rank, m]
                heapq.heappush(heap, (raised, (*ranks[:m], rank, *ranks[m + 1 :]), m))


def only_root_label(heads: npt.NDArray[np.integer[Any]], labels: npt.NDArray[np.integer[Any]]) -> int:
    """Return the code of the label that all arcs from the root have and no other arc, -1 if there is none.

    A parser trained on such trees gives that label to arcs from the root and to no others. Unknown heads and
    labels are -1.

    >>> only_root_label(np.array([2, 0, 2, 0]), np.array([1, 4, 3, 4])), only_root_label(
    ...     np.array([2, 0, 2, 0]), np.array([1, 4, 4, 4]))
    (4, -1)
    """
    has_label = labels >= 0
    of_root = np.unique(labels[has_label & (heads == 0)])
    of_others = np.unique(labels[has_label & (heads > 0)])
    # Trees of single words have no other labels; nothing can be said of other arcs then.
    if len(of_root) != 1 or not len(of_others) or of_root[0] in of_others:
        return -1
    return int(of_root[0])


def codes_of(values: Iterable[str], names: Iterable[str]) -> npt.NDArray[np.int32]:
    """Return the index of each value among ``names``, -1 if it is not there."""
    codes = {name: code for code, name in enumerate(names)}
    return np.array([codes.get(value, -1) for value in values], np.int32)


def label_names(codes: Sequence[int] | npt.NDArray[np.integer[Any]], names: Sequence[str]) -> tuple[str, ...]:
    """Return the labels of a tree, ``""`` for the root."""
    # A list, because indexing by the numbers of an array is several times slower.
    return ("", *(names[code] for code in np.asarray(codes)[1:].tolist()))
