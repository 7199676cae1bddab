"""``TreeDistribution`` of numpy and of tensors behind one face, so that the same checks run over both. Scores
and probabilities are numpy arrays, trees are ``arcwise.Tree``, one sentence at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

import arcwise
import arcwise.torch
from arcwise import Constraints, Tree

Floats = np.ndarray


class NumpyTrees:
    """The numpy class as it is."""

    dtype = np.float64

    def __init__(self, scores: Floats, **options: Any) -> None:
        self._trees = arcwise.TreeDistribution(scores, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._trees, name)

    def sample(self, count: int, *, seed: int) -> list[Tree]:
        return self._trees.sample(count, seed=seed)

    def kl(self, other: NumpyTrees) -> float:
        return self._trees.kl(other._trees)

    def cross_entropy(self, other: NumpyTrees) -> float:
        return self._trees.cross_entropy(other._trees)

    def partial_log_prob(self, tree: Tree) -> float:
        """Of a tree with unknown heads and labels."""
        labels = {m: tree.labels[m] for m in range(1, len(tree) + 1) if tree.labels and tree.labels[m] != "_"}
        both = Constraints(required=tree.arcs, labels=labels).joined(self._trees.constraints[0])
        known = self._trees.given(both)
        return float(known.log_partition - self._trees.log_partition)


class TensorTrees:
    """The class over tensors: in the middle of a batch, with padding of nan, labels where ``label_dim``
    says."""

    def __init__(
        self,
        scores: Floats,
        *,
        device: torch.device,
        labels: list[str] | None = None,
        constraints: Constraints | None = None,
        label_dim: int = -3,
        dtype: torch.dtype = torch.float64,
        **options: Any,
    ) -> None:
        side = scores.shape[-1]
        padded = np.full((3, *scores.shape[:-2], side + 2, side + 2), np.nan)
        padded[1, ..., :side, :side] = scores
        padded[0, ..., :2, :2] = 0
        tensor = torch.tensor(padded, dtype=dtype, device=device)
        if labels and label_dim == -1:
            tensor = tensor.permute(0, 2, 3, 1)
        self.labels, self.label_dim, self.words = labels, label_dim, side - 1
        self._trees = arcwise.torch.TreeCRF(
            tensor,
            [1, side - 1, 0],
            labels=labels,
            label_dim=label_dim,
            constraints=None if constraints is None else [None, constraints, None],
            validate_args=True,
            **options,
        )

    def _array(self, values: torch.Tensor) -> Floats:
        """The sentence in the middle; what is padded must be 0."""
        values = values.detach()
        if values.ndim == 4 and self.label_dim == -1:
            values = values.permute(0, 3, 1, 2)
        side = self.words + 1
        assert not values[2].any()
        assert not values[1, ..., side:, :].any()
        assert not values[1, ..., :, side:].any()
        return values[1, ..., :side, :side].cpu().numpy()

    def _tensors(self, tree: Tree) -> Any:
        empty = Tree.from_heads([], [] if tree.labels else None)
        one = Tree.from_heads([0], [self.labels[0]] if tree.labels and self.labels else None)
        return arcwise.torch.from_trees(
            [one, tree, empty],
            self.labels if tree.labels else None,
            size=self.words + 3,
            device=self._trees._unconstrained.values.device,
        )

    @property
    def log_partition(self) -> float:
        return float(self._trees.log_partition[1])

    @property
    def marginals(self) -> Floats:
        return self._array(self._trees.marginals)

    @property
    def label_marginals(self) -> Floats:
        return self._array(self._trees.label_marginals)

    def _tree(self, trees: Any) -> Tree:
        return self._trees.to_trees(trees)[1]

    def best(self) -> Tree:
        return self._tree(self._trees.best())

    def minimum_risk(self) -> Tree:
        return self._tree(self._trees.minimum_risk())

    def minimum_labelled_risk(self) -> Tree:
        return self._tree(self._trees.minimum_labelled_risk())

    def k_best(self, k: int) -> list[Tree]:
        found = [batch[1] for batch in self._trees.to_trees(self._trees.k_best(k))]
        return [tree for tree in found if tree.is_complete]

    def sample(self, count: int, *, seed: int) -> list[Tree]:
        generator = torch.Generator().manual_seed(seed)
        drawn = self._trees.sample((count,), generator=generator)
        return [batch[1] for batch in self._trees.to_trees(drawn)]

    def score(self, tree: Tree) -> float:
        return float(self._trees.score(self._tensors(tree))[1])

    def log_prob(self, tree: Tree) -> float:
        return float(self._trees.log_prob(self._tensors(tree))[1])

    partial_log_prob = log_prob

    def prob(self, tree: Tree) -> float:
        return float(np.exp(self.log_prob(tree)))

    def entropy(self) -> float:
        return float(self._trees.entropy()[1])

    def head_entropy(self) -> float:
        return float(self._trees.head_entropy()[1])

    def kl(self, other: TensorTrees) -> float:
        return float(self._trees.kl(other._trees)[1])

    def cross_entropy(self, other: TensorTrees) -> float:
        return float(self._trees.cross_entropy(other._trees)[1])
