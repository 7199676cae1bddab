"""Random batches for the tests of tensors, the numpy class as their truth, and all trees of short
sentences."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import numpy.typing as npt
import torch

import arcwise
from arcwise.torch.padded import Padded
from reference.enumerate_trees import all_trees
from torch_backend.emulated_gpu import EmulatedGpu

Floats = npt.NDArray[np.float64]
Spans = list[list[tuple[int, int]]]

WHOLE = EmulatedGpu()
"""All tables in shared memory."""
WARP = EmulatedGpu(threads=32, lanes=32)
"""One warp."""
LAUNCHERS = [
    WHOLE,
    EmulatedGpu(shared_limit=6000, multiprocessors=1),
    EmulatedGpu(shared_limit=600),
    EmulatedGpu(threads=3),
]
"""The others: some tables or all in the workspace; several threads."""


def random_scores(
    seed: int, lengths: list[int], deviation: float = 1.0, forbidden: float = 0.0
) -> list[Floats]:
    generator = np.random.default_rng(seed)
    scores = [generator.normal(0, deviation, (n + 1, n + 1)) for n in lengths]
    for matrix in scores:
        matrix[generator.random(matrix.shape) < forbidden] = -np.inf
    return scores


def padded(
    scores: Sequence[Floats],
    *,
    single_root: bool,
    projective: bool = True,
    dtype: torch.dtype = torch.float64,
    spans: Spans | None = None,
    padding: int = 0,
) -> Padded:
    """Padded to the longest and so many words more; everything that must not be read is nan."""
    side = max((len(matrix) for matrix in scores), default=1) + padding
    tensor = torch.full((len(scores), side, side), float("nan"), dtype=dtype)
    for sentence, matrix in enumerate(scores):
        tensor[sentence, : len(matrix), : len(matrix)] = torch.from_numpy(matrix)
    tensor[:, :, 0] = float("nan")
    tensor.diagonal(dim1=1, dim2=2).fill_(float("nan"))
    counts = [] if spans is None else [0, *np.cumsum([len(each) for each in spans])]
    return Padded(
        scores=tensor,
        lengths=torch.tensor([len(matrix) - 1 for matrix in scores], dtype=torch.int32),
        projective=projective,
        single_root=single_root,
        span_ends=torch.tensor([span for each in spans or [] for span in each], dtype=torch.int32).reshape(
            -1, 2
        ),
        span_starts=torch.tensor(counts, dtype=torch.int64),
    )


crossing = partial(padded, projective=False, padding=2)
"""The same for trees that need not be projective."""


def exact(matrix: Floats, *, single_root: bool) -> arcwise.TreeDistribution:
    matrix = matrix.copy()
    matrix[:, 0] = 0
    np.fill_diagonal(matrix, 0)
    return arcwise.TreeDistribution(matrix, projective=True, single_root=single_root)


def spanned_trees(n: int, spans: list[tuple[int, int]], *, single_root: bool) -> npt.NDArray[np.int32]:
    """All trees in which one word alone of each span has its head outside, and nothing outside has its head
    in the span."""

    def is_subtree(heads: npt.NDArray[np.int32], first: int, last: int) -> bool:
        inside = [first <= m <= last for m in range(n + 1)]
        leaving = sum(inside[m] and not inside[heads[m]] for m in range(1, n + 1))
        entering = sum(not inside[m] and inside[heads[m]] for m in range(1, n + 1))
        return leaving == 1 and entering == 0

    trees = all_trees(n, projective=True, single_root=single_root)
    return trees[[all(is_subtree(tree, *span) for span in spans) for tree in trees]]


def tree_scores(matrix: Floats, trees: npt.NDArray[np.int32]) -> Floats:
    return matrix[trees[:, 1:], np.arange(1, len(matrix))].sum(axis=1)


def spanned_batch() -> tuple[Padded, list[Floats], Spans]:
    spans: Spans = [[(2, 4)], [], [(1, 2), (4, 5)], [(2, 5), (3, 4)]]
    scores = random_scores(9, [5, 3, 6, 6])
    for matrix, each in zip(scores, spans, strict=True):
        for first, last in each:
            inside = np.arange(len(matrix))
            inside_mask = (inside >= first) & (inside <= last)
            matrix[np.ix_(inside_mask, ~inside_mask)] = -np.inf
    return padded(scores, single_root=True, spans=spans), scores, spans
