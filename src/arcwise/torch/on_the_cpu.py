"""The kernels of the CPU for tensors of another device."""

from __future__ import annotations

from dataclasses import replace

from torch import Tensor

from arcwise.inference.tree_class import TreeClass
from arcwise.torch.padded import Padded, TreeBackend
from arcwise.torch.tree_tensors import tensors_are_trees


class OnTheCpu:
    """A backend of the CPU for tensors that are elsewhere: they are moved there and back."""

    def __init__(self, backend: TreeBackend) -> None:
        self.backend = backend

    def log_partition(self, batch: Padded) -> Tensor:
        """log Z, (B,)."""
        return self.backend.log_partition(_moved(batch)).to(batch.scores.device)

    def marginals(self, batch: Padded) -> tuple[Tensor, Tensor]:
        """log Z, (B,), and the probability of every arc."""
        log_z, marginals = self.backend.marginals(_moved(batch))
        return log_z.to(batch.scores.device), marginals.to(batch.scores.device)

    def marginals_jvp(self, batch: Padded, direction: Tensor) -> Tensor:
        """The derivative of the marginals in a direction."""
        return self.backend.marginals_jvp(_moved(batch), direction.cpu()).to(batch.scores.device)

    def marginals_second_derivative(self, batch: Padded, first: Tensor, second: Tensor) -> Tensor:
        """The second derivative of the marginals in two directions."""
        found = self.backend.marginals_second_derivative(_moved(batch), first.cpu(), second.cpu())
        return found.to(batch.scores.device)

    def decode(self, batch: Padded) -> tuple[Tensor, Tensor]:
        """The best tree and its score."""
        heads, scores = self.backend.decode(_moved(batch))
        return heads.to(batch.scores.device), scores.to(batch.scores.device)

    def k_best(self, batch: Padded, k: int) -> tuple[Tensor, Tensor]:
        """The k best trees and their scores."""
        heads, scores = self.backend.k_best(_moved(batch), k)
        return heads.to(batch.scores.device), scores.to(batch.scores.device)

    def sample(self, batch: Padded, count: int, seed: int) -> Tensor:
        """Draws of each sentence."""
        return self.backend.sample(_moved(batch), count, seed).to(batch.scores.device)

    def are_trees(self, heads: Tensor, lengths: Tensor, projective: bool, single_root: bool) -> Tensor:
        """Whether heads are those of trees: where they are, in tensor operations."""
        return tensors_are_trees(heads, lengths, TreeClass(projective=projective, single_root=single_root))


def _moved(batch: Padded) -> Padded:
    return replace(
        batch,
        scores=batch.scores.cpu(),
        lengths=batch.lengths.cpu(),
        span_ends=batch.span_ends.cpu(),
        span_starts=batch.span_starts.cpu(),
    )
