"""Matrix-Tree sums and their derivatives on a GPU: ``native/kernels/inference/matrix_tree*.cu``."""

from __future__ import annotations

import ctypes
from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor

from arcwise.torch.cuda.launcher import DOUBLE, DUAL, HYPER_DUAL, WIDE_NUMBER, Launcher, fields
from arcwise.torch.padded import Padded


class Short(NamedTuple):
    """A kernel ``matrix_tree_<words>.cu``."""

    words: int
    """Maximum number of words."""
    lanes: int
    """Threads for each half of a sentence."""
    threads: int
    """Threads per block."""
    bytes: int
    """Shared memory for each half of a sentence."""


SHORT = (
    Short(16, 16, 128, 3536),
    Short(32, 32, 128, 11_152),
    Short(64, 128, 128, 38_800),
    Short(128, 512, 512, 143_888),
)


class _MatrixTreeArguments(ctypes.Structure):
    _fields_ = fields(
        "scores first second lengths log_partition marginals unsafe workspace",
        "slice",
        "sentences side stride single_root in_double pieces",
    )


def log_partition(launcher: Launcher, batch: Padded) -> Tensor:
    """See ``TreeBackend.log_partition``."""
    result = launcher.empty(batch.lengths.shape, batch.scores.dtype)
    _sum_trees(launcher, batch, result, None)
    return result


def marginals(launcher: Launcher, batch: Padded) -> tuple[Tensor, Tensor]:
    """See ``TreeBackend.marginals``."""
    log_z = launcher.empty(batch.lengths.shape, batch.scores.dtype)
    result = launcher.empty(batch.scores.shape, batch.scores.dtype)
    _sum_trees(launcher, batch, log_z, result)
    return log_z, result


def marginals_jvp(launcher: Launcher, batch: Padded, direction: Tensor) -> Tensor:
    """See ``TreeBackend.marginals_jvp``."""
    return _derivative(launcher, batch, "matrix_tree_derivative", DUAL, direction, direction)


def marginals_second_derivative(launcher: Launcher, batch: Padded, first: Tensor, second: Tensor) -> Tensor:
    """See ``TreeBackend.marginals_second_derivative``."""
    return _derivative(launcher, batch, "matrix_tree_second_derivative", HYPER_DUAL, first, second)


def _sum_trees(launcher: Launcher, batch: Padded, log_z: Tensor, result: Tensor | None) -> None:
    """Sum in doubles, then again with a wider exponent for sentences that doubles were not safe for."""
    sentences = batch.lengths.shape[0]
    if not sentences:
        return
    arguments = _arguments(batch, halved=result is not None)
    arguments.log_partition = log_z.data_ptr()
    arguments.marginals = None if result is None else result.data_ptr()
    unsafe = launcher.empty((2 * sentences,), torch.int32)
    arguments.unsafe = unsafe.data_ptr()
    short = next((x for x in SHORT if x.words >= arguments.side - 1), None)
    if short and short.bytes <= launcher.shared_limit:
        _launch_short(launcher, short, arguments)
    elif _shared_bytes(arguments, DOUBLE) <= launcher.shared_limit:
        _launch(launcher, "matrix_tree.cu", "matrix_tree_plain", arguments, DOUBLE, None)
    else:
        most = 2 * launcher.multiprocessors
        _launch(
            launcher, "matrix_tree_long.cu", "matrix_tree_long", arguments, DOUBLE, most, most_threads=512
        )
    _launch(launcher, "matrix_tree.cu", "matrix_tree_wide", arguments, WIDE_NUMBER, launcher.multiprocessors)


def _launch_short(launcher: Launcher, short: Short, arguments: _MatrixTreeArguments) -> None:
    threads = min(short.threads, launcher.threads_limit)
    pieces = max(1, threads // short.lanes)
    arguments.pieces = pieces
    halves = arguments.sentences * (2 if arguments.marginals else 1)
    launcher.launch(
        f"matrix_tree_{short.words}.cu",
        f"matrix_tree_{short.words}",
        arguments,
        blocks=-(-halves // pieces),
        threads=threads,
        shared=pieces * short.bytes,
    )


def _derivative(
    launcher: Launcher, batch: Padded, kernel: str, number_bytes: int, first: Tensor, second: Tensor
) -> Tensor:
    result = launcher.empty(batch.scores.shape, batch.scores.dtype)
    if not len(batch.lengths):
        return result
    first, second = (x.to(batch.scores.dtype).contiguous() for x in (first, second))
    arguments = _arguments(batch, halved=True)
    arguments.first, arguments.second = first.data_ptr(), second.data_ptr()
    arguments.marginals = result.data_ptr()
    unsafe = launcher.empty((2 * len(batch.lengths),), torch.int32)
    arguments.unsafe = unsafe.data_ptr()
    most = 2 * launcher.multiprocessors
    _launch(launcher, "matrix_tree_derivatives.cu", kernel, arguments, number_bytes, most)
    return result


def _arguments(batch: Padded, *, halved: bool) -> _MatrixTreeArguments:
    sentences, side, _ = batch.scores.shape
    arguments = _MatrixTreeArguments()
    arguments.scores, arguments.lengths = batch.scores.data_ptr(), batch.lengths.data_ptr()
    arguments.sentences, arguments.side = sentences, side
    # Odd, so that the entries of a column are in different banks of shared memory.
    arguments.stride = _columns(side - 1, halved=halved) | 1
    arguments.single_root = batch.single_root
    arguments.in_double = batch.scores.dtype is torch.float64
    return arguments


@lru_cache(maxsize=1024)
def _columns(words: int, *, halved: bool) -> int:
    """Columns of the matrix of ``tree_elimination.cuh``: levels start after the kept states of the last."""
    roots, begin, states = 2, 0, words
    kept = (words + 1) // 2 if halved else 1
    columns = roots + states
    while states > 1:
        columns = max(columns, begin + roots + states, begin + roots + 2 * kept)
        begin, states, kept = begin + roots + kept, kept, (kept + 1) // 2
    return columns


def _shared_bytes(arguments: _MatrixTreeArguments, number_bytes: int, *, with_matrix: bool = True) -> int:
    """Bytes for flags, two numbers and a shift per word, and the matrix if it fits."""
    side, stride = int(arguments.side), int(arguments.stride)
    few = 32 + side * (2 * number_bytes + 8) + 8
    return few + (side * stride * number_bytes if with_matrix else 0)


def _launch(
    launcher: Launcher,
    source: str,
    kernel: str,
    arguments: _MatrixTreeArguments,
    number_bytes: int,
    most_blocks: int | None,
    most_threads: int = 256,
) -> None:
    pieces = arguments.sentences * (2 if arguments.marginals else 1)
    blocks = pieces if most_blocks is None else min(pieces, most_blocks)
    shared = _shared_bytes(arguments, number_bytes)
    arguments.workspace = None
    workspace = None
    if shared > launcher.shared_limit:
        shared = _shared_bytes(arguments, number_bytes, with_matrix=False)
        arguments.slice = arguments.side * arguments.stride * number_bytes
        workspace = launcher.empty((blocks * arguments.slice,), torch.uint8)
        arguments.workspace = workspace.data_ptr()
    threads = min(_threads(arguments.side - 1), most_threads, launcher.threads_limit)
    launcher.launch(source, kernel, arguments, blocks=blocks, threads=threads, shared=shared)


def _threads(words: int) -> int:
    """One warp for about twelve rows of the first level."""
    return 64 if words <= 24 else 128 if words <= 48 else 256 if words <= 160 else 512
