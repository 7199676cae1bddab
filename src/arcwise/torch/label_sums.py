"""Sum labels out of tensors of scores, and put them back.

No value or gradient becomes nan because of the padding, or because all labels of an arc are forbidden.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

MINUS_INFINITY = float("-inf")


def log_sum(scores: Tensor, dim: int) -> Tensor:
    """Reduce dimension ``dim`` by log Σ exp; -inf where all labels are."""
    return _LogSum.apply(scores, dim)


def log_label_probs(scores: Tensor, total: Tensor, dim: int) -> Tensor:
    """Return log P(label | arc) = score - total, shaped as the scores.

    -inf for forbidden arcs and padding.
    """
    below = scores - total.unsqueeze(dim)
    return torch.where(below <= 0, below, MINUS_INFINITY)  # False for nan too


def weighted(log_weights: Tensor, values: Tensor) -> Tensor:
    """Return exp(log_weights) · values, 0 where the weight is 0, even if the value is inf or nan."""
    weights = log_weights.exp()
    return weights * torch.where(weights > 0, values, 0.0)


class _LogSum(Function):
    """logsumexp whose gradient is P(label | arc) without nan.

    The backward pass is differentiable again where that may be needed; otherwise it takes fewer passes over
    memory."""

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
            probabilities = torch.softmax(scores, ctx.dim).nan_to_num_(nan=0.0)
            return probabilities.mul_(gradient.unsqueeze(ctx.dim)), None
        return gradient.unsqueeze(ctx.dim) * log_label_probs(scores, total, ctx.dim).exp(), None


def group_states(scores: Tensor, dim: int, label_of_state: Sequence[int], labels: int) -> Tensor:
    """Split the states in dimension ``dim`` (from the front) into (labels, states of a label).

    Labels with fewer states than others are padded with -inf.
    """
    groups: list[list[int]] = [[] for _ in range(labels)]
    for state, label in enumerate(label_of_state):
        groups[label].append(state)
    width = max(map(len, groups))
    missing = len(label_of_state)
    index = [state for group in groups for state in [*group, *[missing] * (width - len(group))]]
    shape = list(scores.shape)
    shape[dim] = 1
    extended = torch.cat([scores, scores.new_full(shape, MINUS_INFINITY)], dim)
    chosen = extended.index_select(dim, torch.tensor(index, device=scores.device))
    return chosen.unflatten(dim, (labels, width))
