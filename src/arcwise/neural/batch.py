"""``Batch``: sentences side by side without padding, as the networks take them, and what is left out of their vectors in training."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor


@dataclass(frozen=True)
class Batch:
    """Sentences of a batch, longest first, without padding: all first positions (the roots), then all second ones, and so on.

    ``positions``: where each of the N rows stands in the data; ``counts``: rows of each position, on the CPU; ``sentence``: of each
    row, 0..B-1; ``places``: of each row in the padded (B, T) matrix, flat; ``lengths``: words of each sentence; ``sentences``:
    their numbers in the data, on the CPU.
    """

    positions: Tensor
    counts: Tensor
    sentence: Tensor
    places: Tensor
    lengths: Tensor
    sentences: npt.NDArray[np.int64]

    @property
    def size(self) -> int:
        """Sentences."""
        return len(self.lengths)

    @property
    def width(self) -> int:
        """T: one more than the words of the longest sentence."""
        return len(self.counts)

    @classmethod
    def of(
        cls,
        sentences: npt.NDArray[np.int64],
        starts: npt.NDArray[np.int64],
        lengths: npt.NDArray[np.int64],
        device: str | torch.device,
    ) -> Batch:
        """The batch of these sentences; ``starts`` and ``lengths`` (words) are those of all sentences of the data, whose every sentence
        begins with a root."""
        chosen = sentences[np.argsort(-lengths[sentences], kind="stable")]
        own = lengths[chosen]
        width = int(own[0]) + 1
        inside = np.arange(width)[:, None] <= own  # (T, B)
        position, sentence = np.nonzero(inside)
        flat = np.stack([starts[chosen][sentence] + position, sentence, sentence * width + position])
        moved = torch.from_numpy(flat).to(device, non_blocking=True)
        return cls(
            moved[0],
            torch.from_numpy(inside.sum(1)),
            moved[1],
            moved[2],
            torch.from_numpy(own.astype(np.int32)).to(device, non_blocking=True),
            chosen,
        )

    def padded(self, rows: Tensor) -> Tensor:
        """(N, D) → (B, T, D), 0 in the padding."""
        flat = rows.new_zeros(self.size * self.width, rows.shape[-1])
        return flat.index_copy(0, self.places, rows).view(self.size, self.width, -1)


@dataclass(frozen=True)
class Dropout:
    """Shares that are left out in training: of the values of each table, of the numbers of vectors."""

    inputs: tuple[float, ...]
    vectors: float


def apply_dropout(rows: Tensor, batch: Batch, drops: Dropout | None) -> Tensor:
    """With some numbers of the vectors (N, D) left out, the same in all rows of a sentence (Gal & Ghahramani 2016)."""
    if drops is None or drops.vectors == 0:
        return rows
    kept = 1 - drops.vectors
    mask = torch.rand(batch.size, rows.shape[-1], device=rows.device) < kept
    return rows * (mask.to(rows.dtype) / kept)[batch.sentence]
