"""Expected gain: how much of a sentence an answer to "which head has this word?" is expected to settle.

The gain of word m is Σ I(head of m; head of m') over all words m' of the sentence, m itself among them (I of a variable with itself is its
entropy): what the answer takes away, on average over the answers, from the entropies of all heads. It is exact:

    I(H_m; H_m') = H(H_m') - Σ_h P(H_m = h) H(H_m' | H_m = h)

where each answer h is a constraint, and the marginals under all of them are one native call. Answers below a probability are skipped, as if
they told nothing; ``Gains.error`` bounds what that can change.
"""

from __future__ import annotations

from collections.abc import Iterable
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


@dataclass(frozen=True)
class Gains:
    """Of the words of a sentence, in nats."""

    values: Floats
    """Shape (n,): the gain of each word; 0 where it was not asked for."""
    error: float
    """No gain is further from the exact one than this."""


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
    answers: list[tuple[int, int]] = []
    for m in asked:
        if entropies[m - 1] < SETTLED:
            error = max(error, n * float(entropies[m - 1]))  # I(H_m; ·) <= H(H_m)
            continue
        kept = np.flatnonzero(marginals[:, m] >= max(least, POSSIBLE))
        answers += [(int(h), m) for h in kept]
        error = max(error, (1.0 - float(marginals[kept, m].sum())) * highest)
    for h, m, left in _entropies_under(answers, weights, trees):
        values[m - 1] += float(marginals[h, m]) * (total - left)
    return Gains(np.maximum(values, 0.0), error)


def _entropies_under(
    answers: list[tuple[int, int]], weights: Floats, trees: TreeClass
) -> Iterable[tuple[int, int, float]]:
    """For each answer h → m: the sum of the entropies of all heads under it."""
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
        left: npt.NDArray[np.float64] = head_entropies(flat.reshape(cube.shape)).sum(axis=-1)
        yield from ((h, m, float(value)) for (h, m), value in zip(some, left, strict=True))
