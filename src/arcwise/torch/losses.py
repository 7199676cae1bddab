"""Differentiable losses on score tensors: one value per sentence, from scores and a (partial) gold tree.

The definitions are those of ``native/kernels/inference/tree_loss.hpp``: all but the risk are the difference
of two terms, one over all trees, and one over the trees that agree with the gold annotation. Unknown heads,
labels and states are summed or maximised out in both. If no tree agrees, the loss is inf and the gradient 0.

All take ``scores`` (…, N+1, N+1), ``heads`` (…, N+1) and ``lengths`` (…). With ``label_dim``, scores are
labelled, (…, L, N+1, N+1) for -3 or (…, N+1, N+1, L) for -1, and ``labels`` is (…, N+1). -1 in ``heads`` and
``labels`` marks unknown ones. ``label_of_state``: as in ``TreeCRF``."""

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
from arcwise.torch.moments import TreeMoments
from arcwise.torch.score_tensors import Lengths, ScoreTensors, score_tensors, with_values
from arcwise.torch.tree_tensors import describe

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
    """Return the negative log-likelihood of the gold annotation, at least 0.

    Koo et al. 2007; for partial trees and latent states Smith & Smith 2007, section 5. ``complete=True``
    promises that all heads are known, which saves a sum over trees (on the CPU this is detected).

    >>> log_likelihood(torch.zeros(3, 3), torch.tensor([-1, 2, 0]), projective=True, single_root=True).item()
    0.693...
    """
    trees = TreeClass(projective=projective, single_root=single_root)
    gold = _gold(scores, heads, labels, lengths, trees, label_dim, label_of_state, log_sum)
    return gold.loss(gold.scores.wide_log_partition(), gold.log_weight(complete))


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
    """Return the log-likelihood loss with costs added to the scores of all trees (Gimpel & Smith 2010).

    The cost is 1 for a wrong head, 1 more for a wrong label, and 0 where the head is unknown.

    >>> softmax_margin(torch.zeros(3, 3), torch.tensor([-1, 2, 0]), projective=True, single_root=True).item()
    2.126...
    """
    trees = TreeClass(projective=projective, single_root=single_root)
    gold = _gold(scores, heads, labels, lengths, trees, label_dim, label_of_state, log_sum)
    return gold.loss(gold.with_costs().wide_log_partition(), gold.log_weight(complete))


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
    """Return the structured hinge loss (Taskar et al. 2003), with costs as in ``softmax_margin``.

    It is the cost-augmented score of the best tree, minus the score of the best tree that agrees with the
    gold one.

    >>> hinge(torch.zeros(3, 3), torch.tensor([-1, 2, 0]), projective=True, single_root=True).item()
    2.0
    """
    trees = TreeClass(projective=projective, single_root=single_root)
    gold = _gold(scores, heads, labels, lengths, trees, label_dim, label_of_state, _maximum)
    return gold.loss(_best_score(gold.with_costs()), gold.best_gold_score())


