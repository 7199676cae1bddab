"""Labelled scores, shape (L, n+1, n+1): from arcs to labels and back (Koo et al. 2007, section 3.4)."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from arcwise.inference.arc_matrices import Floats, Heads

LabelCodes = npt.NDArray[np.int64]
"""Shape (n+1,): the number of each word's label; that of the root means nothing."""


def log_sum_scores(labelled: Floats) -> Floats:
    """Arc scores for summing: logsumexp over labels, shape (n+1, n+1)."""
    top = labelled.max(axis=0)
    shift = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.exp(labelled - shift).sum(axis=0)) + shift)


def log_label_probabilities(labelled: Floats) -> Floats:
    """log p(label | arc), shape (L, n+1, n+1); -inf for arcs that are forbidden. Taken from the highest score of each arc, so that
    labels of any size of score have their share."""
    top = labelled.max(axis=0)
    below = labelled - np.where(np.isfinite(top), top, 0.0)
    total = np.exp(below).sum(axis=0)
    return below - np.log(np.where(total > 0, total, 1.0))


def label_probabilities(labelled: Floats) -> Floats:
    """p(label | arc), shape (L, n+1, n+1); 0 for arcs that are forbidden."""
    return np.exp(log_label_probabilities(labelled))


def sample_labels(labelled: Floats, heads: Heads, rng: np.random.Generator) -> LabelCodes:
    """A label for each arc of a tree, from p(label | arc)."""
    cumulative = np.cumsum(_of_arcs(label_probabilities(labelled), heads), axis=0)
    cumulative /= np.where(cumulative[-1] > 0, cumulative[-1], 1.0)
    return np.asarray((rng.random(len(heads)) >= cumulative).sum(axis=0).clip(max=len(labelled) - 1))


def k_best_labelled(
    labelled: Floats, structures: Heads, values: Floats, k: int
) -> list[tuple[Heads, LabelCodes]]:
    """The k best labelled trees, from the k best structures (each valued with its best labels), best first.

    A labelled tree among the k best has its structure among the k best structures, since every structure above it
    gives at least one labelled tree that is better. So the labellings of the structures are merged, best first.
    """
    series = [
        _valued(t, value, _labellings(_of_arcs(labelled, heads)))
        for t, (heads, value) in enumerate(zip(structures, values.tolist(), strict=True))
    ]
    merged = heapq.merge(*series, key=lambda entry: -entry[0])
    return [(structures[t], np.array(codes)) for _, t, codes in islice(merged, k)]


def _valued(
    structure: int, best: float, labellings: Iterator[tuple[float, tuple[int, ...]]]
) -> Iterator[tuple[float, int, tuple[int, ...]]]:
    for loss, codes in labellings:
        yield best - loss, structure, codes


def _of_arcs(labelled: Floats, heads: Heads) -> Floats:
    """Shape (L, n+1): the entries of a tree's arcs; the root has none, and gets 0."""
    entries = labelled[:, heads, np.arange(len(heads))]
    entries[:, 0] = 0
    return entries


def _labellings(of_arcs: Floats) -> Iterator[tuple[float, tuple[int, ...]]]:
    """Every labelling of one tree, best first, as (loss against the best, label codes): best-first search over ranks.

    Each vector of ranks is reached in one way: by raising ranks from left to right.
    """
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


def label_names(codes: Sequence[int] | npt.NDArray[np.integer[Any]], names: Sequence[str]) -> tuple[str, ...]:
    """The labels of a tree, ``""`` for the root."""
    return ("", *(names[code] for code in codes[1:]))
