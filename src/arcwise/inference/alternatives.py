"""``Alternative``: the heads and labels that a word may have, with their probabilities."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from arcwise.inference.arc_matrices import Floats
from arcwise.treebanks.field_values import LabelledArc


@dataclass(frozen=True)
class Alternative:
    """A head that a word may have (0 is the root), and the labels that the arc may then have.

    It unpacks as head and probability:

    >>> head, probability = Alternative(2, 0.75, (("obj", 0.7), ("obl", 0.05)))
    >>> head, probability
    (2, 0.75)
    """

    head: int
    probability: float
    """Of the head, whatever the label."""
    labels: tuple[tuple[str, float], ...] = ()
    """Labels, each with the probability of head and label together, most probable first; empty where arcs have none."""

    def __iter__(self) -> Iterator[int | float]:
        return iter((self.head, self.probability))

    def labelled_as(self, label: str) -> Alternative:
        """The same head with a label that is certain."""
        return Alternative(self.head, self.probability, ((label, self.probability),))


def alternatives_of(
    marginals: Floats,
    label_marginals: Floats | None,
    labels: Sequence[str],
    *,
    k: int | None,
    least: float = 0.0,
) -> list[list[Alternative]]:
    """For each word of a sentence its (``k``) heads of a probability above ``least``, most probable first, each with its
    (``k``) labels of such a probability. ``marginals`` are (n+1, n+1), ``label_marginals`` (L, n+1, n+1)."""
    found: list[list[Alternative]] = []
    for m in range(1, len(marginals)):
        column = np.minimum(marginals[:, m], 1.0)
        own = []
        for h in _best(column, k, least):
            if label_marginals is None:
                own.append(Alternative(h, float(column[h])))
                continue
            shares = np.minimum(label_marginals[:, h, m], column[h])
            named = tuple((labels[code], float(shares[code])) for code in _best(shares, k, least))
            own.append(Alternative(h, float(column[h]), named))
        found.append(own)
    return found


def likeliest_arcs(alternatives: Sequence[Alternative], k: int) -> list[LabelledArc]:
    """The ``k`` most probable pairs of head and label among those of a word.

    >>> likeliest_arcs([Alternative(2, 0.6, (("obj", 0.35), ("obl", 0.25))), Alternative(3, 0.4, (("nmod", 0.4),))], 2)
    [LabelledArc(head=3, label='nmod', probability=0.4), LabelledArc(head=2, label='obj', probability=0.35)]
    """
    pairs = [
        LabelledArc(own.head, label, p)
        for own in alternatives
        for label, p in own.labels or (("_", own.probability),)
    ]
    return sorted(pairs, key=lambda arc: -arc.probability)[:k]


def _best(values: Floats, k: int | None, least: float) -> list[int]:
    possible = np.flatnonzero(values > least)
    order = possible[np.argsort(-values[possible], kind="stable")]
    return [int(i) for i in order[:k]]
