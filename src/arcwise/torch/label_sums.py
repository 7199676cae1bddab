"""From scores of labelled arcs to scores of arcs and back, in tensors: nothing becomes nan where all labels of an arc are forbidden, or
on account of what lies in the padding, neither in a value nor in a gradient."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

MINUS_INFINITY = float("-inf")


def log_sum(scores: Tensor, dim: int) -> Tensor:
    """log Σ exp over the labels in dimension ``dim``, which goes; -inf where all are."""
    return _LogSum.apply(scores, dim)


def log_shares(scores: Tensor, total: Tensor, dim: int) -> Tensor:
    """log P(label | arc) = score - total, shaped as the scores; -inf for what is forbidden and in the padding."""
    below = scores - total.unsqueeze(dim)
    return torch.where(below <= 0, below, MINUS_INFINITY)  # nan, too, is not <= 0


def weighted(log_weights: Tensor, values: Tensor) -> Tensor:
    """exp(log_weights) · values, 0 where the weight is, whatever the value."""
    weights = log_weights.exp()
    return weights * torch.where(weights > 0, values, 0.0)


class _LogSum(Function):
    """Its gradient is P(label | arc), made of operations that can be differentiated again where that may be asked for, else in fewer
    passes over memory."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, dim: int) -> Tensor:
        total = torch.logsumexp(scores, dim)
        ctx.save_for_backward(scores, total)
        ctx.dim = dim
        return total

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        scores, total = ctx.saved_tensors
        if not torch.is_grad_enabled():
            shares = torch.softmax(scores, ctx.dim).nan_to_num_(nan=0.0)
            return shares.mul_(gradient.unsqueeze(ctx.dim)), None
        return gradient.unsqueeze(ctx.dim) * log_shares(scores, total, ctx.dim).exp(), None


def group_states(scores: Tensor, dim: int, label_of_state: Sequence[int], labels: int) -> Tensor:
    """The scores of states, in dimension ``dim``, as (labels, states of a label) in ``dim`` and ``dim + 1`` (``dim`` counts from the
    front); -inf where a label has fewer states than others."""
    groups: list[list[int]] = [[] for _ in range(labels)]
    for state, label in enumerate(label_of_state):
        groups[label].append(state)
    width = max(map(len, groups))
    missing = len(label_of_state)
    index = [state for own in groups for state in [*own, *[missing] * (width - len(own))]]
    shape = list(scores.shape)
    shape[dim] = 1
    extended = torch.cat([scores, scores.new_full(shape, MINUS_INFINITY)], dim)
    chosen = extended.index_select(dim, torch.tensor(index, device=scores.device))
    return chosen.unflatten(dim, (labels, width))
