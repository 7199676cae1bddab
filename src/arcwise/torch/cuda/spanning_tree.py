"""The best non-projective trees on a GPU: ``native/kernels/inference/spanning_tree.cu``."""

from __future__ import annotations

import ctypes

import torch
from torch import Tensor

from arcwise.torch.cuda.launcher import Launcher, fields, rounded_up
from arcwise.torch.padded import Padded

LARGEST_K = 32
"""Larger k runs on the CPU."""

_THREADS = 128
_BLOCKS_AT_ONCE = 16
"""Blocks per multiprocessor that get a workspace in global memory."""


class _SpanningTreeArguments(ctypes.Structure):
    _fields_ = fields(
        "scores lengths heads values workspace",
        "slice",
        "sentences side k single_root in_double",
    )


def decode(launcher: Launcher, batch: Padded) -> tuple[Tensor, Tensor]:
    """See ``TreeBackend.decode``."""
    heads = launcher.empty(batch.scores.shape[:2], torch.int64)
    values = launcher.empty(batch.scores.shape[:1], batch.scores.dtype)
    _search(launcher, batch, "spanning_tree_decode", 1, heads, values)
    return heads, values


def k_best(launcher: Launcher, batch: Padded, k: int) -> tuple[Tensor, Tensor]:
    """See ``TreeBackend.k_best``, for k up to ``LARGEST_K``."""
    assert k <= LARGEST_K
    sentences, side, _ = batch.scores.shape
    heads = launcher.empty((sentences, k, side), torch.int64)
    values = launcher.empty((sentences, k), batch.scores.dtype)
    _search(launcher, batch, "spanning_tree_k_best", k, heads, values)
    return heads, values


def _search(launcher: Launcher, batch: Padded, kernel: str, k: int, heads: Tensor, values: Tensor) -> None:
    sentences, side, _ = batch.scores.shape
    if not sentences or not k:
        return
    arguments = _SpanningTreeArguments(
        scores=batch.scores.data_ptr(),
        lengths=batch.lengths.data_ptr(),
        heads=heads.data_ptr(),
        values=values.data_ptr(),
        sentences=sentences,
        side=side,
        k=k,
        single_root=batch.single_root,
        in_double=batch.scores.dtype == torch.float64,
    )
    rows, few = rounded_up(2 * side * side * 8), _few_bytes(side)
    if kernel == "spanning_tree_k_best":
        few += _search_bytes(side, k)
    blocks = sentences
    workspace = None
    if few + rows <= launcher.shared_limit:
        shared = few + rows
    else:
        shared = few
        blocks = min(sentences, _BLOCKS_AT_ONCE * launcher.multiprocessors)
        workspace = launcher.empty((blocks * rows,), torch.uint8)
        arguments.workspace, arguments.slice = workspace.data_ptr(), rows
    threads = min(_THREADS, launcher.threads_limit)
    launcher.launch("spanning_tree.cu", kernel, arguments, blocks=blocks, threads=threads, shared=shared)


def _few_bytes(side: int) -> int:
    """Bytes of ``Contraction`` without rows: swaps; a double, 7 integers per vertex; 6 integers per word."""
    return rounded_up(32 * 16 + 2 * side * 8 + (7 * 2 + 6) * side * 4 + 16)


def _search_bytes(side: int, k: int) -> int:
    """Bytes of ``KBestSearch``: two sets of trees per tree, values, counts, trees."""
    return rounded_up(2 * k * 56 + k * 8 + 16 + k * side * 4)
