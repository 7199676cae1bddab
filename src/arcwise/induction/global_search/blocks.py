"""Upper bound for a large corpus: the sum of the upper bounds of blocks of its sentences.

Blocks are searched independently and in parallel, each with separate parameters, so the sum of their bounds
bounds the corpus; their certificates together form its certificate. A posterior constraint applies to the
incumbent only; blocks are bounded without it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from arcwise.engine import Engine, Processes
from arcwise.errors import ConstraintError, InputError
from arcwise.induction.corpus import TagSentences
from arcwise.induction.global_search.certificate import BLOCKS_KIND, SCALE, VERSION
from arcwise.induction.global_search.count import CountSearch
from arcwise.induction.global_search.options import CountOptions
from arcwise.induction.global_search.problem import Incumbent, InductionTask, ProgressCallback, TracePoint

_EM_SHARE = 0.25
"""Share of the time spent on the incumbent."""
_BLOCK_RESTARTS = 200
"""Viterbi EM restarts per block at most: in a block the bound matters, not the parses."""


def bound_by_blocks(
    task: InductionTask,
    *,
    block_size: int,
    time_limit: float,
    epsilon: float = 0.01,
    seed: int = 0,
    processes: int = 1,
    engine: Engine | None = None,
    options: CountOptions = CountOptions(),
    progress: ProgressCallback | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> tuple[Incumbent, list[TracePoint], dict[str, Any]]:
    """Return the incumbent, the trace of the bounds and the certificate, in about ``time_limit`` seconds.

    ``processes``: number of blocks searched in parallel. ``engine``: where (default: processes of this
    machine).
    """
    if block_size < 1:
        raise InputError(f"blocks: found {block_size}, expected at least one sentence per block")
    if task.constraint is not None:
        task.constraint.check(task.corpus)
    began = time.monotonic()
    sentences = task.corpus.strings
    parts = [sentences[a : a + block_size] for a in range(0, len(sentences), block_size)]
    best = Incumbent(task)
    climb(best, seconds=time_limit * _EM_SHARE, seed=seed)
    if best.heads is None:
        raise ConstraintError(
            "share: no restart found parses that satisfy the constraint; try a longer time limit"
        )
    left = max(time_limit - (time.monotonic() - began), 0.0)
    each = left * processes / len(parts)
    uppers = np.zeros(len(parts))  # no likelihood is above 0
    proofs: list[Any] = [None] * len(parts)
    trace: list[TracePoint] = []

    def report() -> None:
        done = sum(p is not None for p in proofs)
        upper = max(float(uppers.sum()), best.value)
        trace.append(TracePoint(time.monotonic() - began, best.value, upper, done, len(parts) - done))
        if progress:
            progress(trace[-1])

    report()
    work = partial(_bound_block, epsilon, each, seed, options)
    engine = Processes(processes) if engine is None else engine
    for b, proof in engine.map(work, enumerate(parts), ordered=False):
        proofs[b] = proof
        uppers[b] = proof["upper"] / SCALE
        report()
        if should_stop is not None and should_stop():
            break
    heads = task.spread(best.heads)
    certificate = {
        "kind": BLOCKS_KIND,
        "version": VERSION,
        "lower": best.value,
        # Blocks that were not searched count as 0, which bounds any log-likelihood.
        "upper": sum(p["upper"] for p in proofs if p is not None),
        "heads": [heads[a:b].tolist() for a, b in pairwise(task.corpus.starts)],
        "block_size": block_size,
        "blocks": proofs,
    }
    return best, trace, certificate


def _bound_block(
    epsilon: float, seconds: float, seed: int, options: CountOptions, numbered: tuple[int, list[list[str]]]
) -> tuple[int, dict[str, Any]]:
    number, sentences = numbered
    few = replace(options, first_restarts=min(options.first_restarts, _BLOCK_RESTARTS))
    search = CountSearch(InductionTask(TagSentences.from_tags(sentences)), seed=seed, options=few)
    search.run(epsilon=epsilon, time_limit=seconds)
    return number, search.certificate()


def climb(best: Incumbent, *, seconds: float, seed: int) -> None:
    """Improve the incumbent.

    Viterbi EM from random parameters for a quarter of the time, then near the incumbent.
    """
    began, done, restarts = time.monotonic(), 0, 1
    while not done or time.monotonic() - began < seconds:
        started = time.monotonic()
        near = started - began > seconds / 4
        best.restart(first=done, restarts=restarts, seed=seed, near=near)
        done += restarts
        per_restart = (time.monotonic() - started) / restarts
        restarts = max(1, min(200, math.floor(0.25 / max(per_restart, 1e-7))))
