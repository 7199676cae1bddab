"""``SentenceScores``: the log weights of one sentence, which connect arc arrays (for kernels) and trees (for
users)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.errors import InputError
from arcwise.inference import labels as labelling
from arcwise.inference.arc_matrices import Floats, Heads, Span, check_scores
from arcwise.inference.arguments import LARGEST_SCORE, a_tree, floats
from arcwise.inference.tree_class import TreeClass
from arcwise.trees import Tree


@dataclass(frozen=True)
class SentenceScores:
    """Log weights (n+1, n+1) or, with L ``labels``, (L, n+1, n+1), temperatures applied.

    ``spans`` must be subtrees.
    """

    scores: Floats
    labels: tuple[str, ...] | None = None
    spans: Sequence[Span] = ()

    @cached_property
    def summed(self) -> Floats:
        """Log weights of arcs, labels summed out, shape (n+1, n+1)."""
        return self.scores if self.labels is None else labelling.log_sum_scores(self.scores)

    def __len__(self) -> int:
        """The number of words."""
        return int(self.scores.shape[-1]) - 1

    def drawn_trees(self, draws: Iterable[Heads], rng: np.random.Generator) -> list[Tree]:
        """Return trees for sampled heads, with labels sampled for them."""
        if self.labels is None:
            return [Tree(heads) for heads in draws]
        return [Tree(heads, self._names(labelling.sample_labels(self.scores, heads, rng))) for heads in draws]

    def _names(self, codes: labelling.LabelCodes) -> tuple[str, ...]:
        assert self.labels is not None
        return labelling.label_names(codes, self.labels)

    def score(self, tree: Tree, tree_class: TreeClass) -> float:
        """Return the sum over the arcs of a tree.

        -inf for a tree outside the class or that violates a span.
        """
        tree = a_tree(tree, len(self))
        if not tree.is_complete:
            raise InputError(
                "tree: some heads are unknown; for a partial tree use "
                "given(Constraints.from_tree(tree)).log_partition"
            )
        if not tree_class.holds(tree) or not all(_is_subtree(tree, span) for span in self.spans):
            return -np.inf
        return float(self.of_arcs(self.summed, self.scores, tree).sum())

    def of_arcs(self, of_arcs: Floats, of_labelled_arcs: Floats, tree: Tree) -> Floats:
        """Return the entries of the tree's known arcs, labelled if both the scores and the tree are."""
        tree = a_tree(tree, len(self))
        words = np.flatnonzero(tree.heads >= 0)
        heads = tree.heads[words]
        if self.labels is None or tree.labels is None:
            return of_arcs[heads, words]
        codes = np.array([self._code(tree.labels[m]) for m in words], np.int64)
        return of_labelled_arcs[codes, heads, words]

    def _code(self, label: str) -> int:
        assert self.labels is not None
        if label not in self.labels:
            raise InputError(f"tree: found the label {label!r}, expected one of {', '.join(self.labels)}")
        return self.labels.index(label)

    def expected(self, values: Floats, marginals: Floats) -> float:
        """Return Σ probability · value over all arcs.

        An arc of probability 0 adds 0, even if its value is inf.
        """
        if values.ndim == 2 and marginals.ndim == 3:
            marginals = marginals.sum(axis=0)
        if values.shape != marginals.shape:
            raise InputError(f"values: found shape {values.shape}, expected {marginals.shape}")
        # 0 · inf would be NaN; an arc that never occurs contributes nothing.
        possible = marginals > 0
        return float((marginals[possible] * values[possible]).sum())


def check_arc_scores(scores: npt.ArrayLike, labels: Sequence[str] | None, name: str) -> Floats:
    """Copy ``scores`` to a float64 array of the right shape; raise for NaN, +inf or a wrong shape.

    Column 0 and the diagonal become -inf, and finite scores below -``LARGEST_SCORE`` become that.
    """
    # A copy, because masks are written into it and the caller's array must stay as it is.
    array = np.array(floats(scores, name), order="C")
    if labels is not None and (array.ndim != 3 or len(array) != len(labels)):
        expected = f"({len(labels)}, n+1, n+1) for {len(labels)} labels"
        raise InputError(f"{name}: found shape {array.shape}, expected {expected}")
    matrix = array if labels is None else array[0]
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) < 2:
        check_scores(matrix, name if labels is None else f"{name} of label {labels[0]!r}")
    # One native pass for ordinary scores; False if one of them is -inf, NaN or too large.
    if native.mask_arc_scores(array):
        return array
    if labels is None:
        check_scores(array, name)
    else:
        for label, scores_of_label in zip(labels, array, strict=True):
            check_scores(scores_of_label, f"{name} of label {label!r}")
    # Clamped so that sums of n such scores stay finite (see LARGEST_SCORE).
    array[(array < -LARGEST_SCORE) & (array > -np.inf)] = -LARGEST_SCORE
    # The kernels ignore these cells, but sums over labels and maxima in Python read whole arrays.
    array[..., 0] = -np.inf
    diagonal = np.arange(array.shape[-1])
    array[..., diagonal, diagonal] = -np.inf
    return array


def _is_subtree(tree: Tree, span: Span) -> bool:
    """Return whether the words of the span are one word and all its descendants."""
    words = np.arange(1, len(tree) + 1)
    inside = (words >= span[0]) & (words <= span[1])
    head_inside = (tree.heads[1:] >= span[0]) & (tree.heads[1:] <= span[1])
    return bool((inside & ~head_inside).sum() == 1 and not (head_inside & ~inside).any())
