"""``legal_trees``: the best trees under ``LegalRules``, with certificates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.factors.legal_rules import LegalRules
from arcwise.inference import Scores
from arcwise.inference.arc_matrices import Floats, Span, span_arrays
from arcwise.inference.arguments import thread_count

MAX_DECODES = 20_000
"""Arc-factored decodes per sentence of up to 40 words, quadratically fewer for longer ones.

A sentence that needs more has a gap."""


@dataclass(frozen=True)
class LegalTrees:
    """Legal trees of a batch, with a certificate for each sentence.

    A value is the score of the tree under the decoder (for minimum risk the expected number of correct
    heads), less what the rules cost. -inf: no legal tree was found.
    """

    parses: native.ParseResult
    """Heads, labels and probabilities, flat over words; ``parsed`` is 0 where no legal tree was found."""
    values: Floats
    bounds: Floats
    """No legal tree has a higher value; -inf proves that there is none."""
    decodes: npt.NDArray[np.int32]
    """Number of arc-factored decodes."""

    @property
    def gaps(self) -> Floats:
        """Optimality gap: no legal tree scores higher by more than this (0: the tree is optimal)."""
        without = self.bounds == -np.inf
        return np.where(without, 0.0, self.bounds - np.where(without, 0.0, self.values))


def legal_trees(
    scores: Scores,
    rules: LegalRules,
    settings: native.DecodeSettings,
    *,
    spans: Sequence[Sequence[Span]] = (),
    max_decodes: int = MAX_DECODES,
    threads: int = 1,
) -> LegalTrees:
    """Return the best legal tree of each sentence under the decoder of the settings, any but greedy.

    Exact for projective and non-projective trees: Lagrangian relaxation over the arc-factored decoder
    (Rush & Collins 2012), tightened by branch and bound until the tree is optimal, or for ``max_decodes``
    decodes. Probabilities are those of the distribution without the rules.

    ``spans``: for each sentence the spans that must be subtrees (projective trees only).

    >>> labels = ["subj", "obj"]
    >>> array = np.zeros((2, 4, 4))
    >>> array[0] = 1  # every arc prefers to be a subject
    >>> settings = native.DecodeSettings(projective=False, single_root=True)
    >>> rules = LegalRules.of({"at_most_one": [{"labels": ["subj"]}]})
    >>> trees = legal_trees(Scores.dense([array], labels), rules, settings)
    >>> trees.values.tolist(), trees.gaps.tolist()
    ([3.0], [0.0])
    """
    ends, starts = span_arrays(spans)
    result: Any = rules.kernel(scores.labels).decode(
        scores.batch,
        settings,
        ends,
        starts,
        max_decodes=max_decodes,
        threads=thread_count(threads),
    )
    return LegalTrees(*result)
