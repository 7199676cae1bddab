"""What an answer to "which head has this word?" is expected to settle in its sentence, and to repair.

**Gain** of word m: Σ I(head of m; head of m') over all words m' of the sentence, m itself among them (I of a variable with itself is its
entropy): what the answer takes away, on average over the answers, from the entropies of all heads, in nats:

    I(H_m; H_m') = H(H_m') - Σ_h P(H_m = h) H(H_m' | H_m = h)

**Repairs** of word m: how many of the proposed heads become right, those of other words among them, if its head is another one than the
one proposed. Under the answer h the proposed head of m' is right with P(H_m' = proposed | h), and the best one with max P(H_m' | h).

Both are exact: each answer is a constraint, and the marginals under all of them are one native call. Answers below a probability are
skipped, as if they told nothing; ``Gains.error`` bounds what that can change.
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
"""Answers below this probability are skipped unless told otherwise."""
POSSIBLE = 1e-12
"""What is less probable may be so by rounding alone."""
SETTLED = 1e-6
"""A head of less entropy tells nothing."""
AT_A_TIME = 4_000_000
"""So many numbers of conditioned marginals are held at a time."""

Arc = tuple[int, int]


@dataclass(frozen=True)
class Gains:
    """Of the words of a sentence, in nats."""

    values: Floats
    """Shape (n,): the gain of each word; 0 where it was not asked for."""
    error: float
    """No gain is further from the exact one than this."""


@dataclass(frozen=True)
class Repairs:
    """Of the words of a sentence."""

    doubt: Floats
    """Shape (n,): the probability that the head is another one than the one proposed (of the answers that were not skipped)."""
    expected: Floats
    """Shape (n,): how many errors looking at the word is expected to repair, itself among them."""

    @property
    def each(self) -> Floats:
        """Shape (n,): how many errors the answer is expected to repair, if it is another one than the one proposed."""
        return np.divide(self.expected, self.doubt, out=np.zeros_like(self.doubt), where=self.doubt > 0)


def head_entropies(marginals: Floats) -> Floats:
    """Shape (…, n): the entropy of each word's head, of marginals (…, n+1, n+1).

    >>> head_entropies(np.array([[0, 0.5, 1.0], [0, 0, 0], [0, 0.5, 0]])).round(3).tolist()
    [0.693, 0.0]
    """
    shares = marginals[..., 1:]
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
    """The gain of each of the ``words`` (1..n; None: all) of a sentence.

    ``weights``: logarithms of the weights of arcs, (n+1, n+1), -inf forbids; ``marginals``: their probabilities. O(a n³) for a answers.
    """
    n = len(weights) - 1
    asked = list(range(1, n + 1)) if words is None else list(words)
    entropies = head_entropies(marginals)
    total = float(entropies.sum())
    values, error = np.zeros(n), 0.0
    highest = float(np.maximum(entropies, np.log(max(n, 1)) - entropies).sum())
    answers: list[Arc] = []
    for m in asked:
        if entropies[m - 1] < SETTLED:
            error = max(error, n * float(entropies[m - 1]))  # I(H_m; ·) <= H(H_m)
            continue
        kept = np.flatnonzero(marginals[:, m] >= max(least, POSSIBLE))
        answers += [(int(h), m) for h in kept]
        error = max(error, (1.0 - float(marginals[kept, m].sum())) * highest)
    for some, under in _marginals_under(answers, weights, trees):
        left = head_entropies(under).sum(axis=-1)
        for (h, m), value in zip(some, left.tolist(), strict=True):
            values[m - 1] += float(marginals[h, m]) * (total - value)
    return Gains(np.maximum(values, 0.0), error)


def expected_repairs(
    weights: Floats, marginals: Floats, heads: Sequence[int], trees: TreeClass, *, least: float = LEAST
) -> Repairs:
    """What looking at each word of a sentence is expected to repair, if its tree is ``heads`` (n of them) and another head of a word brings
    the most probable heads of the others with it."""
    n = len(weights) - 1
    doubt, expected = np.zeros(n), np.zeros(n)
    proposed = np.asarray(heads)
    answers = [
        (int(h), m)
        for m in range(1, n + 1)
        for h in np.flatnonzero(marginals[:, m] >= max(least, POSSIBLE))
        if h != proposed[m - 1]
    ]
    for some, under in _marginals_under(answers, weights, trees):
        shares = under[:, :, 1:]
        repaired = (shares.max(axis=1) - shares[:, proposed, np.arange(n)]).sum(axis=-1)
        for (h, m), value in zip(some, repaired.tolist(), strict=True):
            doubt[m - 1] += float(marginals[h, m])
            expected[m - 1] += float(marginals[h, m]) * value
    return Repairs(doubt, expected)


def _marginals_under(
    answers: list[Arc], weights: Floats, trees: TreeClass
) -> Iterator[tuple[list[Arc], npt.NDArray[np.float64]]]:
    """Answers h → m, as many as fit at a time, and the probabilities of all arcs under each, shape (…, n+1, n+1)."""
    n = len(weights) - 1
    at_a_time = max(AT_A_TIME // weights.size, 1)
    for start in range(0, len(answers), at_a_time):
        some = answers[start : start + at_a_time]
        cube = np.repeat(weights[None], len(some), axis=0)
        for place, (h, m) in enumerate(some):
            own = cube[place, h, m]
            cube[place, :, m] = -np.inf
            cube[place, h, m] = own
        batch = ArcMatrices.of_flat(cube.reshape(-1), np.full(len(some), n, np.int32))
        flat, _ = NATIVE.marginals(batch, trees, 1)
        yield some, flat.reshape(cube.shape)
