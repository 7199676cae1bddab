"""Losses on score tensors, one value a sentence: (scores, what is known of the right tree) → value, with gradients.

The definitions are those of ``native/kernels/inference/tree_loss.hpp``: a loss is the difference of two terms, one over all trees, one over
the trees that agree with what is known. Heads, labels and states that are unknown are summed or maximised out in both. A sentence
without a tree that agrees has the loss inf, and the gradient 0.

All take ``scores`` (…, N+1, N+1), ``heads`` (…, N+1) and ``lengths`` (…); with ``label_dim`` labelled scores, (…, L, N+1, N+1) for -3 or
(…, N+1, N+1, L) for -1, and ``labels`` (…, N+1). -1 in ``heads`` and ``labels`` means not known. ``label_of_state``: as in
``TreeCRF``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from torch import Tensor

from arcwise.errors import InputError
from arcwise.inference.tree_class import TreeClass
from arcwise.torch import operators
from arcwise.torch.label_sums import MINUS_INFINITY, log_sum
from arcwise.torch.score_tensors import Lengths, ScoreTensors, score_tensors, with_values
from arcwise.torch.tree_tensors import described

INFINITY = float("inf")
Labels: TypeAlias = Sequence[int] | Tensor | None


def log_likelihood(
    scores: Tensor,
    heads: Tensor,
    labels: Tensor | None = None,
    lengths: Lengths = None,
    *,
    projective: bool,
    single_root: bool,
    label_dim: int | None = None,
    label_of_state: Labels = None,
    complete: bool | None = None,
) -> Tensor:
    """The loss -log P(what is known) ≥ 0 (Koo et al. 2007; partial trees and latent states: Smith & Smith 2007, section 5).

    ``complete=True`` says that all heads are known, which spares a sum over trees (on the CPU that is found out).

    >>> log_likelihood(torch.zeros(3, 3), torch.tensor([-1, 2, 0]), projective=True, single_root=True).item()
    0.693...
    """
    trees = TreeClass(projective=projective, single_root=single_root)
    known = _known(scores, heads, labels, lengths, trees, label_dim, label_of_state, log_sum)
    return known.answer(known.scores.wide_log_partition(), known.log_weight(complete))


def softmax_margin(
    scores: Tensor,
    heads: Tensor,
    labels: Tensor | None = None,
    lengths: Lengths = None,
    *,
    projective: bool,
    single_root: bool,
    label_dim: int | None = None,
    label_of_state: Labels = None,
    complete: bool | None = None,
) -> Tensor:
    """The log-likelihood loss with costs added to the scores of all trees: 1 for a wrong head, 1 more for a wrong label, 0 where the
    head is unknown (Gimpel & Smith 2010).

    >>> softmax_margin(torch.zeros(3, 3), torch.tensor([-1, 2, 0]), projective=True, single_root=True).item()
    2.126...
    """
    trees = TreeClass(projective=projective, single_root=single_root)
    known = _known(scores, heads, labels, lengths, trees, label_dim, label_of_state, log_sum)
    return known.answer(known.with_costs().wide_log_partition(), known.log_weight(complete))


def hinge(
    scores: Tensor,
    heads: Tensor,
    labels: Tensor | None = None,
    lengths: Lengths = None,
    *,
    projective: bool,
    single_root: bool,
    label_dim: int | None = None,
    label_of_state: Labels = None,
) -> Tensor:
    """The score by which the worst tree, its cost added, is ahead of the best right one (Taskar et al. 2003); costs as in
    ``softmax_margin``.

    >>> hinge(torch.zeros(3, 3), torch.tensor([-1, 2, 0]), projective=True, single_root=True).item()
    2.0
    """
    trees = TreeClass(projective=projective, single_root=single_root)
    known = _known(scores, heads, labels, lengths, trees, label_dim, label_of_state, _maximum)
    return known.answer(_best_score(known.with_costs()), known.best_right_score())


@dataclass(frozen=True)
class _Known:
    """Scores, and what is known of the right trees: heads and labels (B, 1, N+1)."""

    scores: ScoreTensors
    heads: Tensor
    labels: Tensor | None
    shape: torch.Size
    """Of the answer."""

    def answer(self, of_all: Tensor, of_right: Tensor) -> Tensor:
        """The loss, 0 or more; inf, without gradient, where there is no right tree."""
        impossible = (of_right == MINUS_INFINITY) | (of_all == MINUS_INFINITY)
        ahead = (of_all - of_right).clamp(min=0.0)
        return torch.where(impossible, INFINITY, ahead).to(self.scores.values.dtype).reshape(self.shape)

    def log_weight(self, complete: bool | None) -> Tensor:
        """(B,): log Σ exp(score) of the right trees."""
        return self.scores.log_weights(self.heads, self.labels, complete=complete)[:, 0]

    def with_costs(self) -> ScoreTensors:
        """scores + costs."""
        own = self.scores
        known = (self.heads >= 0).transpose(1, 2)  # (B, m, 1)
        rows = torch.arange(own.size, device=self.heads.device)
        costs = (known & (self.heads.transpose(1, 2) != rows)).transpose(1, 2)  # (B, h, m)
        costs = costs.to(own.values.dtype)
        if own.label_dim is None:
            return with_values(own, own.values + costs)
        values = own.values + costs.unsqueeze(own.label_dim)
        if self.labels is not None:
            names = torch.arange(own.values.shape[own.label_dim], device=self.heads.device)
            of_word = self.labels.transpose(1, 2)  # (B, m, 1)
            wrong = (known & (of_word >= 0) & (of_word != names)).to(values.dtype)  # (B, m, L)
            values = values + (wrong.transpose(1, 2)[:, :, None] if own.label_dim == 1 else wrong[:, None])
        return with_values(own, values)

    def best_right_score(self) -> Tensor:
        own = self.scores
        arcs = own.known_arcs(own.best_arcs, self.heads, self.labels)[:, 0].detach()
        heads, _ = operators.decode(own.padded(arcs))
        return _score_of(own, heads[:, None], self.labels)


def _best_score(scores: ScoreTensors) -> Tensor:
    """(B,), float64: the score of the best tree; its gradient is 1 on the arcs of the tree."""
    heads, _ = operators.decode(scores.padded(scores.best_arcs))
    return _score_of(scores, heads[:, None], None)


def _score_of(scores: ScoreTensors, heads: Tensor, labels: Tensor | None) -> Tensor:
    """The score of one tree of each sentence, with these labels, or the best where they are unknown; -inf where there is no tree."""
    if scores.label_dim is not None:
        best = scores.label_scores(heads).detach().argmax(-1)
        labels = best if labels is None else torch.where(labels >= 0, labels, best)
    total = scores.tree_arcs(heads, labels, with_all=False).sum(-1, dtype=torch.float64)
    words = scores.words[:, None]
    return torch.where((words & (heads < 0)).any(-1), MINUS_INFINITY, total)[:, 0]


def _maximum(values: Tensor, dim: int) -> Tensor:
    """The highest of the states; its gradient is 1 on the first of them that is so high."""
    return values.gather(dim, values.detach().argmax(dim, keepdim=True)).squeeze(dim)


def _known(
    scores: Tensor,
    heads: Tensor,
    labels: Tensor | None,
    lengths: Lengths,
    trees: TreeClass,
    label_dim: int | None,
    label_of_state: Labels,
    by: Callable[[Tensor, int], Tensor],
) -> _Known:
    own, shape = score_tensors(
        scores, lengths, trees, label_dim=label_dim, label_of_state=label_of_state, by=by
    )
    if labels is not None and label_dim is None:
        raise InputError("labels: found a tensor, but no label_dim; expected label_dim=-3 or -1 with labels")
    laid_out = [
        None if one is None else _laid_out(one, name, own, shape)
        for one, name in ((heads, "heads"), (labels, "labels"))
    ]
    assert laid_out[0] is not None
    return _Known(own, laid_out[0], laid_out[1], shape)


def _laid_out(value: Any, name: str, scores: ScoreTensors, shape: torch.Size) -> Tensor:
    """(…, N+1) as (B, 1, N+1)."""
    expected = (*shape, scores.size)
    if not isinstance(value, Tensor) or value.is_floating_point() or value.shape != expected:
        raise InputError(f"{name}: found {described(value)}, expected whole numbers of shape {expected}")
    return value.to(scores.values.device, torch.int64).reshape(-1, 1, scores.size)