def risk(
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
    """Return the expected cost of a tree, with costs as in ``softmax_margin`` (Smith & Eisner 2006).

    Without labels it is the expected number of wrong heads. It is not convex, and its gradient vanishes where
    the distribution is certain, right or wrong.

    >>> risk(torch.zeros(3, 3), torch.tensor([-1, 2, 0]), projective=True, single_root=True).item()
    1.0
    """
    trees = TreeClass(projective=projective, single_root=single_root)
    gold = _gold(scores, heads, labels, lengths, trees, label_dim, label_of_state, log_sum)
    costs = gold.costs().expand_as(gold.scores.values)
    expected = TreeMoments.of(gold.scores, torch.Size([len(costs)])).mean(costs)
    impossible = gold.log_weight(complete).detach() == MINUS_INFINITY
    return torch.where(impossible, INFINITY, expected).reshape(gold.shape)


@dataclass(frozen=True)
class _Gold:
    """Scores, and the gold heads and labels, (B, 1, N+1), -1 where unknown."""

    scores: ScoreTensors
    heads: Tensor
    labels: Tensor | None
    shape: torch.Size
    """The shape of the result."""

    def loss(self, of_all: Tensor, of_gold: Tensor) -> Tensor:
        """Return the loss, at least 0; inf, without gradient, if no tree agrees with the gold one."""
        impossible = (of_gold == MINUS_INFINITY) | (of_all == MINUS_INFINITY)
        margin = (of_all - of_gold).clamp(min=0.0)
        return torch.where(impossible, INFINITY, margin).to(self.scores.values.dtype).reshape(self.shape)

    def log_weight(self, complete: bool | None) -> Tensor:
        """Return log Σ exp(score) of the trees that agree, (B,)."""
        return self.scores.log_weights(self.heads, self.labels, complete=complete)[:, 0]

    def with_costs(self) -> ScoreTensors:
        """Return the scores plus costs."""
        return with_values(self.scores, self.scores.values + self.costs())

    def costs(self) -> Tensor:
        """Return what each arc, and each label on it, costs; broadcasts to the scores."""
        scores = self.scores
        is_known = (self.heads >= 0).transpose(1, 2)  # (B, m, 1)
        rows = torch.arange(scores.size, device=self.heads.device)
        costs = (is_known & (self.heads.transpose(1, 2) != rows)).transpose(1, 2)  # (B, h, m)
        costs = costs.to(scores.values.dtype)
        if scores.label_dim is None:
            return costs
        costs = costs.unsqueeze(scores.label_dim)
        if self.labels is not None:
            names = torch.arange(scores.values.shape[scores.label_dim], device=self.heads.device)
            of_word = self.labels.transpose(1, 2)  # (B, m, 1)
            wrong = (is_known & (of_word >= 0) & (of_word != names)).to(costs.dtype)  # (B, m, L)
            costs = costs + (wrong.transpose(1, 2)[:, :, None] if scores.label_dim == 1 else wrong[:, None])
        return costs

    def best_gold_score(self) -> Tensor:
        scores = self.scores
        arcs = scores.known_arcs(scores.best_arcs, self.heads, self.labels)[:, 0].detach()
        heads, _ = operators.decode(scores.padded(arcs))
        return _score_of(scores, heads[:, None], self.labels)


def _best_score(scores: ScoreTensors) -> Tensor:
    """Return the score of the best tree, (B,), float64; its gradient is 1 on the arcs of the tree."""
    heads, _ = operators.decode(scores.padded(scores.best_arcs))
    return _score_of(scores, heads[:, None], None)


def _score_of(scores: ScoreTensors, heads: Tensor, labels: Tensor | None) -> Tensor:
    """Return the score of one tree per sentence, with the best labels where unknown; -inf without one."""
    if scores.label_dim is not None:
        best = scores.label_scores(heads).detach().argmax(-1)
        labels = best if labels is None else torch.where(labels >= 0, labels, best)
    total = scores.tree_arcs(heads, labels, with_all=False).sum(-1, dtype=torch.float64)
    words = scores.words[:, None]
    return torch.where((words & (heads < 0)).any(-1), MINUS_INFINITY, total)[:, 0]


def _maximum(values: Tensor, dim: int) -> Tensor:
    """Return the maximum over the states; its gradient is 1 on the first maximum."""
    return values.gather(dim, values.detach().argmax(dim, keepdim=True)).squeeze(dim)


def _gold(
    scores: Tensor,
    heads: Tensor,
    labels: Tensor | None,
    lengths: Lengths,
    trees: TreeClass,
    label_dim: int | None,
    label_of_state: Labels,
    by: Callable[[Tensor, int], Tensor],
) -> _Gold:
    batch, shape = score_tensors(
        scores, lengths, trees, label_dim=label_dim, label_of_state=label_of_state, by=by
    )
    if labels is not None and label_dim is None:
        raise InputError("labels: found a tensor, but no label_dim; expected label_dim=-3 or -1 with labels")
    gold_heads = _by_sentence(heads, "heads", batch, shape)
    gold_labels = None if labels is None else _by_sentence(labels, "labels", batch, shape)
    return _Gold(batch, gold_heads, gold_labels, shape)


def _by_sentence(value: Any, name: str, scores: ScoreTensors, shape: torch.Size) -> Tensor:
    """Reshape (…, N+1) to (B, 1, N+1)."""
    expected = (*shape, scores.size)
    if not isinstance(value, Tensor) or value.is_floating_point() or value.shape != expected:
        raise InputError(f"{name}: found {describe(value)}, expected whole numbers of shape {expected}")
    return value.to(scores.values.device, torch.int64).reshape(-1, 1, scores.size)
