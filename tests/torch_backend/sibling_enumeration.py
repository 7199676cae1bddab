"""The operations of a ``SiblingBackend`` by listing all trees, for up to 5 words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from arcwise import Tree
from arcwise.factors.siblings import sides
from arcwise.torch.padded import PaddedSiblings
from reference.enumerate_trees import all_trees


@dataclass
class ListedTrees:
    """All trees of a sentence: what each uses, (T, (n+1)² + (n+1)³), and its score."""

    heads: np.ndarray
    uses: np.ndarray
    values: np.ndarray
    is_broken: bool

    @property
    def log_partition(self) -> float:
        if self.is_broken:
            return np.nan
        return float(np.logaddexp.reduce(self.values)) if len(self.values) else -np.inf

    @property
    def probabilities(self) -> np.ndarray:
        return np.exp(self.values - self.log_partition) if len(self.values) else np.zeros(0)

    def centred(self, direction: np.ndarray) -> np.ndarray:
        """The sum of a direction over what each tree uses, less its mean."""
        values = np.where(self.uses > 0, direction, 0).sum(1)
        return values - self.probabilities @ values


def listed(scores: np.ndarray, siblings: np.ndarray, single_root: bool) -> ListedTrees:
    side = len(scores)
    all_uses = np.zeros((0, side**2 + side**3))
    heads = (
        np.full((1, 1), -1) if side == 1 else all_trees(side - 1, projective=True, single_root=single_root)
    )
    rows = []
    for row in heads:
        uses = np.zeros(side**2 + side**3)
        for head, dependents in sides(Tree(row.astype(np.int32))):
            before = head
            for m in dependents:
                uses[head * side + m] = uses[side**2 + (head * side + before) * side + m] = 1
                before = m
        rows.append(uses)
    all_uses = np.array(rows)
    both = np.concatenate([scores.ravel(), siblings.ravel()])
    read = all_uses.any(0)
    values = np.where(all_uses > 0, both, 0).sum(1)
    possible = values > -np.inf
    return ListedTrees(
        heads[possible], all_uses[possible], values[possible], bool((read & ~(both < np.inf)).any())
    )


class EnumerationSiblings:
    """Derivatives of log Z are cumulants of indicators: their mean, covariance and third cumulant."""

    def sibling_log_partition(self, batch: PaddedSiblings) -> Tensor:
        return self.sibling_marginals(batch)[0]

    def sibling_marginals(self, batch: PaddedSiblings) -> tuple[Tensor, Tensor, Tensor]:
        log_z = torch.tensor([trees.log_partition for trees in _sentences(batch)], dtype=torch.float64)
        return log_z, *_spread(batch, [trees.probabilities @ trees.uses for trees in _sentences(batch)])

    def sibling_marginals_jvp(
        self, batch: PaddedSiblings, first: Tensor, first_siblings: Tensor
    ) -> tuple[Tensor, Tensor]:
        directions = _flat(batch, first, first_siblings)
        return _spread(
            batch,
            [
                (trees.probabilities * trees.centred(d)) @ trees.uses
                for trees, d in zip(_sentences(batch), directions, strict=True)
            ],
        )

    def sibling_marginals_second_derivative(
        self,
        batch: PaddedSiblings,
        first: Tensor,
        first_siblings: Tensor,
        second: Tensor,
        second_siblings: Tensor,
    ) -> tuple[Tensor, Tensor]:
        answers = []
        both = zip(
            _sentences(batch),
            _flat(batch, first, first_siblings),
            _flat(batch, second, second_siblings),
            strict=True,
        )
        for trees, one, other in both:
            p = trees.probabilities
            answers.append((p * trees.centred(one) * trees.centred(other)) @ (trees.uses - p @ trees.uses))
        return _spread(batch, answers)

    def sibling_decode(self, batch: PaddedSiblings) -> tuple[Tensor, Tensor]:
        heads = torch.full(batch.scores.shape[:2], -1)
        values = torch.full(batch.scores.shape[:1], -torch.inf, dtype=torch.float64)
        for s, trees in enumerate(_sentences(batch)):
            if trees.is_broken:
                values[s] = torch.nan
            elif len(trees.values):
                best = int(trees.values.argmax())
                values[s] = trees.values[best]
                heads[s, : trees.heads.shape[1]] = torch.from_numpy(trees.heads[best].astype(np.int64))
        return heads, values


def _sentences(batch: PaddedSiblings) -> Iterator[ListedTrees]:
    for scores, siblings, n in zip(batch.scores, batch.siblings, batch.lengths.tolist(), strict=True):
        side = n + 1
        yield listed(
            scores[:side, :side].double().numpy(),
            siblings[:side, :side, :side].double().numpy(),
            batch.single_root,
        )


def _flat(batch: PaddedSiblings, arcs: Tensor, pairs: Tensor) -> list[np.ndarray]:
    return [
        np.concatenate([a[:s, :s].double().numpy().ravel(), b[:s, :s, :s].double().numpy().ravel()])
        for a, b, s in zip(arcs, pairs, (batch.lengths + 1).tolist(), strict=True)
    ]


def _spread(batch: PaddedSiblings, answers: list[np.ndarray]) -> tuple[Tensor, Tensor]:
    """Padded arcs and pairs; nan where a sentence is broken."""
    arcs, pairs = torch.zeros_like(batch.scores), torch.zeros_like(batch.siblings)
    for s, (trees, answer) in enumerate(zip(_sentences(batch), answers, strict=True)):
        side = int(batch.lengths[s]) + 1
        if trees.is_broken:
            answer = np.where(trees.uses.any(0), np.nan, 0)
        arcs[s, :side, :side] = torch.from_numpy(answer[: side**2].reshape(side, side))
        pairs[s, :side, :side, :side] = torch.from_numpy(answer[side**2 :].reshape(side, side, side))
    return arcs, pairs
