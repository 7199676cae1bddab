"""``SiblingKernel``: trees whose only factor is ``Siblings``, by a dedicated chart where it is faster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.inference.arc_matrices import Floats, Heads
from arcwise.inference.labels import log_sum_scores

Codes = npt.NDArray[np.int32]


@dataclass(frozen=True)
class SiblingKernel:
    """The operations of ``native.HeadFactors`` for one ``Siblings`` and no automaton.

    Siblings do not depend on labels, so the labels of each arc are summed, or their best one taken, before
    the chart is filled. The kernel that ``general`` returns lists and samples trees.
    """

    siblings: Floats
    general: Callable[[], native.HeadFactors]

    def log_partition(self, scores: Floats, single_root: bool, spans: Codes) -> float:
        """Return log Z."""
        return native.eisner_siblings_log_partition(_summed(scores), self.siblings, single_root, spans)

    def arc_marginals(self, scores: Floats, single_root: bool, spans: Codes) -> tuple[Floats, float]:
        """Return the probabilities of labelled arcs, shaped as the scores, and log Z."""
        arcs = _summed(scores)
        marginals, _, value = native.eisner_siblings_marginals(arcs, self.siblings, single_root, spans, False)
        return _with_labels(marginals, arcs, scores), value

    def marginals(self, scores: Floats, single_root: bool, spans: Codes) -> tuple[Floats, Floats, float]:
        """Return the probabilities of labelled arcs and of sibling pairs (flat), and log Z."""
        arcs = _summed(scores)
        marginals, pairs, value = native.eisner_siblings_marginals(
            arcs, self.siblings, single_root, spans, True
        )
        assert pairs is not None
        return _with_labels(marginals, arcs, scores), pairs.ravel(), value

    def k_best(self, scores: Floats, single_root: bool, spans: Codes, k: int) -> tuple[Heads, Codes, Floats]:
        """Return heads, label codes and scores of the k best labelled trees."""
        if k > 1:
            return self.general().k_best(scores, single_root, spans, k)
        arcs = scores[0] if len(scores) == 1 else np.ascontiguousarray(scores.max(axis=0))
        heads, value = native.eisner_siblings_decode(arcs, self.siblings, single_root, spans)
        if value == -np.inf:
            return heads[None][:0], heads[None][:0], np.zeros(0)
        codes = np.zeros(len(heads), np.int32)
        if len(scores) > 1:
            codes[1:] = scores[:, heads[1:], np.arange(1, len(heads))].argmax(axis=0)
        return heads[None], codes[None], np.array([value])

    def sample(
        self, scores: Floats, single_root: bool, spans: Codes, count: int, seed: int
    ) -> tuple[Heads, Codes, float]:
        """Draw trees; returns their heads and label codes, and log Z."""
        return self.general().sample(scores, single_root, spans, count, seed)


def _summed(scores: Floats) -> Floats:
    return scores[0] if len(scores) == 1 else log_sum_scores(scores)


def _with_labels(marginals: Floats, arcs: Floats, scores: Floats) -> Floats:
    """Share the probability of each arc among its labels."""
    if len(scores) == 1:
        return marginals[None]
    possible = marginals > 0
    shares = np.exp(np.where(possible, scores, 0.0) - np.where(possible, arcs, 0.0))
    return np.asarray(shares * marginals)
