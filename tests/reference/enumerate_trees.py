"""Every tree of a class, one by one: the slow and obvious twin of everything in ``arcwise.inference``.

Nothing here comes from the package. Usable up to about n = 6.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise, product

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Heads = npt.NDArray[np.int32]

TREE_CLASSES = [(projective, single) for projective in (True, False) for single in (True, False)]
"""The four classes, as (projective, single_root)."""


@cache
def all_trees(n: int, *, projective: bool, single_root: bool) -> Heads:
    """Shape (T, n+1): the heads of every tree over n words of the class, ``heads[0] = -1``."""
    found = [
        (-1, *heads)
        for heads in product(range(n + 1), repeat=n)
        if _reaches_root(heads)
        and (not single_root or heads.count(0) == 1)
        and (not projective or _is_projective(heads))
    ]
    trees = np.array(found, dtype=np.int32)
    trees.setflags(write=False)
    return trees


def _ancestors(heads: tuple[int, ...], word: int) -> set[int]:
    """The word itself and all above it, as far as a cycle allows."""
    above: set[int] = set()
    while word not in above:
        above.add(word)
        if word == 0:
            break
        word = heads[word - 1]
    return above


def _reaches_root(heads: tuple[int, ...]) -> bool:
    return all(0 in _ancestors(heads, m) for m in range(1, len(heads) + 1))


def _is_projective(heads: tuple[int, ...]) -> bool:
    """Every word between a head and its modifier descends from the head."""
    return all(
        h in _ancestors(heads, between)
        for m, h in enumerate(heads, start=1)
        for between in range(min(h, m) + 1, max(h, m))
    )


def is_subtree(heads: Heads, first: int, last: int) -> bool:
    """Whether words first..last are one word and all its descendants."""
    span = range(first, last + 1)
    entering = [m for m in span if heads[m] not in span]
    leaving = [m for m in range(1, len(heads)) if m not in span and heads[m] in span]
    return len(entering) == 1 and not leaving


@dataclass(frozen=True)
class Enumeration:
    """All trees of a class that ``allowed`` lets through and whose score is not -inf, with their scores.

    ``scores`` is (n+1, n+1). For labelled scores pass the maximum or the log-sum over labels.
    """

    scores: Floats
    projective: bool
    single_root: bool
    allowed: Callable[[Heads], bool] | None = None

    @cached_property
    def _kept(self) -> tuple[Heads, Floats]:
        n = len(self.scores) - 1
        trees = all_trees(n, projective=self.projective, single_root=self.single_root)
        words = np.arange(1, n + 1)
        values = self.scores[trees[:, 1:], words].sum(axis=1)
        keep = values > -np.inf
        if self.allowed is not None:
            keep &= np.array([self.allowed(tree) for tree in trees])
        order = np.argsort(-values[keep], kind="stable")
        return trees[keep][order], values[keep][order]

    @property
    def trees(self) -> Heads:
        """Shape (T, n+1), best first."""
        return self._kept[0]

    @property
    def values(self) -> Floats:
        """Shape (T,): the score of each tree, best first."""
        return self._kept[1]

    @property
    def log_partition(self) -> float:
        if not len(self.values):
            return -np.inf
        top = self.values[0]
        return float(top + np.log(np.exp(self.values - top).sum()))

    @property
    def probabilities(self) -> Floats:
        """Shape (T,): of each tree, best first."""
        return np.exp(self.values - self.log_partition)

    @property
    def marginals(self) -> Floats:
        """Shape (n+1, n+1): the probability of each arc [head, modifier]."""
        total = np.zeros_like(self.scores)
        for tree, probability in zip(self.trees, self.probabilities, strict=True):
            total[tree[1:], np.arange(1, len(tree))] += probability
        return total

    @property
    def entropy(self) -> float:
        return float(self.log_partition - self.probabilities @ self.values)


def random_scores(rng: np.random.Generator, n: int, *, spread: float = 1.0, holes: float = 0.0) -> Floats:
    """Gaussian scores of standard deviation ``spread``, with a share ``holes`` of arcs forbidden (-inf)."""
    scores = rng.normal(scale=spread, size=(n + 1, n + 1))
    scores[rng.random((n + 1, n + 1)) < holes] = -np.inf
    return scores


def tree_count(n: int, *, projective: bool, single_root: bool) -> int:
    """The number of trees over n words, by its formula."""
    from math import comb

    if projective:
        return comb(3 * n - 2, n - 1) // n if single_root else comb(3 * n, n) // (2 * n + 1)
    return int(n ** (n - 1)) if single_root else int((n + 1) ** (n - 1))


def is_sorted_downwards(values: Floats) -> bool:
    return all(left >= right for left, right in pairwise(values))
