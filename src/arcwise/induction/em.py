"""Local search: EM (inside-outside) and Viterbi EM for the DMV, with restarts."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.errors import ConstraintError, InputError
from arcwise.induction.constraints import ArcShare
from arcwise.induction.corpus import TagSentences
from arcwise.induction.dmv import DMV
from arcwise.induction.global_search.problem import InductionTask
from arcwise.optional import require

Start = Literal["uniform", "random", "harmonic"]
EStep = Literal["exact", "relaxed"]
E_STEPS: tuple[EStep, ...] = ("exact", "relaxed")
STARTS: tuple[Start, ...] = ("uniform", "random", "harmonic")
_BATCH_SECONDS = 0.25
"""Restarts per native call take about this long, so that progress and the time limit stay responsive."""


@dataclass(frozen=True, eq=False)
class LocalSearch:
    """The best of several restarts.

    ``value``: log-likelihood of the sentences under ``grammar`` (EM), or of sentences and parses jointly
    (Viterbi EM). ``trace``: its value after each iteration (for EM, preceded by that of the initial
    parameters). ``values``: the final value of every restart.
    """

    grammar: DMV
    value: float
    trace: npt.NDArray[np.float64]
    values: npt.NDArray[np.float64]


def em(
    corpus: TagSentences | Sequence[Sequence[str]],
    *,
    start: Start = "harmonic",
    smoothing: float = 0.0,
    restarts: int = 1,
    iterations: int = 100,
    tolerance: float = 1e-6,
    seed: int = 0,
    threads: int = 1,
    time_limit: float | None = None,
    progress: Callable[[int, float], None] | None = None,
) -> LocalSearch:
    """Run expectation maximisation (Klein & Manning 2004) and keep the best restart.

    O(n³) per sentence and iteration.

    ``start``: ``harmonic`` (head probability proportional to 1/distance), ``uniform`` (a random tree for each
    sentence) or ``random`` (parameters). ``smoothing``: added to every count in the M-step. ``time_limit``:
    seconds after which no new restart begins.

    >>> search = em([["DET", "NOUN", "VERB"], ["NOUN", "VERB"]])
    >>> bool((np.diff(search.trace) >= -1e-9).all())
    True
    """
    task = _checked_task(corpus, None, start, restarts, iterations, smoothing)
    options = {"viterbi": False, "polish": False, "tolerance": tolerance, "smoothing": smoothing}
    return _restarts(task, start, iterations, options, restarts, seed, threads, time_limit, progress)


def viterbi_em(
    corpus: TagSentences | Sequence[Sequence[str]],
    *,
    start: Start = "uniform",
    smoothing: float = 1.0,
    polish: bool = False,
    constraint: ArcShare | None = None,
    e_step: EStep = "exact",
    restarts: int = 1,
    iterations: int = 100,
    seed: int = 0,
    threads: int = 1,
    time_limit: float | None = None,
    progress: Callable[[int, float], None] | None = None,
) -> LocalSearch:
    """Run Viterbi EM (Spitkovsky et al. 2010) and keep the best restart.

    Each iteration parses with the current parameters and re-estimates them from the parses.

    ``polish``: after convergence, continue without smoothing to a local maximum of the likelihood itself.
    ``constraint``: the parses must satisfy it. ``e_step``: ``"exact"`` parses by dynamic programming (under a
    constraint, with a bonus on the arcs that it counts); ``"relaxed"`` solves the linear program of Gormley &
    Eisner (2013) and projects onto the nearest trees. The latter needs highspy, starts uniformly and is not
    polished.

    >>> search = viterbi_em([["DET", "NOUN", "VERB"], ["NOUN", "VERB"]], polish=True, restarts=20)
    >>> round(search.value, 3)
    -1.386
    """
    if e_step not in E_STEPS:
        raise InputError(f"e_step: found {e_step!r}, expected one of {', '.join(E_STEPS)}")
    if e_step == "relaxed":
        if start != "uniform" or polish:
            raise InputError(
                "e_step: relaxed starts uniformly and is not polished; use start='uniform', polish=False"
            )
        require("highspy")
    task = _checked_task(corpus, constraint, start, restarts, iterations, smoothing)
    if e_step == "relaxed":
        from arcwise.induction.relaxed_em import relaxed_restarts

        grammar, value, trace, values = relaxed_restarts(
            task,
            smoothing=smoothing,
            restarts=restarts,
            iterations=iterations,
            seed=seed,
            time_limit=time_limit,
            progress=progress,
        )
        return LocalSearch(grammar, value, np.array(trace), np.array(values))
    if constraint is not None:
        constraint.check(task.corpus)
    # Viterbi EM reaches a fixed point after finitely many steps and needs no tolerance.
    options = {"viterbi": True, "polish": polish, "tolerance": 0.0, "smoothing": smoothing}
    return _restarts(task, start, iterations, options, restarts, seed, threads, time_limit, progress)


def _checked_task(
    corpus: TagSentences | Sequence[Sequence[str]],
    constraint: ArcShare | None,
    start: Start,
    restarts: int,
    iterations: int,
    smoothing: float,
) -> InductionTask:
    corpus = corpus if isinstance(corpus, TagSentences) else TagSentences.from_tags(corpus)
    if start not in STARTS:
        raise InputError(f"start: found {start!r}, expected one of {', '.join(STARTS)}")
    limits = (("restarts", restarts, 1), ("iterations", iterations, 1), ("smoothing", smoothing, 0))
    for name, value, least in limits:
        if value < least:
            raise InputError(f"{name}: found {value}, expected at least {least}")
    return InductionTask(corpus, constraint)


def _restarts(
    task: InductionTask,
    start: Start,
    iterations: int,
    em_options: dict[str, Any],
    restarts: int,
    seed: int,
    threads: int,
    time_limit: float | None,
    progress: Callable[[int, float], None] | None,
) -> LocalSearch:
    options = native.DmvEmOptions(
        start=getattr(native.DmvStart, start),
        iterations=iterations,
        marked=task.marked,
        least=float(task.least),
        **em_options,
    )
    began, done, batch = time.monotonic(), 0, 1
    values: list[npt.NDArray[np.float64]] = []
    best: native.DmvRestarts | None = None
    # At least one restart, however short the time limit.
    while done < restarts and not (done and time_limit and time.monotonic() - began > time_limit):
        size = min(batch, restarts - done)
        batch_best = native.dmv_em_restarts(
            task.batch, options, first=done, restarts=size, seed=seed, threads=threads
        )
        done += size
        values.append(batch_best.values)
        if best is None or batch_best.value > best.value:
            best = batch_best
        if progress:
            progress(done, best.value)
        per_restart = (time.monotonic() - began) / done
        batch = max(1, min(100_000, int(_BATCH_SECONDS / max(per_restart, 1e-7))))
    assert best is not None
    if best.value == -np.inf:
        raise ConstraintError(
            "share: no restart found parses that satisfy the constraint; try more restarts or smoothing"
        )
    return LocalSearch(DMV(task.corpus.tags, best.theta), best.value, best.trace, np.concatenate(values))
