"""Eisner's algorithm on a GPU: sums and best trees over projective trees (``native/kernels/inference/eisner*.cu``).

The functions have the meaning of those of ``TreeBackend``. One block of threads does one sentence after the other. Its tables lie in shared
memory as far as they fit, the others in a workspace in global memory, a slice a block.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

import torch
from torch import Tensor

from arcwise.torch.cuda.launcher import Launcher
from arcwise.torch.padded import Padded

_DOUBLE, _WIDE, _DUAL, _HYPER_DUAL = 8, 16, 24, 40
"""Bytes of a number of ``cuda_number.cuh``."""


class _Arguments(ctypes.Structure):
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
    totals, unsafe = _totals(launcher, batch), _flags(launcher, batch)
    arguments = _arguments(batch, log_partition=totals, unsafe=unsafe)
    plain, wide = (_sum_plan(launcher, batch, size, squares=2, triangles=0) for size in (_DOUBLE, _WIDE))
    _run(launcher, "eisner.cu", "eisner_log_partition", batch, arguments, plain, wide)
    return totals


def marginals(launcher: Launcher, batch: Padded) -> tuple[Tensor, Tensor]:
    """log Z, (B,), and the probability of every arc, (B, N+1, N+1)."""
    totals, unsafe = _totals(launcher, batch), _flags(launcher, batch)
    answers = launcher.empty(batch.scores.shape, batch.scores.dtype)
    arguments = _arguments(batch, log_partition=totals, answers=answers, unsafe=unsafe)
    plain, wide = (_sum_plan(launcher, batch, size, squares=3, triangles=1) for size in (_DOUBLE, _WIDE))
    _run(launcher, "eisner.cu", "eisner_marginals", batch, arguments, plain, wide)
    return totals, answers


def marginals_slope(launcher: Launcher, batch: Padded, direction: Tensor) -> Tensor:
    """The derivative of the marginals at scores + ε · direction by ε, (B, N+1, N+1)."""
    answers = launcher.empty(batch.scores.shape, batch.scores.dtype)
    first = direction.to(batch.scores.dtype).contiguous()
    arguments = _arguments(batch, first=first, log_partition=_totals(launcher, batch), answers=answers)
    plan = _sum_plan(launcher, batch, _DUAL, squares=3, triangles=1)
    _run(launcher, "eisner_derivatives.cu", "eisner_marginals_slope", batch, arguments, plan)
    return answers


def marginals_bend(launcher: Launcher, batch: Padded, first: Tensor, second: Tensor) -> Tensor:
    """The derivative of the marginals at scores + ε · first + δ · second by ε and δ, (B, N+1, N+1)."""
    answers = launcher.empty(batch.scores.shape, batch.scores.dtype)
    first, second = (direction.to(batch.scores.dtype).contiguous() for direction in (first, second))
    arguments = _arguments(
        batch, first=first, second=second, log_partition=_totals(launcher, batch), answers=answers
    )
    plan = _sum_plan(launcher, batch, _HYPER_DUAL, squares=3, triangles=1)
    _run(launcher, "eisner_derivatives.cu", "eisner_marginals_bend", batch, arguments, plan)
    return answers


def decode(launcher: Launcher, batch: Padded) -> tuple[Tensor, Tensor]:
    """The heads of the best tree, (B, N+1), int64, and its score, (B,). Among equals, that of the CPU's kernel."""
    scores = _totals(launcher, batch)
    heads = launcher.empty(batch.scores.shape[:2], torch.int64)
    plan = _sum_plan(launcher, batch, _DOUBLE, squares=2, triangles=0)
    arguments = _arguments(batch, log_partition=scores, heads=heads)
    _run(launcher, "eisner_decode.cu", "eisner_decode", batch, arguments, plan)
    return heads, scores


K_BEST_LIMIT = 32
"""The most trees that ``k_best`` can give."""


def k_best(launcher: Launcher, batch: Padded, k: int) -> tuple[Tensor, Tensor]:
    """The k best trees, best first: heads, (B, k, N+1), int64, and scores, (B, k). k is at most ``K_BEST_LIMIT``."""
    sentences, side, _ = batch.scores.shape
    scores = launcher.empty((sentences, k), batch.scores.dtype)
    heads = launcher.empty((sentences, k, side), torch.int64)
    if k == 0:
        return heads, scores
    threads = _threads(launcher, sentences, side - 1)
    lists = side * side + (side - 1) * side // 2
    workspace = k * (8 * side + 12 * lists)
    plan = _plan(launcher, batch, threads, _scratch(side - 1, threads), workspace, most=_LIST_WORKSPACE)
    arguments = _arguments(batch, log_partition=scores, heads=heads)
    arguments[0].count = k
    _run(launcher, "eisner_k_best.cu", "eisner_k_best", batch, arguments, plan)
    return heads, scores


