"""Eisner's algorithm on a GPU: sums and best trees over projective trees (``native/kernels/inference/eisner*.cu``).

The functions have the meaning of those of ``TreeBackend``. One block of threads does one sentence after the other. Its tables lie in shared
memory as far as they fit, the others in a workspace in global memory, a slice a block.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from arcwise.torch.cuda.launcher import DOUBLE, DUAL, HYPER_DUAL, WIDE_NUMBER, Launcher
from arcwise.torch.padded import Padded


class _EisnerArguments(ctypes.Structure):
    """``EisnerArguments`` of ``eisner_sentence.cuh``."""

    _fields_ = [
        *(
            (name, ctypes.c_void_p)
            for name in (
                "scores",
                "lengths",
                "span_ends",
                "span_starts",
                "first",
                "second",
                "log_partition",
                "answers",
                "heads",
                "unsafe",
                "workspace",
            )
        ),
        ("workspace_bytes", ctypes.c_int64),
        ("seed", ctypes.c_int64),
        *((name, ctypes.c_int32) for name in ("batch", "side", "single_root", "shared_bytes", "count")),
    ]


def log_partition(launcher: Launcher, batch: Padded) -> Tensor:
    """log Z, (B,)."""
    totals = _totals(launcher, batch)
    plain, wide = _sum_plans(launcher, batch, 2)
    _run(launcher, "eisner.cu", "eisner_log_partition", batch, plain, wide, totals=totals)
    return totals


def marginals(launcher: Launcher, batch: Padded) -> tuple[Tensor, Tensor]:
    """log Z, (B,), and the probability of every arc, (B, N+1, N+1)."""
    totals, answers = _totals(launcher, batch), _answers(launcher, batch)
    plain, wide = _sum_plans(launcher, batch, 4)
    _run(launcher, "eisner.cu", "eisner_marginals", batch, plain, wide, totals=totals, answers=answers)
    return totals, answers


def marginals_jvp(launcher: Launcher, batch: Padded, direction: Tensor) -> Tensor:
    """The derivative of the marginals at scores + ε · direction by ε, (B, N+1, N+1)."""
    totals, answers = _totals(launcher, batch), _answers(launcher, batch)
    first = _direction(batch, direction)
    plan = _sum_plan(launcher, batch, DUAL, 4)
    source = "eisner_derivatives.cu"
    _run(launcher, source, "eisner_marginals_jvp", batch, plan, totals=totals, answers=answers, first=first)
    return answers


def marginals_second_derivative(launcher: Launcher, batch: Padded, first: Tensor, second: Tensor) -> Tensor:
    """The derivative of the marginals at scores + ε · first + δ · second by ε and δ, (B, N+1, N+1)."""
    totals, answers = _totals(launcher, batch), _answers(launcher, batch)
    first, second = _direction(batch, first), _direction(batch, second)
    plan = _sum_plan(launcher, batch, HYPER_DUAL, 4)
    _run(
        launcher,
        "eisner_derivatives.cu",
        "eisner_marginals_second_derivative",
        batch,
        plan,
        totals=totals,
        answers=answers,
        first=first,
        second=second,
    )
    return answers


def decode(launcher: Launcher, batch: Padded) -> tuple[Tensor, Tensor]:
    """The heads of the best tree, (B, N+1), int64, and its score, (B,). Among equals, that of the CPU's kernel."""
    scores = _totals(launcher, batch)
    heads = launcher.empty(batch.scores.shape[:2], torch.int64)
    plan = _sum_plan(launcher, batch, DOUBLE, 2)
    _run(launcher, "eisner_decode.cu", "eisner_decode", batch, plan, totals=scores, heads=heads)
    return heads, scores


LARGEST_K = 32
"""The most trees that ``k_best`` can give."""


def k_best(launcher: Launcher, batch: Padded, k: int) -> tuple[Tensor, Tensor]:
    """The k best trees, best first: heads, (B, k, N+1), int64, and scores, (B, k). k is at most ``LARGEST_K``."""
    sentences, side, _ = batch.scores.shape
    scores = launcher.empty((sentences, k), batch.scores.dtype)
    heads = launcher.empty((sentences, k, side), torch.int64)
    if k == 0:
        return heads, scores
    plan = _list_plan(launcher.multiprocessors, launcher.threads_limit, sentences, side - 1, k)
    _run(launcher, "eisner_k_best.cu", "eisner_k_best", batch, plan, totals=scores, heads=heads, count=k)
    return heads, scores


def sample(launcher: Launcher, batch: Padded, count: int, seed: int) -> Tensor:
    """``count`` draws of each sentence, (count, B, N+1), int64."""
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
    """How a kernel is launched."""

    blocks: int
    threads: int
    shared: int
    """Bytes of shared memory a block."""
    workspace: int
    """Bytes of global memory a block."""


