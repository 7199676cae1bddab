"""Expected information gain and expected repairs from knowing the head of a word.

**Gain** of word m: Σ I(head of m; head of m') over all words m' of the sentence, including m itself (whose
mutual information with itself is its entropy): the expected reduction of the entropies of all heads, in nats:

    I(H_m; H_m') = H(H_m') - Σ_h P(H_m = h) H(H_m' | H_m = h)

**Repairs** of word m: how many suggested heads, including those of other words, become correct if the head of
m is not the suggested one. Given the answer h, the suggested head of m' is correct with P(H_m' = suggested |
h), the best one with max P(H_m' | h).

Both are exact: each answer is a constraint, and the marginals under all of them are one native call. Answers
below a probability are skipped as if they gave no information; ``Gains.error`` bounds the effect.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arcwise.inference import TreeClass
from arcwise.inference.arc_matrices import ArcMatrices, Floats
from arcwise.inference.kernels import NATIVE

LEAST = 1e-4
"""Default probability below which answers are skipped."""
POSSIBLE = 1e-12
"""Smaller probabilities may be rounding errors of impossible arcs."""
SETTLED = 1e-6
"""Heads of lower entropy are treated as known."""
AT_A_TIME = 4_000_000
"""Number of float64 values of conditional marginals held in memory at a time."""

Arc = tuple[int, int]


@dataclass(frozen=True)
class Gains:
    """The expected information gains of the words of a sentence, in nats."""

    values: Floats
    """Shape (n,): the gain of each word; 0 for words not requested."""
    error: float
    """Upper bound on the error of each gain."""


@dataclass(frozen=True)
class Repairs:
    """The expected repairs of the words of a sentence."""

    doubt: Floats
    """Shape (n,): the probability that the suggested head is wrong (over answers that were not skipped)."""
    expected: Floats
    """Shape (n,): the expected number of errors repaired by reviewing the word, including its own."""

    @property
    def each(self) -> Floats:
        """Shape (n,): the expected number of errors repaired if the suggested head is wrong."""
        return np.divide(self.expected, self.doubt, out=np.zeros_like(self.doubt), where=self.doubt > 0)


def head_entropies(marginals: Floats) -> Floats:
    """The entropy of each word's head, shape (…, n), from marginals of shape (…, n+1, n+1).

    >>> head_entropies(np.array([[0, 0.5, 1.0], [0, 0, 0], [0, 0.5, 0]])).round(3).tolist()
    [0.693, 0.0]
    """
    shares = marginals[..., 1:]
    # `where`: 0 log 0 is 0, which log alone would turn into NaN.
    logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
    return np.asarray(np.maximum(-(shares * logs).sum(axis=-2), 0.0))


def expected_gains(
    weights: Floats,
    marginals: Floats,
    trees: TreeClass,
    *,
    words: Iterable[int] | None = None,
    least: float = LEAST,
) -> Gains:
    """The expected information gain of each of the ``words`` (1..n; None: all). O(a n³) for a answers.

    weights: log weights of arcs, shape (n+1, n+1); -inf forbids an arc.
    marginals: the probabilities of the arcs.
    """
    n = len(weights) - 1
    requested = list(range(1, n + 1)) if words is None else list(words)
    entropies = head_entropies(marginals)
    total = float(entropies.sum())
    values, error = np.zeros(n), 0.0
    # The most that a skipped answer can change: each entropy falls to 0 or rises to log n.
    highest = float(np.maximum(entropies, np.log(max(n, 1)) - entropies).sum())
    answers: list[Arc] = []
    for m in requested:
        if entropies[m - 1] < SETTLED:
            error = max(error, n * float(entropies[m - 1]))  # I(H_m; ·) <= H(H_m)
            continue
        kept = np.flatnonzero(marginals[:, m] >= max(least, POSSIBLE))
        answers += [(int(h), m) for h in kept]
        error = max(error, (1.0 - float(marginals[kept, m].sum())) * highest)
    for batch, conditional in _marginals_under(answers, weights, trees):
        left = head_entropies(conditional).sum(axis=-1)
        for (h, m), value in zip(batch, left.tolist(), strict=True):
            values[m - 1] += float(marginals[h, m]) * (total - value)
    return Gains(np.maximum(values, 0.0), error)  # negative by rounding only


def expected_repairs(
    weights: Floats, marginals: Floats, heads: Sequence[int], trees: TreeClass, *, least: float = LEAST
) -> Repairs:
    """The expected repairs from reviewing each word, for a suggested tree ``heads`` of n words.

    Assumes that correcting a head switches the other words to their most probable heads given that
    correction.
    """
    n = len(weights) - 1
    doubt, expected = np.zeros(n), np.zeros(n)
    suggested = np.asarray(heads)
    answers = [
        (int(h), m)
        for m in range(1, n + 1)
        for h in np.flatnonzero(marginals[:, m] >= max(least, POSSIBLE))
        if h != suggested[m - 1]
    ]
    for batch, conditional in _marginals_under(answers, weights, trees):
        shares = conditional[:, :, 1:]
        repaired = (shares.max(axis=1) - shares[:, suggested, np.arange(n)]).sum(axis=-1)
        for (h, m), value in zip(batch, repaired.tolist(), strict=True):
            doubt[m - 1] += float(marginals[h, m])
            expected[m - 1] += float(marginals[h, m]) * value
    return Repairs(doubt, expected)


def _marginals_under(
    answers: list[Arc], weights: Floats, trees: TreeClass
) -> Iterator[tuple[list[Arc], npt.NDArray[np.float64]]]:
    """Batches of answers h → m, each with the marginals given every answer, shape (…, n+1, n+1)."""
    n = len(weights) - 1
    at_a_time = max(AT_A_TIME // weights.size, 1)
    for start in range(0, len(answers), at_a_time):
        some = answers[start : start + at_a_time]
        # A copy of the weights per answer, so that one native call computes them all.
        cube = np.repeat(weights[None], len(some), axis=0)
        for place, (h, m) in enumerate(some):
            weight = cube[place, h, m]
            cube[place, :, m] = -np.inf  # the answer as a constraint: every other head is forbidden
            cube[place, h, m] = weight
        batch = ArcMatrices.of_flat(cube.reshape(-1), np.full(len(some), n, np.int32))
        flat, _ = NATIVE.marginals(batch, trees, 1)
        yield some, flat.reshape(cube.shape)
