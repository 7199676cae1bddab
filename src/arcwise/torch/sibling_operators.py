"""The kernels for projective trees with sibling scores as PyTorch operators, with their derivatives.

They mirror ``operators``: the marginals of arcs and of pairs are the gradients of log Z, the others their
first and second directional derivatives, each with a separate algorithm.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from arcwise.torch.backends import backend_of
from arcwise.torch.padded import PaddedSiblings

_LIBRARY = torch.library.Library("arcwise", "FRAGMENT")
_BATCH = "Tensor scores, Tensor siblings, Tensor lengths, bool single_root"


def log_partition(batch: PaddedSiblings) -> Tensor:
    """Return log Z, (B,), float64. If a gradient is needed, the same pass computes it: the marginals."""
    if torch.is_grad_enabled() and (batch.scores.requires_grad or batch.siblings.requires_grad):
        return marginals(batch)[0]
    return torch.ops.arcwise.sibling_log_partition(*_parts(batch))


def marginals(batch: PaddedSiblings) -> tuple[Tensor, Tensor, Tensor]:
    """Return log Z, (B,), float64, and the probabilities of arcs, (B, N+1, N+1), and of pairs, (B, N+1, N+1,
    N+1)."""
    return _SiblingMarginals.apply(*_parts(batch))


def decode(batch: PaddedSiblings) -> tuple[Tensor, Tensor]:
    """Return the heads of the best trees, (B, N+1), and their scores, (B,), float64, without gradient."""
    scores, siblings, *rest = _parts(batch)
    return torch.ops.arcwise.sibling_decode(scores.detach(), siblings.detach(), *rest)


def _parts(batch: PaddedSiblings) -> tuple[Any, ...]:
    return batch.scores, batch.siblings, batch.lengths, batch.single_root


class _SiblingMarginals(Function):
    """(log Z, μ of arcs, μ of pairs). With gradients g and γ, the gradient of the scores is g μ + jvp(γ)."""

    @staticmethod
    def forward(ctx: Any, *parts: Any) -> tuple[Tensor, Tensor, Tensor]:
        log_z, arcs, pairs = torch.ops.arcwise.sibling_marginals(*parts)
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*parts[:3], arcs, pairs)
        ctx.single_root = parts[3]
        return log_z, arcs, pairs

    @staticmethod
    def backward(
        ctx: Any, of_log_z: Tensor | None, of_arcs: Tensor | None, of_pairs: Tensor | None
    ) -> tuple[Any, ...]:
        scores, siblings, lengths, *probabilities = ctx.saved_tensors
        gradients: list[Tensor | None] = [None, None]
        if of_arcs is not None or of_pairs is not None:
            first = torch.zeros_like(scores) if of_arcs is None else of_arcs
            second = torch.zeros_like(siblings) if of_pairs is None else of_pairs
            gradients = list(_SiblingJvp.apply(first, second, scores, siblings, lengths, ctx.single_root))
        if of_log_z is not None:
            for at, each in enumerate(probabilities):
                if ctx.needs_input_grad[at]:
                    step = of_log_z.to(each.dtype).view(-1, *[1] * (each.ndim - 1)) * each
                    before = gradients[at]
                    gradients[at] = step if before is None else before + step
        return *gradients, None, None


class _SiblingJvp(Function):
    """The Hessian of log Z times a direction; it is symmetric, so its gradient is again such a product."""

    @staticmethod
    def forward(ctx: Any, arcs: Tensor, pairs: Tensor, *parts: Any) -> tuple[Tensor, Tensor]:
        ctx.save_for_backward(arcs, pairs, *parts[:3])
        ctx.single_root = parts[3]
        return torch.ops.arcwise.sibling_marginals_jvp(*parts, arcs, pairs)

    @staticmethod
    def backward(ctx: Any, of_arcs: Tensor, of_pairs: Tensor) -> tuple[Any, ...]:
        arcs, pairs, *parts = ctx.saved_tensors
        by_direction = by_scores = (None, None)
        if ctx.needs_input_grad[0] or ctx.needs_input_grad[1]:
            by_direction = _SiblingJvp.apply(of_arcs, of_pairs, *parts, ctx.single_root)
        if ctx.needs_input_grad[2] or ctx.needs_input_grad[3]:
            by_scores = _SiblingSecondDerivative.apply(
                arcs, pairs, of_arcs, of_pairs, *parts, ctx.single_root
            )
        return *by_direction, *by_scores, None, None


class _SiblingSecondDerivative(Function):
    """The third derivative of log Z times two directions; symmetric. The fourth is not implemented."""

    @staticmethod
    def forward(ctx: Any, *arguments: Any) -> tuple[Tensor, Tensor]:
        *directions, scores, siblings, lengths, single_root = arguments
        ctx.save_for_backward(*arguments[:-1])
        ctx.single_root = single_root
        parts = scores, siblings, lengths, single_root
        return torch.ops.arcwise.sibling_marginals_second_derivative(*parts, *directions)

    @staticmethod
    def backward(ctx: Any, of_arcs: Tensor, of_pairs: Tensor) -> tuple[Any, ...]:
        *directions, scores, siblings, lengths = ctx.saved_tensors
        if ctx.needs_input_grad[4] or ctx.needs_input_grad[5]:
            raise NotImplementedError(
                "arcwise.torch: the fourth derivative of log Z is not implemented, expected three at most"
            )
        parts = scores, siblings, lengths, ctx.single_root
        by_first = _SiblingSecondDerivative.apply(of_arcs, of_pairs, *directions[2:], *parts)
        by_second = _SiblingSecondDerivative.apply(of_arcs, of_pairs, *directions[:2], *parts)
        return *by_first, *by_second, None, None, None, None


def _kernel(name: str) -> Callable[..., Any]:
    """Return the backend's method of this name as a function of the operator's arguments, made contiguous."""

    def compute(*arguments: Any) -> Any:
        each: list[Any] = [value.contiguous() if isinstance(value, Tensor) else value for value in arguments]
        batch = PaddedSiblings(*each[:4])
        return getattr(backend_of(batch.scores.device), name)(batch, *each[4:])

    return compute


def _totals(scores: Tensor) -> Tensor:
    return scores.new_empty(scores.shape[0], dtype=torch.float64)


def _pair_of_marginals(scores: Tensor, siblings: Tensor, *_: Any) -> tuple[Tensor, Tensor]:
    contiguous = torch.contiguous_format
    return torch.empty_like(scores, memory_format=contiguous), torch.empty_like(
        siblings, memory_format=contiguous
    )


_DIRECTIONS = "Tensor first, Tensor first_siblings"
_OPERATORS: dict[str, Any] = {
    f"sibling_log_partition({_BATCH}) -> Tensor": lambda s, *_: _totals(s),
    f"sibling_marginals({_BATCH}) -> (Tensor, Tensor, Tensor)": (
        lambda s, b, *_: (_totals(s), *_pair_of_marginals(s, b))
    ),
    f"sibling_marginals_jvp({_BATCH}, {_DIRECTIONS}) -> (Tensor, Tensor)": _pair_of_marginals,
    f"sibling_marginals_second_derivative({_BATCH}, {_DIRECTIONS}, Tensor second, Tensor second_siblings) -> "
    "(Tensor, Tensor)": _pair_of_marginals,
    f"sibling_decode({_BATCH}) -> (Tensor, Tensor)": (
        lambda s, *_: (s.new_empty(s.shape[:2], dtype=torch.int64), _totals(s))
    ),
}

for _schema, _shapes in _OPERATORS.items():
    _name = _schema.partition("(")[0]
    _LIBRARY.define(_schema)
    _LIBRARY.impl(_name, _kernel(_name), "CompositeExplicitAutograd")
    torch.library.register_fake(f"arcwise::{_name}", _shapes, lib=_LIBRARY)
