"""``CpuSiblings``: the operations of ``SiblingBackend`` on the CPU."""

from __future__ import annotations

import torch
from torch import Tensor

from arcwise import native
from arcwise.torch.padded import PaddedSiblings


class CpuSiblings:
    """The C++ kernels for trees with sibling scores, on at most ``torch.get_num_threads()`` threads."""

    def sibling_log_partition(self, batch: PaddedSiblings) -> Tensor:
        """See ``SiblingBackend.sibling_log_partition``."""
        values = _totals(batch)
        native.padded_siblings_log_partition(_native(batch), values.data_ptr())
        return values

    def sibling_marginals(self, batch: PaddedSiblings) -> tuple[Tensor, Tensor, Tensor]:
        """See ``SiblingBackend.sibling_marginals``."""
        values, arcs, pairs = _totals(batch), torch.empty_like(batch.scores), torch.empty_like(batch.siblings)
        native.padded_siblings_marginals(_native(batch), values.data_ptr(), arcs.data_ptr(), pairs.data_ptr())
        return values, arcs, pairs

    def sibling_marginals_jvp(
        self, batch: PaddedSiblings, first: Tensor, first_siblings: Tensor
    ) -> tuple[Tensor, Tensor]:
        """See ``SiblingBackend.sibling_marginals_jvp``."""
        return _derivatives(batch, first, first_siblings)

    def sibling_marginals_second_derivative(
        self,
        batch: PaddedSiblings,
        first: Tensor,
        first_siblings: Tensor,
        second: Tensor,
        second_siblings: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """See ``SiblingBackend.sibling_marginals_second_derivative``."""
        return _derivatives(batch, first, first_siblings, second, second_siblings)

    def sibling_decode(self, batch: PaddedSiblings) -> tuple[Tensor, Tensor]:
        """See ``SiblingBackend.sibling_decode``."""
        heads, values = torch.empty(batch.scores.shape[:2], dtype=torch.int64), _totals(batch)
        native.padded_siblings_decode(_native(batch), heads.data_ptr(), values.data_ptr())
        return heads, values


def _totals(batch: PaddedSiblings) -> Tensor:
    return batch.scores.new_empty(batch.scores.shape[0], dtype=torch.float64)


def _derivatives(batch: PaddedSiblings, *directions: Tensor) -> tuple[Tensor, Tensor]:
    """Return the derivatives along one direction (of arcs and pairs), or along two."""
    arcs, pairs = torch.empty_like(batch.scores), torch.empty_like(batch.siblings)
    each = batch.directions(*directions)
    first, first_pairs, second, second_pairs = [direction.data_ptr() for direction in each] + [0] * (
        4 - len(each)
    )
    native.padded_siblings_derivatives(
        _native(batch), first, first_pairs, second, second_pairs, arcs.data_ptr(), pairs.data_ptr()
    )
    return arcs, pairs


def _native(batch: PaddedSiblings) -> native.PaddedSiblings:
    """Return the addresses of the batch, after checking that they hold what the kernels expect."""
    scores, siblings, lengths = batch.scores, batch.siblings, batch.lengths
    sentences, side = scores.shape[:2]
    if (
        scores.shape != (sentences, side, side)
        or side < 1
        or siblings.shape != (*scores.shape, side)
        or scores.dtype not in (torch.float32, torch.float64)
        or siblings.dtype is not scores.dtype
        or lengths.dtype is not torch.int32
        or lengths.shape != (sentences,)
        or any(not each.is_contiguous() or each.is_cuda for each in (scores, siblings, lengths))
    ):
        raise ValueError(
            f"scores {scores.dtype} {tuple(scores.shape)}, siblings {siblings.dtype} "
            f"{tuple(siblings.shape)} and lengths {lengths.dtype} {tuple(lengths.shape)}: expected float32 "
            "or float64 (B, N+1, N+1) and (B, N+1, N+1, N+1), and int32 (B,), contiguous, on the CPU"
        )
    return native.PaddedSiblings(
        scores.dtype is torch.float64,
        scores.data_ptr(),
        siblings.data_ptr(),
        lengths.data_ptr(),
        sentences,
        side - 1,
        batch.single_root,
        torch.get_num_threads(),
    )
