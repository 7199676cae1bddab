"""Eisner's algorithm with siblings on a GPU: ``native/kernels/factors/eisner_siblings*.cu``.

For the functions see ``SiblingBackend``. Each block of threads loops over sentences; its tables are in shared
memory if they fit, else in a workspace in global memory, one slice per block."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from arcwise.torch.cuda.eisner import block_threads, row_stride, scratch_bytes
from arcwise.torch.cuda.launcher import DOUBLE, DUAL, HYPER_DUAL, WIDE_NUMBER, Launcher, fields
from arcwise.torch.padded import PaddedSiblings


class _SiblingArguments(ctypes.Structure):
    """``SiblingArguments`` of ``eisner_siblings_sentence.cuh``."""

    _fields_ = fields(
        "scores siblings lengths first first_siblings second second_siblings log_partition arcs pairs heads "
        "unsafe workspace",
        "workspace_bytes",
        "batch side single_root shared_bytes",
    )


def log_partition(launcher: Launcher, batch: PaddedSiblings) -> Tensor:
    """See ``SiblingBackend.sibling_log_partition``."""
    totals = _totals(launcher, batch)
    plans = [_plan(launcher, batch, size, adjoints=False) for size in (DOUBLE, WIDE_NUMBER)]
    _run(launcher, "eisner_siblings", "log_partition", batch, plans, log_partition=totals)
    return totals


def marginals(launcher: Launcher, batch: PaddedSiblings) -> tuple[Tensor, Tensor, Tensor]:
    """See ``SiblingBackend.sibling_marginals``."""
    totals, arcs, pairs = _totals(launcher, batch), *_answers(launcher, batch)
    plans = [_plan(launcher, batch, size, adjoints=True) for size in (DOUBLE, WIDE_NUMBER)]
    _run(
        launcher,
        "eisner_siblings",
        "marginals",
        batch,
        plans,
        log_partition=totals,
        arcs=arcs,
        pairs=pairs,
    )
    return totals, arcs, pairs


def derivatives(launcher: Launcher, batch: PaddedSiblings, *directions: Tensor) -> tuple[Tensor, Tensor]:
    """See ``SiblingBackend.sibling_marginals_jvp``, for one direction, and
    ``sibling_marginals_second_derivative``, for two."""
    totals, (arcs, pairs) = _totals(launcher, batch), _answers(launcher, batch)
    names = "first", "first_siblings", "second", "second_siblings"
    pointers = dict(zip(names, batch.directions(*directions), strict=False))
    operation, size = ("jvp", DUAL) if len(directions) == 2 else ("second_derivative", HYPER_DUAL)
    plan = _plan(launcher, batch, size, adjoints=True)
    _run(
        launcher,
        "eisner_siblings_derivatives",
        f"marginals_{operation}",
        batch,
        [plan],
        log_partition=totals,
        arcs=arcs,
        pairs=pairs,
        **pointers,
    )
    return arcs, pairs


def decode(launcher: Launcher, batch: PaddedSiblings) -> tuple[Tensor, Tensor]:
    """See ``SiblingBackend.sibling_decode``."""
    totals, heads = _totals(launcher, batch), launcher.empty(batch.scores.shape[:2], torch.int64)
    plan = _plan(launcher, batch, DOUBLE, adjoints=False)
    _run(launcher, "eisner_siblings_decode", "decode", batch, [plan], log_partition=totals, heads=heads)
    return heads, totals


def _totals(launcher: Launcher, batch: PaddedSiblings) -> Tensor:
    return launcher.empty(batch.scores.shape[:1], torch.float64)


def _answers(launcher: Launcher, batch: PaddedSiblings) -> tuple[Tensor, Tensor]:
    dtype = batch.scores.dtype
    return launcher.empty(batch.scores.shape, dtype), launcher.empty(batch.siblings.shape, dtype)


@dataclass(frozen=True)
class _SiblingPlan:
    """Launch configuration of a kernel."""

    blocks: int
    threads: int
    shared: int
    """Bytes of shared memory per block."""
    workspace: int
    """Bytes of global memory per block."""


def _plan(launcher: Launcher, batch: PaddedSiblings, size: int, *, adjoints: bool) -> _SiblingPlan:
    """Plan a launch with tables of numbers of ``size`` bytes, see ``SiblingTables``."""
    sentences, side, _ = batch.scores.shape
    limits = launcher.multiprocessors, launcher.threads_limit, launcher.shared_limit
    return _table_plan(*limits, sentences, side - 1, size, adjoints)


@lru_cache(maxsize=1024)
def _table_plan(
    multiprocessors: int,
    most_threads: int,
    most_shared: int,
    sentences: int,
    words: int,
    size: int,
    adjoints: bool,
) -> _SiblingPlan:
    """Put the tables into shared memory if they all fit, else into the workspace."""
    threads = block_threads(multiprocessors, most_threads, sentences, words)
    row = row_stride(words) * size
    tables = (2 * (words + 1) + words // 2 + 1) * row * (2 if adjoints else 1)
    shared = scratch_bytes(words, threads)
    if shared + tables <= most_shared:
        blocks, shared, workspace = sentences, shared + tables, 0
    else:
        blocks, workspace = min(sentences, 2 * multiprocessors), tables
    if size != DOUBLE:  # wide numbers: usually no sentence needs them
        blocks = min(blocks, 4 * multiprocessors)
    return _SiblingPlan(blocks, threads, shared, workspace)


def _run(
    launcher: Launcher,
    source: str,
    operation: str,
    batch: PaddedSiblings,
    plans: list[_SiblingPlan],
    **pointers: Tensor,
) -> None:
    """Launch a kernel, then its wide variant, if there are two plans, for sentences that overflowed.

    Their flags end the workspace. ``pointers``: results and directions, by field of the kernel's struct.
    """
    sentences, side, _ = batch.scores.shape
    if sentences == 0:
        return
    size = max(plan.blocks * plan.workspace for plan in plans)
    workspace = launcher.empty((size + 4 * sentences,), torch.uint8)
    arguments = _SiblingArguments()
    arguments.scores, arguments.siblings = batch.scores.data_ptr(), batch.siblings.data_ptr()
    arguments.lengths = batch.lengths.data_ptr()
    for field, tensor in pointers.items():
        setattr(arguments, field, tensor.data_ptr())
    arguments.workspace = workspace.data_ptr()
    arguments.unsafe = arguments.workspace + size
    arguments.batch, arguments.side, arguments.single_root = sentences, side, batch.single_root
    scalar = "float" if batch.scores.dtype is torch.float32 else "double"
    for plan, variant in zip(plans, ("", "wide_"), strict=False):
        arguments.workspace_bytes, arguments.shared_bytes = plan.workspace, plan.shared
        launcher.launch(
            f"{source}.cu",
            f"eisner_siblings_{operation}_{variant}{scalar}",
            arguments,
            blocks=plan.blocks,
            threads=plan.threads,
            shared=plan.shared,
        )
