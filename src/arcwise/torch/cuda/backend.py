"""The operations on CUDA tensors: by kernels on the GPU; by those of the CPU where the GPU cannot, said once."""

from __future__ import annotations

import warnings
from functools import cache

import torch
from torch import Tensor

from arcwise.torch.cuda import eisner, matrix_tree, spanning_tree, wilson
from arcwise.torch.cuda.are_trees import are_trees
from arcwise.torch.cuda.compiler import CudaError
from arcwise.torch.cuda.gpu import gpu
from arcwise.torch.cuda.launcher import Launcher
from arcwise.torch.on_the_cpu import OnTheCpu
from arcwise.torch.padded import Padded, TreeBackend

LONGEST = 512
"""Words of the longest sentence that the kernels take."""


class CudaBackend:
    """Projective trees by ``eisner.cu``; others by ``matrix_tree.cu``, ``spanning_tree.cu`` and ``wilson.cu``. What is too long for them, and
    more than ``LARGEST_K`` best trees, goes to ``instead``."""

    def __init__(self, launcher: Launcher, instead: TreeBackend) -> None:
        self.launcher = launcher
        self.instead = instead

    def log_partition(self, batch: Padded) -> Tensor:
        """log Z, (B,)."""
        if _is_long(batch.scores):
            return self.instead.log_partition(batch)
        return (eisner if batch.projective else matrix_tree).log_partition(self.launcher, batch)

    def marginals(self, batch: Padded) -> tuple[Tensor, Tensor]:
        """log Z, (B,), and the probability of every arc."""
        if _is_long(batch.scores):
            return self.instead.marginals(batch)
        return (eisner if batch.projective else matrix_tree).marginals(self.launcher, batch)

    def marginals_jvp(self, batch: Padded, direction: Tensor) -> Tensor:
        """The derivative of the marginals in a direction."""
        if _is_long(batch.scores):
            return self.instead.marginals_jvp(batch, direction)
        return (eisner if batch.projective else matrix_tree).marginals_jvp(self.launcher, batch, direction)

    def marginals_second_derivative(self, batch: Padded, first: Tensor, second: Tensor) -> Tensor:
        """The second derivative of the marginals in two directions."""
        if _is_long(batch.scores):
            return self.instead.marginals_second_derivative(batch, first, second)
        module = eisner if batch.projective else matrix_tree
        return module.marginals_second_derivative(self.launcher, batch, first, second)

    def decode(self, batch: Padded) -> tuple[Tensor, Tensor]:
        """The best tree and its score."""
        if _is_long(batch.scores):
            return self.instead.decode(batch)
        return (eisner if batch.projective else spanning_tree).decode(self.launcher, batch)

    def k_best(self, batch: Padded, k: int) -> tuple[Tensor, Tensor]:
        """The k best trees and their scores."""
        module = eisner if batch.projective else spanning_tree
        if _is_long(batch.scores) or k > module.LARGEST_K:
            return self.instead.k_best(batch, k)
        return module.k_best(self.launcher, batch, k)

    def sample(self, batch: Padded, count: int, seed: int) -> Tensor:
        """Draws of each sentence."""
        if _is_long(batch.scores):
            return self.instead.sample(batch, count, seed)
        return (eisner if batch.projective else wilson).sample(self.launcher, batch, count, seed)

    def are_trees(self, heads: Tensor, lengths: Tensor, projective: bool, single_root: bool) -> Tensor:
        """Whether heads are those of trees."""
        if _is_long(heads):
            return self.instead.are_trees(heads, lengths, projective, single_root)
        return are_trees(self.launcher, heads, lengths, projective, single_root)


@cache
def cuda_backend(index: int) -> TreeBackend:
    """The backend of the GPU of that number. Where kernels cannot be compiled or run there: one warning, and the CPU's."""
    from arcwise.torch.cpu import CpuBackend

    instead = OnTheCpu(CpuBackend())
    try:
        found = CudaBackend(gpu(index), instead)
        found.log_partition(_one_word(torch.device("cuda", index)))
    except (CudaError, OSError) as problem:
        warnings.warn(f"trees are computed on the CPU, not on cuda:{index}: {problem}", stacklevel=2)
        return instead
    return found


def _one_word(device: torch.device) -> Padded:
    """A sentence of one word, to see whether kernels run."""
    return Padded(
        torch.zeros((1, 2, 2), device=device),
        torch.ones(1, dtype=torch.int32, device=device),
        projective=False,
        single_root=True,
        span_ends=torch.empty((0, 2), dtype=torch.int32, device=device),
        span_starts=torch.empty(0, dtype=torch.int64, device=device),
    )


def _is_long(tensor: Tensor) -> bool:
    """Whether it has more places than the kernels take, (…, N+1)."""
    return tensor.shape[-1] - 1 > LONGEST
