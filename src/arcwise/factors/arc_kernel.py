"""``ArcKernel``: trees whose automata have one state, by the arc-factored kernels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arcwise.errors import NoTreeError
from arcwise.factors.head_automaton import HeadAutomaton
from arcwise.inference import Constraints, TreeDistribution
from arcwise.inference.arc_matrices import Floats, Heads
from arcwise.trees import Tree

Codes = npt.NDArray[np.int32]


@dataclass(frozen=True)
class ArcKernel:
    """The operations of ``native.HeadFactors`` for an automaton with one state and no siblings.

    Its transitions add a number to every arc with a label, and its ends the same number to every tree.
    """

    automaton: HeadAutomaton

    def log_partition(self, scores: Floats, single_root: bool, spans: Codes) -> float:
        """Return log Z."""
        return self._value(self._trees(scores, single_root, spans), scores.shape[-1] - 1)

    def marginals(self, scores: Floats, single_root: bool, spans: Codes) -> tuple[Floats, Floats, float]:
        """Return the probabilities of labelled arcs, the expected counts of the automaton's parts, log Z."""
        trees = self._trees(scores, single_root, spans)
        words = scores.shape[-1] - 1
        value = self._value(trees, words)
        if value == -np.inf:
            return np.zeros_like(scores), np.zeros(0), value
        arcs = trees.marginals[None] if len(scores) == 1 else trees.label_marginals
        return arcs, np.array([*arcs.sum(axis=(1, 2)), 2 * words, 1]), value

    def k_best(self, scores: Floats, single_root: bool, spans: Codes, k: int) -> tuple[Heads, Codes, Floats]:
        """Return heads, label codes and scores of the k best labelled trees."""
        trees = self._trees(scores, single_root, spans)
        words = scores.shape[-1] - 1
        best_trees: list[Tree] = []
        if self._value(trees, words) > -np.inf:
            several = trees.k_best if len(scores) == 1 else trees.k_best_labelled
            best_trees = [trees.best()] if k == 1 else several(k)
        values = np.array([trees.score(tree) for tree in best_trees])
        return *_arrays(best_trees, words), values + self._constant(words)

    def sample(
        self, scores: Floats, single_root: bool, spans: Codes, count: int, seed: int
    ) -> tuple[Heads, Codes, float]:
        """Draw trees; returns their heads and label codes, and log Z."""
        trees = self._trees(scores, single_root, spans)
        words = scores.shape[-1] - 1
        value = self._value(trees, words)
        drawn = trees.sample(count, seed=seed) if value > -np.inf else []
        return *_arrays(drawn, words), value

    def _trees(self, scores: Floats, single_root: bool, spans: Codes) -> TreeDistribution:
        ends = spans.tolist()
        weights = self.automaton.weights[0]
        moved = scores + weights[:, None, None] if weights.any() else scores
        # The label of code l is called l.
        return TreeDistribution(
            moved[0] if len(moved) == 1 else moved,
            projective=True,
            single_root=single_root,
            labels=None if len(moved) == 1 else [*map(str, range(len(moved)))],
            constraints=Constraints(subtrees=[*zip(ends[::2], ends[1::2], strict=True)]) if ends else None,
        )

    def _value(self, trees: TreeDistribution, words: int) -> float:
        """log Z, or -inf without a tree."""
        try:
            return trees.log_partition + self._constant(words)
        except NoTreeError:
            return -np.inf

    def _constant(self, words: int) -> float:
        """The weight of the ends of all sides; the root has one."""
        return float((2 * words + 1) * self.automaton.final_weights[0])


def _arrays(trees: list[Tree], words: int) -> tuple[Heads, Codes]:
    heads = np.array([tree.heads for tree in trees], np.int32).reshape(len(trees), words + 1)
    codes = np.zeros_like(heads)
    for row, tree in zip(codes, trees, strict=True):
        if tree.labels is not None:
            row[1:] = [*map(int, tree.labels[1:])]
    return heads, codes
