"""Eisner's algorithm on a GPU: ``native/kernels/inference/eisner*.cu``.

For the functions see ``TreeBackend``.

Each block of threads loops over sentences. Its tables are in shared memory as far as they fit; the others are
in a workspace in global memory, one slice per block."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from arcwise.torch.cuda.launcher import DOUBLE, DUAL, HYPER_DUAL, WIDE_NUMBER, Launcher, fields, rounded_up
from arcwise.torch.padded import Padded


class _EisnerArguments(ctypes.Structure):
    """``EisnerArguments`` of ``eisner_sentence.cuh``."""

    _fields_ = fields(
        "scores lengths span_ends span_starts first second log_partition answers heads unsafe workspace",
        "workspace_bytes seed",
        "batch side single_root shared_bytes count",
    )


def log_partition(launcher: Launcher, batch: Padded) -> Tensor:
    """See ``TreeBackend.log_partition``."""
    totals = _totals(launcher, batch)
    plain, wide = _sum_plans(launcher, batch, 2)
    _run(launcher, "eisner.cu", "eisner_log_partition", batch, plain, wide, log_partition=totals)
    return totals


def marginals(launcher: Launcher, batch: Padded) -> tuple[Tensor, Tensor]:
    """See ``TreeBackend.marginals``."""
    totals, answers = _totals(launcher, batch), _answers(launcher, batch)
    plain, wide = _sum_plans(launcher, batch, 4)
    _run(launcher, "eisner.cu", "eisner_marginals", batch, plain, wide, log_partition=totals, answers=answers)
    return totals, answers


def marginals_jvp(launcher: Launcher, batch: Padded, direction: Tensor) -> Tensor:
    """See ``TreeBackend.marginals_jvp``."""
    totals, answers = _totals(launcher, batch), _answers(launcher, batch)
    first = _direction(batch, direction)
    plan = _sum_plan(launcher, batch, DUAL, 4)
    source = "eisner_derivatives.cu"
    _run(
        launcher,
        source,
        "eisner_marginals_jvp",
        batch,
        plan,
        log_partition=totals,
        answers=answers,
        first=first,
    )
    return answers


def marginals_second_derivative(launcher: Launcher, batch: Padded, first: Tensor, second: Tensor) -> Tensor:
    """See ``TreeBackend.marginals_second_derivative``."""
    totals, answers = _totals(launcher, batch), _answers(launcher, batch)
    first, second = _direction(batch, first), _direction(batch, second)
    plan = _sum_plan(launcher, batch, HYPER_DUAL, 4)
    pointers: dict[str, Any] = {"log_partition": totals, "answers": answers, "first": first, "second": second}
    _run(launcher, "eisner_derivatives.cu", "eisner_marginals_second_derivative", batch, plan, **pointers)
    return answers


def decode(launcher: Launcher, batch: Padded) -> tuple[Tensor, Tensor]:
    """See ``TreeBackend.decode``. Ties are broken as in the CPU kernel."""
    scores = _totals(launcher, batch)
    heads = launcher.empty(batch.scores.shape[:2], torch.int64)
    plan = _sum_plan(launcher, batch, DOUBLE, 2)
    _run(launcher, "eisner_decode.cu", "eisner_decode", batch, plan, log_partition=scores, heads=heads)
    return heads, scores


LARGEST_K = 32
"""Largest k of ``k_best``."""


def k_best(launcher: Launcher, batch: Padded, k: int) -> tuple[Tensor, Tensor]:
    """See ``TreeBackend.k_best``; k is at most ``LARGEST_K``."""
    sentences, side, _ = batch.scores.shape
    scores = launcher.empty((sentences, k), batch.scores.dtype)
    heads = launcher.empty((sentences, k, side), torch.int64)
    if k == 0:
        return heads, scores
    plan = _list_plan(launcher.multiprocessors, launcher.threads_limit, sentences, side - 1, k)
    _run(
        launcher, "eisner_k_best.cu", "eisner_k_best", batch, plan, log_partition=scores, heads=heads, count=k
    )
    return heads, scores


def sample(launcher: Launcher, batch: Padded, count: int, seed: int) -> Tensor:
    """See ``TreeBackend.sample``."""
    sentences, side, _ = batch.scores.shape
    heads = launcher.empty((count, sentences, side), torch.int64)
    if count == 0:
        return heads
    plain, wide = _sum_plans(launcher, batch, 2)
    _run(
        launcher, "eisner_sample.cu", "eisner_sample", batch, plain, wide, heads=heads, count=count, seed=seed
    )
    return heads


def _totals(launcher: Launcher, batch: Padded) -> Tensor:
    return launcher.empty(batch.scores.shape[:1], batch.scores.dtype)


def _answers(launcher: Launcher, batch: Padded) -> Tensor:
    return launcher.empty(batch.scores.shape, batch.scores.dtype)


def _direction(batch: Padded, direction: Tensor) -> Tensor:
    return direction.to(batch.scores.dtype).contiguous()


@dataclass(frozen=True)
class _EisnerPlan:
    """Launch configuration of a kernel."""

    blocks: int
    threads: int
    shared: int
    """Bytes of shared memory per block."""
    workspace: int
    """Bytes of global memory per block."""


_WORKSPACE_SHARE = 9
"""Bytes of workspace per score: 2¼ times float32 scores.

