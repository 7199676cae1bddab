"""``Alternative``: candidate heads and labels of a word, with their probabilities."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from arcwise.inference.arc_matrices import Floats
from arcwise.treebanks.field_values import LabelledArc


@dataclass(frozen=True)
class Alternative:
    """A candidate head of a word (0 is the root), with candidate labels of the arc.

    Unpacks as head and probability:

    >>> head, probability = Alternative(2, 0.75, (("obj", 0.7), ("obl", 0.05)))
    >>> head, probability
    (2, 0.75)
    """

    head: int
    probability: float
    """The probability of the head, summed over labels."""
    labels: tuple[tuple[str, float], ...] = ()
    """Labels with the joint probability of head and label, most probable first.

    Empty if arcs are unlabelled.
    """

    def __iter__(self) -> Iterator[int | float]:
        return iter((self.head, self.probability))

    def labelled_as(self, label: str) -> Alternative:
        """Return the same head with a label that is certain."""
        return Alternative(self.head, self.probability, ((label, self.probability),))


def alternatives_of(
    marginals: Floats,
    label_marginals: Floats | None,
    labels: Sequence[str],
    *,
    k: int | None,
    least: float = 0.0,
) -> list[list[Alternative]]:
    """Return the ``k`` most probable heads of each word, each with its ``k`` most probable labels.

    Heads and labels with a probability of at most ``least`` are left out; ``k=None`` keeps all others.
    ``marginals`` has shape (n+1, n+1), ``label_marginals`` (L, n+1, n+1).
    """
    by_word: list[list[Alternative]] = []
    for m in range(1, len(marginals)):
        column = np.minimum(marginals[:, m], 1.0)  # rounding may leave a marginal just above 1
        alternatives = []
        for h in _best(column, k, least):
            if label_marginals is None:
                alternatives.append(Alternative(h, float(column[h])))
                continue
            # Summed separately from the head's, so rounding may lift it above that one.
            joint = np.minimum(label_marginals[:, h, m], column[h])
            named = tuple((labels[code], float(joint[code])) for code in _best(joint, k, least))
            alternatives.append(Alternative(h, float(column[h]), named))
        by_word.append(alternatives)
    return by_word


def likeliest_arcs(alternatives: Sequence[Alternative], k: int) -> list[LabelledArc]:
    """Return the ``k`` most probable pairs of head and label of a word.

    >>> heads = [Alternative(2, 0.6, (("obj", 0.35), ("obl", 0.25))), Alternative(3, 0.4, (("nmod", 0.4),))]
    >>> likeliest_arcs(heads, 2)
    [LabelledArc(head=3, label='nmod', probability=0.4), LabelledArc(head=2, label='obj', probability=0.35)]
    """
    pairs = [
        LabelledArc(alternative.head, label, p)
        for alternative in alternatives
        for label, p in alternative.labels or (("_", alternative.probability),)
    ]
    return sorted(pairs, key=lambda arc: -arc.probability)[:k]


def _best(values: Floats, k: int | None, least: float) -> list[int]:
    possible = np.flatnonzero(values > least)
    # Stable: equally probable heads come from left to right, the same on every machine.
    order = possible[np.argsort(-values[possible], kind="stable")]
    return [int(i) for i in order[:k]]