def sample(launcher: Launcher, batch: Padded, count: int, seed: int) -> Tensor:
    """``count`` draws of each sentence, (count, B, N+1), int64."""
    sentences, side, _ = batch.scores.shape
    heads = launcher.empty((count, sentences, side), torch.int64)
    if count == 0:
        return heads
    arguments = _arguments(batch, heads=heads, unsafe=_flags(launcher, batch))
    arguments[0].count, arguments[0].seed = count, seed
    plain, wide = (_sum_plan(launcher, batch, size, squares=2, triangles=0) for size in (_DOUBLE, _WIDE))
    _run(launcher, "eisner_sample.cu", "eisner_sample", batch, arguments, plain, wide)
    return heads


def _totals(launcher: Launcher, batch: Padded) -> Tensor:
    return launcher.empty((len(batch.scores),), batch.scores.dtype)


def _flags(launcher: Launcher, batch: Padded) -> Tensor:
    return launcher.empty((len(batch.scores),), torch.int32)


@dataclass(frozen=True)
class _Plan:
    """How a kernel is launched."""

    blocks: int
    threads: int
    shared: int
    """Bytes of shared memory a block."""
    workspace: int
    """Bytes of global memory a block."""


def _sum_plan(launcher: Launcher, batch: Padded, size: int, squares: int, triangles: int) -> _Plan:
    """A launch with tables of numbers of ``size`` bytes: ``squares`` of n+1 rows and ``triangles`` of n/2+1, see ``EisnerTables``."""
    words = batch.scores.shape[1] - 1
    threads = _threads(launcher, len(batch.scores), words)
    row = _stride(words) * size
    square, triangle = (words + 1) * row, (words // 2 + 1) * row
    tables = [square, square, triangle, square] if triangles else [square] * squares
    shared = _scratch(words, threads)
    while tables and shared + tables[0] <= launcher.shared_limit:
        shared += tables.pop(0)
    return _plan(launcher, batch, threads, shared, sum(tables))


def _plan(
    launcher: Launcher, batch: Padded, threads: int, shared: int, workspace: int, most: int | None = None
) -> _Plan:
    """As many blocks as there are sentences; where they need a workspace, as many as can run at once and as it may have: ``most`` bytes."""
    blocks = len(batch.scores)
    if workspace:
        workspace = -(-workspace // 16) * 16
        room = most or max(_WORKSPACE_SHARE * batch.scores.numel(), _SMALL_WORKSPACE)
        blocks = max(1, min(blocks, 2 * launcher.multiprocessors, room // workspace))
    return _Plan(blocks, threads, shared, workspace)


_WORKSPACE_SHARE = 9
"""Bytes of workspace for each score: 2¼ times the scores, where these are float32. For 100 words, one table of doubles (8.5 bytes a score)."""
_SMALL_WORKSPACE = 1 << 22
_LIST_WORKSPACE = 1 << 28
"""For lists of k best: a block has 6 MB of them for 100 words and k = 32."""


def _threads(launcher: Launcher, sentences: int, words: int) -> int:
    """Four lanes a cell of the narrowest width; more where multiprocessors would idle otherwise."""
    lanes = 8 if sentences <= launcher.multiprocessors else 4
    return min(launcher.threads_limit, 512, max(64, -(-lanes * (words + 1) // 64) * 64))


def _stride(words: int) -> int:
    """``eisner_stride``."""
    return words + 1 + (10 - words % 8) % 8


def _scratch(words: int, threads: int) -> int:
    """The bytes of ``EisnerScratch``."""
    return -(-(64 + 8 * (words + 1 + threads)) // 16) * 16


def _arguments(batch: Padded, **tensors: Tensor) -> tuple[_Arguments, dict[str, Tensor]]:
    """The arguments of a kernel, and the tensors that they point to, which must live until the launch."""
    tensors |= {"scores": batch.scores, "lengths": batch.lengths}
    if len(batch.span_starts) > 0:
        tensors |= {"span_ends": batch.span_ends, "span_starts": batch.span_starts}
    arguments = _Arguments(batch=len(batch.scores), side=batch.scores.shape[1], single_root=batch.single_root)
    for name, tensor in tensors.items():
        setattr(arguments, name, tensor.data_ptr())
    return arguments, tensors


def _run(
    launcher: Launcher,
    source: str,
    kernel: str,
    batch: Padded,
    filled: tuple[_Arguments, dict[str, Tensor]],
    plan: _Plan,
    wide: _Plan | None = None,
) -> None:
    """Launch a kernel, and after it, where there is one, that for the sentences that were found unsafe."""
    if len(batch.scores) == 0:
        return
    arguments, _ = filled
    plans = [(kernel, plan)] if wide is None else [(kernel, plan), (f"{kernel}_wide", wide)]
    workspace = launcher.empty((max(p.blocks * p.workspace for _, p in plans),), torch.uint8)
    arguments.workspace = workspace.data_ptr()
    scalar = "float" if batch.scores.dtype == torch.float32 else "double"
    for name, p in plans:
        arguments.workspace_bytes, arguments.shared_bytes = p.workspace, p.shared
        launcher.launch(
            source, f"{name}_{scalar}", arguments, blocks=p.blocks, threads=p.threads, shared=p.shared
        )
