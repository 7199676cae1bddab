"""The CUDA backend, with the CPU as fallback for operations without a GPU kernel."""

from __future__ import annotations

import warnings
from functools import cache

import torch
from torch import Tensor

from arcwise.torch.cpu import CpuBackend, CpuFallback
from arcwise.torch.cuda import eisner, eisner_siblings, matrix_tree, spanning_tree, wilson
from arcwise.torch.cuda.are_trees import are_trees
from arcwise.torch.cuda.compiler import CudaError
from arcwise.torch.cuda.gpu import gpu
from arcwise.torch.cuda.launcher import Launcher
from arcwise.torch.eager import no_spans
from arcwise.torch.padded import Padded, PaddedSiblings, TreeBackend

LONGEST = 512
"""Number of words of the longest sentence that the kernels accept."""


class CudaBackend:
    """Kernels on the GPU: Eisner for projective trees, else Matrix-Tree, spanning trees and Wilson.

    Sentences that are too long, and more than ``LARGEST_K`` best trees, go to ``fallback``.
    """

    def __init__(self, launcher: Launcher, fallback: TreeBackend) -> None:
        self.launcher = launcher
        self.fallback = fallback

    def log_partition(self, batch: Padded) -> Tensor:
        """See ``TreeBackend.log_partition``."""
        if _is_long(batch.scores):
            return self.fallback.log_partition(batch)
        return (eisner if batch.projective else matrix_tree).log_partition(self.launcher, batch)

    def marginals(self, batch: Padded) -> tuple[Tensor, Tensor]:
        """See ``TreeBackend.marginals``."""
        if _is_long(batch.scores):
            return self.fallback.marginals(batch)
        return (eisner if batch.projective else matrix_tree).marginals(self.launcher, batch)

    def marginals_jvp(self, batch: Padded, direction: Tensor) -> Tensor:
        """See ``TreeBackend.marginals_jvp``."""
        if _is_long(batch.scores):
            return self.fallback.marginals_jvp(batch, direction)
        return (eisner if batch.projective else matrix_tree).marginals_jvp(self.launcher, batch, direction)

    def marginals_second_derivative(self, batch: Padded, first: Tensor, second: Tensor) -> Tensor:
        """See ``TreeBackend.marginals_second_derivative``."""
        if _is_long(batch.scores):
            return self.fallback.marginals_second_derivative(batch, first, second)
        module = eisner if batch.projective else matrix_tree
        return module.marginals_second_derivative(self.launcher, batch, first, second)

    def decode(self, batch: Padded) -> tuple[Tensor, Tensor]:
        """See ``TreeBackend.decode``."""
        if _is_long(batch.scores):
            return self.fallback.decode(batch)
        return (eisner if batch.projective else spanning_tree).decode(self.launcher, batch)

    def k_best(self, batch: Padded, k: int) -> tuple[Tensor, Tensor]:
        """See ``TreeBackend.k_best``."""
        module = eisner if batch.projective else spanning_tree
        if _is_long(batch.scores) or k > module.LARGEST_K:
            return self.fallback.k_best(batch, k)
        return module.k_best(self.launcher, batch, k)

    def sample(self, batch: Padded, count: int, seed: int) -> Tensor:
        """See ``TreeBackend.sample``."""
        if _is_long(batch.scores):
            return self.fallback.sample(batch, count, seed)
        return (eisner if batch.projective else wilson).sample(self.launcher, batch, count, seed)

    def are_trees(self, heads: Tensor, lengths: Tensor, projective: bool, single_root: bool) -> Tensor:
        """See ``TreeBackend.are_trees``."""
        if _is_long(heads):
            return self.fallback.are_trees(heads, lengths, projective, single_root)
        return are_trees(self.launcher, heads, lengths, projective, single_root)

    def sibling_log_partition(self, batch: PaddedSiblings) -> Tensor:
        """See ``SiblingBackend.sibling_log_partition``."""
        if _is_long(batch.scores):
            return self.fallback.sibling_log_partition(batch)
        return eisner_siblings.log_partition(self.launcher, batch)

    def sibling_marginals(self, batch: PaddedSiblings) -> tuple[Tensor, Tensor, Tensor]:
        """See ``SiblingBackend.sibling_marginals``."""
        if _is_long(batch.scores):
            return self.fallback.sibling_marginals(batch)
        return eisner_siblings.marginals(self.launcher, batch)

    def sibling_marginals_jvp(
        self, batch: PaddedSiblings, first: Tensor, first_siblings: Tensor
    ) -> tuple[Tensor, Tensor]:
        """See ``SiblingBackend.sibling_marginals_jvp``."""
        if _is_long(batch.scores):
            return self.fallback.sibling_marginals_jvp(batch, first, first_siblings)
        return eisner_siblings.derivatives(self.launcher, batch, first, first_siblings)

    def sibling_marginals_second_derivative(
        self,
        batch: PaddedSiblings,
        first: Tensor,
        first_siblings: Tensor,
        second: Tensor,
        second_siblings: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """See ``SiblingBackend.sibling_marginals_second_derivative``."""
        directions = first, first_siblings, second, second_siblings
        if _is_long(batch.scores):
            return self.fallback.sibling_marginals_second_derivative(batch, *directions)
        return eisner_siblings.derivatives(self.launcher, batch, *directions)

    def sibling_decode(self, batch: PaddedSiblings) -> tuple[Tensor, Tensor]:
        """See ``SiblingBackend.sibling_decode``."""
        if _is_long(batch.scores):
            return self.fallback.sibling_decode(batch)
        return eisner_siblings.decode(self.launcher, batch)


@cache
def cuda_backend(index: int) -> TreeBackend:
    """Return the backend of a GPU; if kernels cannot be compiled or run there, warn once and use the CPU."""
    fallback = CpuFallback(CpuBackend())
    try:
        backend = CudaBackend(gpu(index), fallback)
        backend.log_partition(_one_word(torch.device("cuda", index)))
    except (CudaError, OSError) as problem:
        warnings.warn(f"trees are computed on the CPU, not on cuda:{index}: {problem}", stacklevel=2)
        return fallback
    return backend


def _one_word(device: torch.device) -> Padded:
    """Return a batch of one word, to test whether kernels run."""
    scores = torch.zeros((1, 2, 2), device=device)
    return Padded(scores, torch.ones(1, dtype=torch.int32, device=device), False, True, *no_spans(scores))


def _is_long(tensor: Tensor) -> bool:
    """Return whether (…, N+1) has more words than the kernels accept."""
    return tensor.shape[-1] - 1 > LONGEST
