"""``Padded`` batches and the interface between the layers and the kernels of each device, ``TreeBackend``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from torch import Tensor


@dataclass(slots=True)
class Padded:
    """Arc scores, padded to the longest sentence; padding, column 0 and the diagonal are never read.

    Immutable by convention: a frozen dataclass takes a microsecond more per call.
    """

    scores: Tensor
    """(B, N+1, N+1), contiguous, float32 or float64; ``scores[b, h, m]``, -inf forbids.

    All tensors share its device.
    """
    lengths: Tensor
    """(B,), int32: the number of words of each sentence, 0..N."""
    projective: bool
    single_root: bool
    span_ends: Tensor
    """(S, 2), int32: first and last word of spans that must be subtrees (projective trees only)."""
    span_starts: Tensor
    """(B+1,), int64: where the spans of each sentence start. Both tensors are empty if there are no spans."""


@dataclass(slots=True)
class PaddedSiblings:
    """Arc and sibling scores of projective trees, padded to the longest sentence; what no tree uses is never
    read."""

    scores: Tensor
    """(B, N+1, N+1), contiguous, float32 or float64; ``scores[b, h, m]``, -inf forbids.

    All tensors share its device.
    """
    siblings: Tensor
    """(B, N+1, N+1, N+1), contiguous, of the scores' type.

    ``siblings[b, h, s, m]`` is added where m is the next dependent of h after s on the same side, outward
    from h; ``siblings[b, h, h, m]`` where m is the first one.
    """
    lengths: Tensor
    """(B,), int32: the number of words of each sentence, 0..N."""
    single_root: bool

    def directions(self, *directions: Tensor) -> list[Tensor]:
        """Return directions as the kernels read them, alternately of arcs and of pairs: contiguous, of the
        scores' type."""
        for at, direction in enumerate(directions):
            expected = (self.scores, self.siblings)[at % 2].shape
            if direction.shape != expected:
                raise ValueError(
                    f"direction: found shape {tuple(direction.shape)}, expected {tuple(expected)}"
                )
        return [direction.detach().to(self.scores.dtype).contiguous() for direction in directions]


class SiblingBackend(Protocol):
    """The operations of one kind of device on projective trees with sibling scores.

    Conventions as in ``TreeBackend``, but log Z and scores of trees are float64. *Pairs* are (h, s, m) as in
    ``PaddedSiblings.siblings``."""

    def sibling_log_partition(self, batch: PaddedSiblings) -> Tensor:
        """Return log Z, (B,)."""
        ...

    def sibling_marginals(self, batch: PaddedSiblings) -> tuple[Tensor, Tensor, Tensor]:
        """Return log Z, (B,), and the probabilities of arcs, (B, N+1, N+1), and pairs, (B, N+1, N+1, N+1)."""
        ...

    def sibling_marginals_jvp(
        self, batch: PaddedSiblings, first: Tensor, first_siblings: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return the derivative of the marginals of arcs and of pairs in a direction.

        It is the Hessian of log Z times the direction.
        """
        ...

    def sibling_marginals_second_derivative(
        self,
        batch: PaddedSiblings,
        first: Tensor,
        first_siblings: Tensor,
        second: Tensor,
        second_siblings: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """Return the second derivative of the marginals of arcs and of pairs in two directions."""
        ...

    def sibling_decode(self, batch: PaddedSiblings) -> tuple[Tensor, Tensor]:
        """Return the heads of the best trees, (B, N+1), int64, -1 for root and padding, and their scores,
        (B,)."""
        ...


class TreeBackend(SiblingBackend, Protocol):
    """The operations of one kind of device.

    Results are padded with 0 (probabilities, derivatives) or -1 (heads).

    A sentence of zero words has one tree, of score 0. A sentence without a tree has log partition and score
    -inf, marginals 0 and heads -1. A sentence with nan or +inf among the scores that are read has nan as log
    partition, score, marginals and derivatives, and heads -1. No operation synchronises with the device or
    raises because of a score; checks are up to the layer."""

    def log_partition(self, batch: Padded) -> Tensor:
        """Return log Z, (B,), of the scores' type."""
        ...

    def marginals(self, batch: Padded) -> tuple[Tensor, Tensor]:
        """Return log Z, (B,), and the probability of every arc, (B, N+1, N+1)."""
        ...

    def marginals_jvp(self, batch: Padded, direction: Tensor) -> Tensor:
        """Return the derivative of the marginals at scores + ε · direction with respect to ε, (B, N+1, N+1).

        It is the Hessian of log Z times ``direction``.
        """
        ...

    def marginals_second_derivative(self, batch: Padded, first: Tensor, second: Tensor) -> Tensor:
        """Return the derivative of the marginals at scores + ε · first + δ · second with respect to ε and δ.

        It is the third derivative of log Z times both directions.
        """
        ...

    def decode(self, batch: Padded) -> tuple[Tensor, Tensor]:
        """Return the heads of the best trees, (B, N+1), int64, -1 for root and padding, and their scores,
        (B,)."""
        ...

    def k_best(self, batch: Padded, k: int) -> tuple[Tensor, Tensor]:
        """Return the k best trees, best first: heads, (B, k, N+1), int64, and scores, (B, k).

        If there are fewer trees, the remaining heads are -1 and scores -inf.
        """
        ...

    def sample(self, batch: Padded, count: int, seed: int) -> Tensor:
        """Draw ``count`` trees of each sentence, (count, B, N+1), int64; the seed determines them."""
        ...

    def are_trees(self, heads: Tensor, lengths: Tensor, projective: bool, single_root: bool) -> Tensor:
        """Return (B, S), bool: whether heads, (B, S, N+1), int64, contiguous, of the words 1..n form a tree
        of the class."""
        ...