_WORKSPACE_SHARE = 9
"""Bytes of workspace for each score: 2¼ times the scores, where these are float32. For 100 words, one table of doubles (8.5 bytes a score)."""
_SMALL_WORKSPACE = 1 << 22
_LIST_WORKSPACE = 1 << 28
"""For lists of k best: a block has 6 MB of them for 100 words and k = 32."""


def _sum_plan(launcher: Launcher, batch: Padded, size: int, tables: int) -> _EisnerPlan:
    """A launch with 2 or 4 tables of numbers of ``size`` bytes, see ``EisnerTables``."""
    return _table_plans(*_sizes(launcher, batch), tables, size)[0]


def _sum_plans(launcher: Launcher, batch: Padded, tables: int) -> tuple[_EisnerPlan, ...]:
    """That with doubles, and that with numbers of any size."""
    return _table_plans(*_sizes(launcher, batch), tables, DOUBLE, WIDE_NUMBER)


def _sizes(launcher: Launcher, batch: Padded) -> tuple[int, int, int, int, int]:
    sentences, side, _ = batch.scores.shape
    return (
        launcher.multiprocessors,
        launcher.threads_limit,
        launcher.shared_limit,
        sentences,
        side - 1,
    )


@lru_cache(maxsize=1024)
def _table_plans(
    multiprocessors: int,
    most_threads: int,
    most_shared: int,
    sentences: int,
    words: int,
    tables: int,
    *sizes: int,
) -> tuple[_EisnerPlan, ...]:
    """One for numbers of each of the sizes."""
    limits = multiprocessors, most_threads, most_shared
    return tuple(_table_plan(*limits, sentences, words, size, tables) for size in sizes)


def _table_plan(
    multiprocessors: int,
    most_threads: int,
    most_shared: int,
    sentences: int,
    words: int,
    size: int,
    tables: int,
) -> _EisnerPlan:
    """As many tables as fit lie in shared memory, in their order, the others in the workspace."""
    threads = _threads(multiprocessors, most_threads, sentences, words)
    row = _stride(words) * size
    square, triangle = (words + 1) * row, (words // 2 + 1) * row
    left = [square, square, triangle, square][:tables]
    shared = _scratch(words, threads)
    while left and shared + left[0] <= most_shared:
        shared += left.pop(0)
    room = max(_WORKSPACE_SHARE * sentences * (words + 1) ** 2, _SMALL_WORKSPACE)
    blocks = _blocks(multiprocessors, sentences, sum(left), room)
    if size != DOUBLE:  # mostly there is nothing to do
        blocks = min(blocks, 4 * multiprocessors)
    return _EisnerPlan(blocks, threads, shared, sum(left))


@lru_cache(maxsize=1024)
def _list_plan(multiprocessors: int, most_threads: int, sentences: int, words: int, k: int) -> _EisnerPlan:
    """Lists of k best in the workspace, see ``EisnerLists``."""
    threads = _threads(multiprocessors, most_threads, sentences, words)
    side = words + 1
    lists = side * side + words * side // 2
    workspace = _rounded_up(k * (8 * side + 12 * lists), 16)
    blocks = _blocks(multiprocessors, sentences, workspace, _LIST_WORKSPACE)
    return _EisnerPlan(blocks, threads, _scratch(words, threads), workspace)


def _blocks(multiprocessors: int, sentences: int, workspace: int, room: int) -> int:
    """One a sentence; with a workspace, as many as can run at once and find room."""
    if not workspace:
        return sentences
    return max(1, min(sentences, 2 * multiprocessors, room // workspace))


def _threads(multiprocessors: int, most: int, sentences: int, words: int) -> int:
    """Four lanes a cell of the narrowest width; more where a multiprocessor has one block alone."""
    is_alone = sentences <= multiprocessors or words > 56
    return min(most, 512, max(64, _rounded_up((8 if is_alone else 4) * (words + 1), 64)))


def _rounded_up(number: int, to: int) -> int:
    return -(-number // to) * to


def _stride(words: int) -> int:
    """``eisner_stride``."""
    return words + 1 + (10 - words % 8) % 8


def _scratch(words: int, threads: int) -> int:
    """The bytes of ``EisnerScratch``."""
    return _rounded_up(64 + 8 * (words + 1 + threads), 16)


def _run(
    launcher: Launcher,
    source: str,
    kernel: str,
    batch: Padded,
    plan: _EisnerPlan,
    wide: _EisnerPlan | None = None,
    *,
    totals: Tensor | None = None,
    answers: Tensor | None = None,
    heads: Tensor | None = None,
    first: Tensor | None = None,
    second: Tensor | None = None,
    count: int = 0,
    seed: int = 0,
) -> None:
    """Launch a kernel, and after it, where there is one, that for the sentences that were found unsafe. Their flags end the workspace."""
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
    if first is not None:
        arguments.first = first.data_ptr()
    if second is not None:
        arguments.second = second.data_ptr()
    if totals is not None:
        arguments.log_partition = totals.data_ptr()
    if answers is not None:
        arguments.answers = answers.data_ptr()
    if heads is not None:
        arguments.heads = heads.data_ptr()
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
