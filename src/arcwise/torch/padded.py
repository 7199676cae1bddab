"""A batch of sentences as tensors, and what every kind of device must be able to compute of it: the seam between the layer and the kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from torch import Tensor


@dataclass(slots=True)
class Padded:
    """Scores of arcs, padded to the longest sentence. What lies in the padding, in column 0 and on the diagonal is never read.

    Nobody changes it; it is not frozen because that costs a call more than a microsecond.
    """

    scores: Tensor
    """(B, N+1, N+1), contiguous, float32 or float64; ``scores[b, h, m]``, -inf forbids. Its device is that of all the others."""
    lengths: Tensor
    """(B,), int32: the words of each sentence, 0..N."""
    projective: bool
    single_root: bool
    span_ends: Tensor
    """(S, 2), int32: the first and last word of spans that must be subtrees; projective trees alone."""
    span_starts: Tensor
    """(B+1,), int64: where the spans of each sentence begin. Without spans at all, both tensors are empty."""


class TreeBackend(Protocol):
    """The operations of one kind of device. Results are padded as the scores are: with 0 (probabilities, derivatives) or -1 (heads).

    A sentence without words has one tree, of score 0. A sentence without a tree has log partition and score -inf, marginals 0, heads -1. A
    sentence that has nan or +inf among the scores that are read has nan for a log partition, score, marginal or derivative, and heads -1.
    Nothing waits for the device and nothing raises on account of a score: that is for the layer above.
    """

    def log_partition(self, batch: Padded) -> Tensor:
        """log Z, (B,), of the scores' type."""
        ...

    def marginals(self, batch: Padded) -> tuple[Tensor, Tensor]:
        """log Z, (B,), and the probability of every arc, (B, N+1, N+1)."""
        ...

    def marginals_jvp(self, batch: Padded, direction: Tensor) -> Tensor:
        """The derivative of the marginals at scores + ε · direction by ε, (B, N+1, N+1): the second derivative of log Z, times ``direction``."""
        ...

    def marginals_second_derivative(self, batch: Padded, first: Tensor, second: Tensor) -> Tensor:
        """The derivative of the marginals at scores + ε · first + δ · second by ε and δ: the third derivative of log Z, times both."""
        ...

    def decode(self, batch: Padded) -> tuple[Tensor, Tensor]:
        """The heads of the best tree, (B, N+1), int64, -1 for the root and the padding, and its score, (B,)."""
        ...

    def k_best(self, batch: Padded, k: int) -> tuple[Tensor, Tensor]:
        """The k best trees, best first: heads, (B, k, N+1), int64, and scores, (B, k); where there are fewer, heads -1 and score -inf."""
        ...

    def sample(self, batch: Padded, count: int, seed: int) -> Tensor:
        """``count`` draws of each sentence, (count, B, N+1), int64; the same seed, the same draws."""
        ...

    def are_trees(self, heads: Tensor, lengths: Tensor, projective: bool, single_root: bool) -> Tensor:
        """(B, S), bool: whether the heads, (B, S, N+1), int64, contiguous, of the words 1..n of each sentence form a tree of the class."""
        ...
