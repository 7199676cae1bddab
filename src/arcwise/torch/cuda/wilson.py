"""Samples of non-projective trees on a GPU: ``native/kernels/inference/wilson.cu``."""

from __future__ import annotations

import ctypes

import torch
from torch import Tensor

from arcwise.torch.cuda import matrix_tree
from arcwise.torch.cuda.launcher import WIDE_NUMBER, Launcher, fields, rounded_up
from arcwise.torch.padded import Padded

_WALKERS = 128
"""Threads per block; each draws one tree."""
_THREADS = 256
"""Threads per block that samples by elimination."""
_WORKSPACE = 1 << 28
"""Maximum bytes of global memory for blocks that sample by elimination; one block always runs."""


class _WilsonArguments(ctypes.Structure):
    _fields_ = fields(
        "scores lengths log_partition marginals heads unfinished workspace",
        "slice seed",
        "sentences side count single_root in_double",
    )


def sample(launcher: Launcher, batch: Padded, count: int, seed: int) -> Tensor:
    """See ``TreeBackend.sample``."""
    sentences, side = batch.scores.shape[:2]
    heads = launcher.empty((count, sentences, side), torch.int64)
    if not sentences or not count:
        return heads
    if batch.single_root:
        log_z, marginals = matrix_tree.marginals(launcher, batch)
    else:
        log_z = marginals = matrix_tree.log_partition(launcher, batch)
    unfinished = launcher.empty((count, sentences), torch.int32)
    arguments = _WilsonArguments(
        scores=batch.scores.data_ptr(),
        lengths=batch.lengths.data_ptr(),
        log_partition=log_z.data_ptr(),
        marginals=marginals.data_ptr(),
        heads=heads.data_ptr(),
        unfinished=unfinished.data_ptr(),
        seed=seed % 2**64,
        sentences=sentences,
        side=side,
        count=count,
        single_root=batch.single_root,
        in_double=batch.scores.dtype == torch.float64,
    )
    _walk(launcher, arguments)
    _eliminate(launcher, arguments)
    return heads


def _walk(launcher: Launcher, arguments: _WilsonArguments) -> None:
    side = int(arguments.side)
    threads = min(_WALKERS, launcher.threads_limit)
    blocks = arguments.sentences * -(-arguments.count // threads)
    walks, sums = rounded_up(side * threads * 2), side * (side | 1) * 8
    workspace = None
    arguments.workspace = None
    shared = walks + sums
    if shared > launcher.shared_limit:
        shared, blocks = walks, min(blocks, 4 * launcher.multiprocessors)
        workspace = launcher.empty((blocks * sums,), torch.uint8)
        arguments.workspace, arguments.slice = workspace.data_ptr(), sums
    launcher.launch("wilson.cu", "wilson_walk", arguments, blocks=blocks, threads=threads, shared=shared)


def _eliminate(launcher: Launcher, arguments: _WilsonArguments) -> None:
    """Sample by elimination where the walk took too long."""
    side = int(arguments.side)
    threads = min(_THREADS, launcher.threads_limit)
    arguments.slice = WIDE_NUMBER * (side * threads + _matrix_numbers(side - 1))
    most = max(1, min(launcher.multiprocessors, _WORKSPACE // arguments.slice))
    blocks = min(most, arguments.sentences * arguments.count)
    workspace = launcher.empty((blocks * arguments.slice,), torch.uint8)
    arguments.workspace = workspace.data_ptr()
    shared = rounded_up(32 + side * (WIDE_NUMBER + 8 + 4))
    launcher.launch("wilson.cu", "wilson_eliminate", arguments, blocks=blocks, threads=threads, shared=shared)


def _matrix_numbers(words: int) -> int:
    """Count the numbers of the systems of all levels; the first two have all words."""
    rows, numbers = words, words * (words + 1)
    while rows > 1:
        numbers += rows * (rows + 1)
        rows = (rows + 1) // 2
    return numbers + rows * (rows + 1)
