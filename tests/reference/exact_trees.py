"""The distribution over trees in numbers of 60 digits and exponents without bounds (mpmath): a twin for
scores of any size.

Scores of trees are exact fractions, so nothing is lost between 1e300 and 1. Nothing here comes from the
package. Up to n = 4.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, reduce
from itertools import product
from typing import Any

import mpmath
import numpy as np

from reference.enumerate_trees import Floats, all_trees

_MP = mpmath.mp.clone()
_MP.dps = 60


def _exp(exponent: Fraction) -> Any:
    """exp of a fraction of any size: with as many digits as its whole part has, and 60 more."""
    with mpmath.workdps(60 + len(str(abs(exponent.numerator) // exponent.denominator))):
        return mpmath.exp(mpmath.mpf(exponent.numerator) / exponent.denominator)


@dataclass(frozen=True)
class ExactTrees:
    """All trees of a class with their labellings. ``scores`` is (L, n+1, n+1); without labels L = 1.
    ``scale``: scores are divided by it."""

    scores: Floats
    projective: bool
    single_root: bool
    temperature: float = 1.0

    @cached_property
    def trees(self) -> list[tuple[tuple[int, ...], tuple[int, ...], Fraction]]:
        """(heads, label codes, score) of every labelled tree that is not forbidden."""
        labels, side, _ = self.scores.shape
        found = []
        for heads in all_trees(side - 1, projective=self.projective, single_root=self.single_root).tolist():
            for codes in product(range(labels), repeat=side - 1):
                values = [self.scores[code, heads[m], m] for m, code in enumerate(codes, start=1)]
                if min(values) > -np.inf:
                    total = sum((Fraction(float(value)) for value in values), Fraction())
                    found.append((tuple(heads), (0, *codes), total / Fraction(self.temperature)))
        return found

    @cached_property
    def best(self) -> Fraction:
        return max(score for _, _, score in self.trees)

    @cached_property
    def probabilities(self) -> list[Any]:
        weights = [_exp(score - self.best) for _, _, score in self.trees]
        total = reduce(lambda a, b: a + b, weights)
        return [weight / total for weight in weights]

    @cached_property
    def log_partition(self) -> float:
        total = reduce(lambda a, b: a + b, (_exp(score - self.best) for _, _, score in self.trees))
        return float(self.best + Fraction(float(mpmath.log(total))))

    @cached_property
    def marginals(self) -> Floats:
        """Shape (L, n+1, n+1)."""
        sums = np.zeros(self.scores.shape, object)
        for (heads, codes, _), probability in zip(self.trees, self.probabilities, strict=True):
            for m in range(1, len(heads)):
                sums[codes[m], heads[m], m] += probability
        return sums.astype(np.float64)

    @cached_property
    def log_probabilities(self) -> list[float]:
        """log p of every tree of ``trees``."""
        first = self.probabilities[self.most_probable]
        start = self.trees[self.most_probable][2]
        return [float(score - start + Fraction(float(mpmath.log(first)))) for _, _, score in self.trees]

    @cached_property
    def most_probable(self) -> int:
        return max(range(len(self.trees)), key=lambda i: self.trees[i][2])

    @property
    def entropy(self) -> float:
        pairs = zip(self.probabilities, self.log_probabilities, strict=True)
        return float(sum(-p * q for p, q in pairs if p > 0))

    def kl(self, other: ExactTrees) -> float:
        known = {tree[:2]: log_q for tree, log_q in zip(other.trees, other.log_probabilities, strict=True)}
        total = mpmath.mpf(0)
        for (heads, codes, _), p, log_p in zip(
            self.trees, self.probabilities, self.log_probabilities, strict=True
        ):
            if (heads, codes) not in known:
                return float("inf")
            total += p * (mpmath.mpf(log_p) - mpmath.mpf(known[heads, codes]))
        return float(total)