Enough for a table of doubles at 100 words (8.5 bytes a score).
"""
_SMALL_WORKSPACE = 1 << 22
_LIST_WORKSPACE = 1 << 28
"""For k-best lists: a block has 6 MB of them for 100 words and k = 32."""


def _sum_plan(launcher: Launcher, batch: Padded, size: int, tables: int) -> _EisnerPlan:
    """Plan a launch with 2 or 4 tables of numbers of ``size`` bytes, see ``EisnerTables``."""
    sentences, side, _ = batch.scores.shape
    limits = launcher.multiprocessors, launcher.threads_limit, launcher.shared_limit
    return _table_plan(*limits, sentences, side - 1, size, tables)


def _sum_plans(launcher: Launcher, batch: Padded, tables: int) -> tuple[_EisnerPlan, _EisnerPlan]:
    """Plan the launch with doubles, and the one with wide numbers."""
    plain, wide = (_sum_plan(launcher, batch, size, tables) for size in (DOUBLE, WIDE_NUMBER))
    return plain, wide


@lru_cache(maxsize=1024)
def _table_plan(
    multiprocessors: int,
    most_threads: int,
    most_shared: int,
    sentences: int,
    words: int,
    size: int,
    tables: int,
) -> _EisnerPlan:
    """Put as many tables as fit into shared memory, in order, and the others into the workspace."""
    threads = block_threads(multiprocessors, most_threads, sentences, words)
    row = row_stride(words) * size
    square, triangle = (words + 1) * row, (words // 2 + 1) * row
    left = [square, square, triangle, square][:tables]
    shared = scratch_bytes(words, threads)
    while left and shared + left[0] <= most_shared:
        shared += left.pop(0)
    room = max(_WORKSPACE_SHARE * sentences * (words + 1) ** 2, _SMALL_WORKSPACE)
    blocks = _blocks(multiprocessors, sentences, sum(left), room)
    if size != DOUBLE:  # wide numbers: usually no sentence needs them
        blocks = min(blocks, 4 * multiprocessors)
    return _EisnerPlan(blocks, threads, shared, sum(left))


@lru_cache(maxsize=1024)
def _list_plan(multiprocessors: int, most_threads: int, sentences: int, words: int, k: int) -> _EisnerPlan:
    """Plan k-best lists in the workspace, see ``EisnerLists``."""
    threads = block_threads(multiprocessors, most_threads, sentences, words)
    side = words + 1
    lists = side * side + words * side // 2
    workspace = rounded_up(k * (8 * side + 12 * lists), 16)
    blocks = _blocks(multiprocessors, sentences, workspace, _LIST_WORKSPACE)
    return _EisnerPlan(blocks, threads, scratch_bytes(words, threads), workspace)


def _blocks(multiprocessors: int, sentences: int, workspace: int, room: int) -> int:
    """One block per sentence; with a workspace, as many as run concurrently and fit."""
    if not workspace:
        return sentences
    return max(1, min(sentences, 2 * multiprocessors, room // workspace))


def block_threads(multiprocessors: int, most: int, sentences: int, words: int) -> int:
    """Four threads per cell of the narrowest width; eight if a multiprocessor has only one block."""
    is_alone = sentences <= multiprocessors or words > 56
    return min(most, 512, max(64, rounded_up((8 if is_alone else 4) * (words + 1), 64)))


def row_stride(words: int) -> int:
    """``eisner_stride``."""
    return words + 1 + (10 - words % 8) % 8


def scratch_bytes(words: int, threads: int) -> int:
    """The bytes of ``EisnerScratch``."""
    return rounded_up(64 + 8 * (words + 1 + threads), 16)


def _run(
    launcher: Launcher,
    source: str,
    kernel: str,
    batch: Padded,
    plan: _EisnerPlan,
    wide: _EisnerPlan | None = None,
    *,
    count: int = 0,
    seed: int = 0,
    **pointers: Tensor,
) -> None:
    """Launch a kernel, then its wide variant, if any, for sentences that overflowed.

    Their flags end the workspace. ``pointers``: results and directions, by field of the kernel's struct.
    """
    scores = batch.scores
    sentences, side, _ = scores.shape
    if sentences == 0:
        return
    size = plan.blocks * plan.workspace
    if wide is not None:
        size = max(size, wide.blocks * wide.workspace)
    workspace = launcher.empty((size + 4 * sentences,), torch.uint8)
    start = workspace.data_ptr()
    arguments = _EisnerArguments()
    arguments.scores, arguments.lengths = scores.data_ptr(), batch.lengths.data_ptr()
    if batch.span_starts.shape[0]:
        arguments.span_ends, arguments.span_starts = batch.span_ends.data_ptr(), batch.span_starts.data_ptr()
    for field, tensor in pointers.items():
        setattr(arguments, field, tensor.data_ptr())
    arguments.unsafe, arguments.workspace = start + size, start
    arguments.batch, arguments.side, arguments.single_root = sentences, side, batch.single_root
    arguments.count, arguments.seed = count, seed
    scalar = "float" if scores.dtype is torch.float32 else "double"
    names = f"{kernel}_{scalar}", f"{kernel}_wide_{scalar}"
    for name, each in zip(names, (plan, wide), strict=True):
        if each is not None:
            arguments.workspace_bytes, arguments.shared_bytes = each.workspace, each.shared
            launcher.launch(
                source, name, arguments, blocks=each.blocks, threads=each.threads, shared=each.shared
            )
