"""``Batch``: sentences packed without padding, and dropout over them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor


@dataclass(frozen=True)
class Batch:
    """Packed sentences, longest first: all first positions (the roots), then all second positions, and so on.

    ``positions``: index of each of the N rows in the data; ``counts``: rows per position, on the CPU;
    ``sentence``: sentence of each row, 0..B-1; ``places``: flat index of each row in the padded (B, T)
    matrix; ``lengths``: words per sentence; ``sentences``: their numbers in the data, on the CPU;
    ``positions_on_cpu`` and ``sentence_on_cpu``: the same as ``positions`` and ``sentence``.
    """

    positions: Tensor
    counts: Tensor
    sentence: Tensor
    places: Tensor
    lengths: Tensor
    sentences: npt.NDArray[np.int64]
    positions_on_cpu: npt.NDArray[np.int64]
    sentence_on_cpu: npt.NDArray[np.int64]

    @property
    def size(self) -> int:
        """Number of sentences."""
        return len(self.lengths)

    @property
    def width(self) -> int:
        """T: words of the longest sentence, plus the root."""
        return len(self.counts)

    @classmethod
    def of(
        cls,
        sentences: npt.NDArray[np.int64],
        starts: npt.NDArray[np.int64],
        lengths: npt.NDArray[np.int64],
        device: str | torch.device,
    ) -> Batch:
        """Pack some sentences; ``starts`` and ``lengths`` (words) are those of all sentences of the data.

        Every sentence of the data begins with a root.
        """
        chosen = sentences[np.argsort(-lengths[sentences], kind="stable")]
        batch_lengths = lengths[chosen]
        width = int(batch_lengths[0]) + 1
        inside = np.arange(width)[:, None] <= batch_lengths  # (T, B)
        position, sentence = np.nonzero(inside)
        flat = np.stack([starts[chosen][sentence] + position, sentence, sentence * width + position])
        # One array, so that a GPU needs a single transfer; counts stay on the CPU for PackedSequence.
        moved = to_device(flat, device)
        return cls(
            moved[0],
            torch.from_numpy(inside.sum(1)),
            moved[1],
            moved[2],
            to_device(batch_lengths.astype(np.int32), device),
            chosen,
            flat[0],
            sentence,
        )

    def padded(self, rows: Tensor) -> Tensor:
        """Pad (N, D) to (B, T, D) with zeros."""
        flat = rows.new_zeros(self.size * self.width, rows.shape[-1])
        return flat.index_copy(0, self.places, rows).view(self.size, self.width, -1)


@dataclass(frozen=True)
class Dropout:
    """Dropout rates: of the values of each embedding table, and of vectors."""

    inputs: tuple[float, ...]
    vectors: float


def apply_dropout(rows: Tensor, batch: Batch, drops: Dropout | None) -> Tensor:
    """Drop entries of the vectors (N, D), with one mask per sentence (Gal & Ghahramani 2016)."""
    if drops is None or drops.vectors == 0:
        return rows
    kept = 1 - drops.vectors
    mask = torch.rand(batch.size, rows.shape[-1], device=rows.device) < kept
    return rows * (mask.to(rows.dtype) / kept)[batch.sentence]


def to_device(array: npt.NDArray[Any], device: str | torch.device) -> Tensor:
    """Move an array to a device; a GPU gets it in the background, from pinned memory."""
    tensor = torch.from_numpy(array)
    if torch.device(device).type == "cuda":
        tensor = tensor.pin_memory()
    return tensor.to(device, non_blocking=True)
