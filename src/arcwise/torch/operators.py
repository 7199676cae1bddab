"""The kernels as PyTorch operators, with their derivatives.

    log_partition, marginals  →  marginals_jvp  →  marginals_second_derivative

Each is a derivative of the one before: the marginals are the gradient of log Z, and the others their first
and second directional derivatives. Each has a separate algorithm: autograd records no recurrence, and only
scores and marginals are kept for the backward pass. The operators are opaque to ``torch.compile``. Where
torch needs to see nothing (``eager.is_plain``), the kernels are called directly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from arcwise.inference.tree_class import TreeClass
from arcwise.torch.backends import backend_of
from arcwise.torch.eager import is_plain
from arcwise.torch.padded import Padded

_LIBRARY = torch.library.Library("arcwise", "DEF")
_BATCH = (
    "Tensor scores, Tensor lengths, Tensor span_ends, Tensor span_starts, bool projective, bool single_root"
)


def log_partition(batch: Padded) -> Tensor:
    """Return log Z, (B,). If a gradient is needed, the same pass computes it: the marginals."""
    if _needs_gradient(batch.scores):
        return marginals(batch)[0]
    if is_plain(batch.scores):
        return backend_of(batch.scores.device).log_partition(_contiguous(batch))
    return torch.ops.arcwise.log_partition(*_parts(batch))


def marginals(batch: Padded) -> tuple[Tensor, Tensor]:
    """Return log Z, (B,), and the probability of every arc, (B, N+1, N+1)."""
    if _needs_gradient(batch.scores):
        return _Marginals.apply(*_parts(batch))
    if is_plain(batch.scores):
        return backend_of(batch.scores.device).marginals(_contiguous(batch))
    return torch.ops.arcwise.marginals(*_parts(batch))


def marginals_jvp(batch: Padded, direction: Tensor) -> Tensor:
    """Return the derivative of the marginals in a direction, (B, N+1, N+1)."""
    return _MarginalsJvp.apply(direction, *_parts(batch))


def decode(batch: Padded) -> tuple[Tensor, Tensor]:
    """Return the heads of the best trees, (B, N+1), and their scores, (B,), without gradient."""
    if not batch.scores.requires_grad and is_plain(batch.scores):
        return backend_of(batch.scores.device).decode(_contiguous(batch))
    return torch.ops.arcwise.decode(*_parts(batch, detached=True))


def k_best(batch: Padded, k: int) -> tuple[Tensor, Tensor]:
    """Return the heads of the k best trees, (B, k, N+1), and their scores, (B, k), without gradient."""
    return torch.ops.arcwise.k_best(*_parts(batch, detached=True), k)


def sample(batch: Padded, count: int, seed: Tensor) -> Tensor:
    """Draw ``count`` trees per sentence, (count, B, N+1).

    A ``seed`` on the CPU (int64) avoids a synchronisation.
    """
    return torch.ops.arcwise.sample(*_parts(batch, detached=True), count, seed)


def are_trees(heads: Tensor, lengths: Tensor, trees: TreeClass) -> Tensor:
    """Return (B, S): whether heads (B, S, N+1) form trees of the class over the words of each sentence."""
    run = _are_trees if is_plain(heads) else torch.ops.arcwise.are_trees
    return run(heads, lengths, trees.projective, trees.single_root)


def _needs_gradient(scores: Tensor) -> bool:
    return scores.requires_grad and torch.is_grad_enabled()


def _parts(batch: Padded, *, detached: bool = False) -> tuple[Any, ...]:
    scores = batch.scores.detach() if detached else batch.scores
    return scores, batch.lengths, batch.span_ends, batch.span_starts, batch.projective, batch.single_root


class _Marginals(Function):
    """(log Z, μ). With gradients g of log Z and γ of μ, the gradient of the scores is g μ + jvp(γ)."""

    @staticmethod
    def forward(ctx: Any, *parts: Any) -> tuple[Tensor, Tensor]:
        run = _marginals if is_plain(parts[0]) else torch.ops.arcwise.marginals
        log_z, arcs = run(*parts)
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*parts[:4], arcs)
        ctx.tree_class = parts[4:]
        return log_z, arcs

    @staticmethod
    def backward(ctx: Any, of_log_z: Tensor | None, of_arcs: Tensor | None) -> tuple[Any, ...]:
        *parts, arcs = ctx.saved_tensors
        gradient = None
        if of_arcs is not None:
            gradient = _MarginalsJvp.apply(of_arcs, *parts, *ctx.tree_class)
        if of_log_z is not None:
            step = of_log_z[:, None, None] * arcs
            gradient = step if gradient is None else gradient + step
        return gradient, None, None, None, None, None


class _MarginalsJvp(Function):
    """The Hessian of log Z times a direction.

    The Hessian is symmetric, so the gradient of the direction is such a product again; that of the scores is
    a second derivative of the marginals."""

    @staticmethod
    def forward(ctx: Any, direction: Tensor, *parts: Any) -> Tensor:
        ctx.save_for_backward(direction, *parts[:4])
        ctx.tree_class = parts[4:]
        run = (
            _marginals_jvp if is_plain(parts[0]) and is_plain(direction) else torch.ops.arcwise.marginals_jvp
        )
        return run(*parts, direction)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Any, ...]:
        direction, *parts = ctx.saved_tensors
        parts += ctx.tree_class
        by_direction = by_scores = None
        if ctx.needs_input_grad[0]:
            by_direction = _MarginalsJvp.apply(gradient, *parts)
        if ctx.needs_input_grad[1]:
            by_scores = _MarginalsSecondDerivative.apply(direction, gradient, *parts)
        return by_direction, by_scores, None, None, None, None, None


class _MarginalsSecondDerivative(Function):
    """The third derivative of log Z times two directions; symmetric. The fourth is not implemented."""

    @staticmethod
    def forward(ctx: Any, first: Tensor, second: Tensor, *parts: Any) -> Tensor:
        ctx.save_for_backward(first, second, *parts[:4])
        ctx.tree_class = parts[4:]
        return torch.ops.arcwise.marginals_second_derivative(*parts, first, second)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Any, ...]:
        first, second, *parts = ctx.saved_tensors
        parts += ctx.tree_class
        by_first = by_second = None
        if ctx.needs_input_grad[2]:
            raise NotImplementedError(
                "arcwise.torch: the fourth derivative of log Z is not implemented, expected three at most"
            )
        if ctx.needs_input_grad[0]:
            by_first = _MarginalsSecondDerivative.apply(gradient, second, *parts)
        if ctx.needs_input_grad[1]:
            by_second = _MarginalsSecondDerivative.apply(gradient, first, *parts)
        return by_first, by_second, None, None, None, None, None, None


def _contiguous(batch: Padded) -> Padded:
    """Return the batch with contiguous tensors; usually they are contiguous already."""
    if batch.scores.is_contiguous() and batch.lengths.is_contiguous():
        return batch
    return replace(batch, scores=batch.scores.contiguous(), lengths=batch.lengths.contiguous())


def _kernel(name: str) -> Callable[..., Any]:
    """Return the backend's method of this name as a function of the operator's arguments, made contiguous."""

    def compute(*arguments: Any) -> Any:
        each: list[Any] = [value.contiguous() if isinstance(value, Tensor) else value for value in arguments]
        scores, lengths, span_ends, span_starts, projective, single_root, *rest = each
        batch = Padded(scores, lengths, projective, single_root, span_ends, span_starts)
        return getattr(backend_of(scores.device), name)(batch, *rest)

    return compute


_marginals, _marginals_jvp = _kernel("marginals"), _kernel("marginals_jvp")


def _sample(*arguments: Any) -> Tensor:
    *others, seed = arguments
    return _kernel("sample")(*others, int(seed))


def _are_trees(heads: Tensor, lengths: Tensor, projective: bool, single_root: bool) -> Tensor:
    backend = backend_of(heads.device)
    return backend.are_trees(heads.contiguous(), lengths.contiguous(), projective, single_root)


def _per_sentence(scores: Tensor) -> Tensor:
    return scores.new_empty(scores.shape[0])


def _per_arc(scores: Tensor) -> Tensor:
    return torch.empty_like(scores, memory_format=torch.contiguous_format)


def _heads(scores: Tensor, *leading: int) -> Tensor:
    return scores.new_empty((*leading, scores.shape[-1]), dtype=torch.int64)


_OPERATORS: dict[str, tuple[Any, Any]] = {
    f"log_partition({_BATCH}) -> Tensor": (_kernel("log_partition"), lambda s, *_: _per_sentence(s)),
    f"marginals({_BATCH}) -> (Tensor, Tensor)": (
        _marginals,
        lambda s, *_: (_per_sentence(s), _per_arc(s)),
    ),
    f"marginals_jvp({_BATCH}, Tensor direction) -> Tensor": (_marginals_jvp, lambda s, *_: _per_arc(s)),
    f"marginals_second_derivative({_BATCH}, Tensor first, Tensor second) -> Tensor": (
        _kernel("marginals_second_derivative"),
        lambda s, *_: _per_arc(s),
    ),
    f"decode({_BATCH}) -> (Tensor, Tensor)": (
        _kernel("decode"),
        lambda s, *_: (_heads(s, s.shape[0]), _per_sentence(s)),
    ),
    f"k_best({_BATCH}, int k) -> (Tensor, Tensor)": (
        _kernel("k_best"),
        lambda s, *rest: (_heads(s, s.shape[0], rest[-1]), s.new_empty((s.shape[0], rest[-1]))),
    ),
    f"sample({_BATCH}, int count, Tensor seed) -> Tensor": (
        _sample,
        lambda s, *rest: _heads(s, rest[-2], s.shape[0]),
    ),
    "are_trees(Tensor heads, Tensor lengths, bool projective, bool single_root) -> Tensor": (
        _are_trees,
        lambda heads, *_: heads.new_empty(heads.shape[:2], dtype=torch.bool),
    ),
}


for _schema, (_compute, _shapes) in _OPERATORS.items():
    _name = _schema.partition("(")[0]
    _LIBRARY.define(_schema)
    _LIBRARY.impl(_name, _compute, "CompositeExplicitAutograd")
    torch.library.register_fake(f"arcwise::{_name}", _shapes, lib=_LIBRARY)
