"""Batches for tests of the kernels: nan wherever nothing may be read."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch

from arcwise.torch.padded import Padded

Floats = npt.NDArray[np.float64]


def padded(
    sentences: Sequence[Floats], *, single_root: bool, dtype: torch.dtype = torch.float64, padding: int = 2
) -> Padded:
    """Non-projective sentences, padded with nan beyond the longest; nan in column 0 and on the diagonal, too."""
    side = max(len(scores) for scores in sentences) + padding
    everything = np.full((len(sentences), side, side), np.nan)
    for to, scores in zip(everything, sentences, strict=True):
        size = len(scores)
        to[:size, 1:size] = scores[:, 1:]
        np.fill_diagonal(to, np.nan)
    return Padded(
        scores=torch.tensor(everything, dtype=dtype),
        lengths=torch.tensor([len(scores) - 1 for scores in sentences], dtype=torch.int32),
        projective=False,
        single_root=single_root,
        span_ends=torch.empty((0, 2), dtype=torch.int32),
        span_starts=torch.empty(0, dtype=torch.int64),
    )
