"""Samples without replacement, exactly, from any class of trees and under any constraints.

The trees not drawn yet are kept as a partition into spaces, each "the first words have these heads, the next word has none
of those". A draw picks a space in proportion to its sum of weights, and a tree from it; the space then falls apart into
the tree and at most n smaller spaces, whose sums come from one batch call. So each draw is from p(tree) restricted to the
trees not drawn yet, and no sum is ever found by subtraction. O(n) log partitions a draw, whatever the probabilities are
(drawing again until a new tree comes would never end where one tree has nearly all the probability).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arcwise.errors import InputError
from arcwise.inference.arc_matrices import ArcMatrices, Floats, require_trees
from arcwise.inference.kernels import NATIVE
from arcwise.inference.sentence_scores import SentenceScores
from arcwise.inference.tree_class import TreeClass
from arcwise.trees import Tree

_CHUNK = 64
"""So many spaces are summed in one call: bounds the memory of long sentences."""

Choice = tuple[int, ...]
"""What a word can have: (head,) or (label code, head)."""


@dataclass(frozen=True)
class Space:
    """The trees in which words 1..len(fixed) have the fixed choices, and the word after them none of the excluded."""

    fixed: tuple[Choice, ...]
    excluded: tuple[Choice, ...]

    def restricted(self, scores: Floats) -> Floats:
        """The scores with -inf for everything outside the space."""
        restricted = scores.copy()
        for m, choice in enumerate(self.fixed, start=1):
            kept = scores[(*choice, m)]
            restricted[..., m] = -np.inf
            restricted[(*choice, m)] = kept
        for choice in self.excluded:
            restricted[(*choice, len(self.fixed) + 1)] = -np.inf
        return restricted

    def without(self, choices: list[Choice]) -> list[Space]:
        """The space less one of its trees, as disjoint spaces."""
        start = len(self.fixed)
        spaces = [Space(self.fixed, (*self.excluded, choices[start]))]
        spaces += [Space(tuple(choices[:m]), (choices[m],)) for m in range(start + 1, len(choices))]
        return spaces


def sample_without_replacement(
    sentence: SentenceScores, tree_class: TreeClass, count: int, rng: np.random.Generator
) -> list[Tree]:
    """``count`` different trees, in the order in which they were drawn."""
    spaces = [Space((), ())]
    log_sums = _log_sums(sentence, tree_class, spaces)
    require_trees(log_sums, np.array([len(sentence)], np.int32))
    drawn: list[Tree] = []
    while len(drawn) < count:
        if not log_sums.size or log_sums.max() == -np.inf:
            raise InputError(f"count: found {count}, but there are only {len(drawn)} trees")
        weights = np.exp(log_sums - log_sums.max())
        chosen = int(rng.choice(len(spaces), p=weights / weights.sum()))
        tree = _draw(sentence, tree_class, spaces[chosen], rng)
        drawn.append(tree)
        smaller = spaces.pop(chosen).without(_choices(sentence, tree))
        spaces += smaller
        log_sums = np.append(np.delete(log_sums, chosen), _log_sums(sentence, tree_class, smaller))
        possible = log_sums > -np.inf
        spaces = [space for space, keep in zip(spaces, possible, strict=True) if keep]
        log_sums = log_sums[possible]
    return drawn


def _log_sums(sentence: SentenceScores, tree_class: TreeClass, spaces: list[Space]) -> Floats:
    sums: list[Floats] = []
    for start in range(0, len(spaces), _CHUNK):
        parts = [_in_space(sentence, space).summed for space in spaces[start : start + _CHUNK]]
        batch = ArcMatrices.of_checked(parts, [sentence.spans] * len(parts))
        sums.append(NATIVE.log_partition(batch, tree_class, 1))
    return np.concatenate(sums)


def _draw(sentence: SentenceScores, tree_class: TreeClass, space: Space, rng: np.random.Generator) -> Tree:
    part = _in_space(sentence, space)
    batch = ArcMatrices.of_checked([part.summed], [sentence.spans])
    seed = int(rng.integers(2**63))
    return part.drawn_trees(NATIVE.sample(batch, tree_class, 1, seed, 0, 1)[0], rng)[0]


def _in_space(sentence: SentenceScores, space: Space) -> SentenceScores:
    return SentenceScores(space.restricted(sentence.scores), sentence.labels, sentence.spans)


def _choices(sentence: SentenceScores, tree: Tree) -> list[Choice]:
    heads = tree.heads[1:].tolist()
    if sentence.labels is None or tree.labels is None:
        return [(head,) for head in heads]
    return [(sentence.labels.index(label), head) for label, head in zip(tree.labels[1:], heads, strict=True)]
