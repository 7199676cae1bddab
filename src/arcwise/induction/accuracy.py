"""How well induced trees agree with a gold treebank."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arcwise.errors import InputError
from arcwise.evaluation.attachment import uas_las
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
    known, found = gold >= 0, heads.astype(np.int64)
    first = np.repeat(starts[:-1].astype(np.int64), np.diff(starts))
    number = np.arange(len(gold)) - first + 1
    turned = (found > 0) & (gold[first + np.maximum(found, 1) - 1] == number)
    undirected = int((known & ((heads == gold) | turned)).sum())
    words = int(known.sum())
    return Accuracy(uas_las(gold, heads).uas, undirected / max(words, 1), words)
