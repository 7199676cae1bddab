"""Exact sampling without replacement, for any class of trees and any constraints.

The trees not drawn yet are partitioned into spaces of the form "the first words have these heads, and the
next word has none of those" (after Lawler 1972). A draw picks a space in proportion to its total weight and
samples a tree from it; the space then splits into the tree and at most n smaller spaces, whose weights come
from one batch call. So each draw follows p(tree) restricted to the trees not drawn yet, and no weight is
computed by subtraction. Cost: O(n) log partitions per draw. Rejection sampling would never finish where one
tree has nearly all the probability."""

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
"""Spaces summed in one call: bounds the memory for long sentences."""

Attachment = tuple[int, ...]
"""The attachment of a word: (head,) or (label code, head)."""


@dataclass(frozen=True)
class Space:
    """The trees in which the first words have the fixed attachments, and the next word no excluded one."""

    fixed: tuple[Attachment, ...]
    excluded: tuple[Attachment, ...]

    def restricted(self, scores: Floats) -> Floats:
        """Return the scores with -inf for everything outside the space."""
        # A copy per space: the scores are shared by all spaces and by the caller.
        restricted = scores.copy()
        for m, attachment in enumerate(self.fixed, start=1):
            kept = scores[(*attachment, m)]
            restricted[..., m] = -np.inf
            restricted[(*attachment, m)] = kept
        for attachment in self.excluded:
            restricted[(*attachment, len(self.fixed) + 1)] = -np.inf
        return restricted

    def without(self, attachments: list[Attachment]) -> list[Space]:
        """Return the space without one of its trees, as disjoint spaces."""
        start = len(self.fixed)
        spaces = [Space(self.fixed, (*self.excluded, attachments[start]))]
        spaces += [
            Space(tuple(attachments[:m]), (attachments[m],)) for m in range(start + 1, len(attachments))
        ]
        return spaces


def sample_without_replacement(
    sentence: SentenceScores, tree_class: TreeClass, count: int, rng: np.random.Generator
) -> list[Tree]:
    """Draw ``count`` different trees, in the order of the draws."""
    spaces = [Space((), ())]
    log_sums = _log_sums(sentence, tree_class, spaces)
    require_trees(log_sums, np.array([len(sentence)], np.int32))
    drawn: list[Tree] = []
    while len(drawn) < count:
        if not log_sums.size or log_sums.max() == -np.inf:
            raise InputError(f"count: found {count}, but there are only {len(drawn)} trees")
        # Relative to the largest, so that weights neither overflow nor all underflow.
        weights = np.exp(log_sums - log_sums.max())
        chosen = int(rng.choice(len(spaces), p=weights / weights.sum()))
        tree = _draw(sentence, tree_class, spaces[chosen], rng)
        drawn.append(tree)
        smaller = spaces.pop(chosen).without(_attachments(sentence, tree))
        spaces += smaller
        log_sums = np.append(np.delete(log_sums, chosen), _log_sums(sentence, tree_class, smaller))
        # Spaces without a tree are dropped at once, or the list would grow by n with every draw.
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


def _attachments(sentence: SentenceScores, tree: Tree) -> list[Attachment]:
    heads = tree.heads[1:].tolist()
    if sentence.labels is None or tree.labels is None:
        return [(head,) for head in heads]
    return [(sentence.labels.index(label), head) for label, head in zip(tree.labels[1:], heads, strict=True)]
