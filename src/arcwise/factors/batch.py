"""``FactoredTreeDistributionBatch``: factored distributions of many sentences, computed in threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np

from arcwise.factors.distribution import FactoredTreeDistribution
from arcwise.inference.arc_matrices import Floats
from arcwise.inference.arguments import seed_number, thread_count
from arcwise.trees import Tree

T = TypeVar("T")


class FactoredTreeDistributionBatch(Sequence[FactoredTreeDistribution]):
    """The distributions of several sentences, each with its own factors.

    distributions: one per sentence; their labels, factors and constraints may differ.
    threads: sentences computed at the same time. Results do not depend on it.

    >>> one = FactoredTreeDistribution(np.zeros((3, 3)), factors=[], projective=True, single_root=True)
    >>> batch = FactoredTreeDistributionBatch([one, one], threads=2)
    >>> batch.log_partition.round(3).tolist()
    [0.693, 0.693]
    """

    def __init__(self, distributions: Sequence[FactoredTreeDistribution], *, threads: int = 1) -> None:
        self._distributions, self.threads = tuple(distributions), thread_count(threads)

    def __len__(self) -> int:
        return len(self._distributions)

    def __getitem__(self, place):  # type: ignore[no-untyped-def]  # the overloads of Sequence say no more
        return self._distributions[place]

    def __repr__(self) -> str:
        return f"<FactoredTreeDistributionBatch of {len(self)} sentences>"

    def best(self) -> list[Tree]:
        """Return the highest-scoring (labelled) tree of each sentence."""
        return self._each(lambda trees, _: trees.best())

    def k_best_labelled(self, k: int) -> list[list[Tree]]:
        """Return the k best labelled trees of each sentence, best first."""
        return self._each(lambda trees, _: trees.k_best_labelled(k))

    def minimum_risk(self) -> list[Tree]:
        """Return the minimum-risk tree of each sentence, which a factor may forbid."""
        return self._each(lambda trees, _: trees.minimum_risk())

    def entropy(self) -> Floats:
        """Return the entropy of labelled trees in nats, shape (B,)."""
        return np.array(self._each(lambda trees, _: trees.entropy()), np.float64)

    def sample(self, count: int, *, seed: int) -> list[list[Tree]]:
        """Draw ``count`` trees of each sentence; draws depend only on the seed and its position."""
        seed = seed_number(seed)
        return self._each(lambda trees, s: trees.sample(count, seed=np.random.default_rng([seed, s])))

    @property
    def log_partition(self) -> Floats:
        """log Z of each sentence, shape (B,)."""
        return np.array(self._each(lambda trees, _: trees.log_partition), np.float64)

    @property
    def marginals(self) -> list[Floats]:
        """The probability of each arc, (n+1, n+1) per sentence."""
        return self._each(lambda trees, _: trees.marginals)

    @property
    def label_marginals(self) -> list[Floats]:
        """The probability of each arc with each label, (L, n+1, n+1) per sentence."""
        return self._each(lambda trees, _: trees.label_marginals)

    @property
    def factor_marginals(self) -> list[tuple[Floats, ...]]:
        """The gradient of log Z with respect to the scores of each factor."""
        return self._each(lambda trees, _: trees.factor_marginals)

    def _each(self, compute: Callable[[FactoredTreeDistribution, int], T]) -> list[T]:
        """Compute something for every sentence; the kernels release the interpreter lock."""
        places = range(len(self))
        if self.threads == 1 or len(self) < 2:
            return [compute(trees, s) for s, trees in enumerate(self._distributions)]
        with ThreadPoolExecutor(self.threads) as pool:
            return list(pool.map(compute, self._distributions, places))
