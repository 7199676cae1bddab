"""Timing on a noisy machine: contenders take turns in one run, and the best of several rounds counts."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

PAUSE = 0.02
"""Seconds of rest before each turn: OpenMP threads of the previous contender may spin for a while."""


def interleaved(
    contenders: Mapping[str, Callable[[], object]],
    *,
    repeat: int = 7,
    min_seconds: float = 0.02,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """Return seconds per call of each contender: the minimum over ``repeat`` interleaved rounds.

    A contender faster than ``min_seconds`` is called several times per round, to be well above clock
    resolution. ``clock``: ``time.process_time`` leaves out what other processes take, if all work is done by
    this process.
    """
    calls = {label: _calls_per_round(run, min_seconds, clock) for label, run in contenders.items()}
    best = dict.fromkeys(contenders, float("inf"))
    for _ in range(repeat):
        for label, run in contenders.items():
            time.sleep(PAUSE)
            start = clock()
            for _ in range(calls[label]):
                run()
            best[label] = min(best[label], (clock() - start) / calls[label])
    return best


def _calls_per_round(run: Callable[[], object], min_seconds: float, clock: Callable[[], float]) -> int:
    run()  # warm up
    start = clock()
    run()
    seconds = clock() - start
    return max(1, int(min_seconds / max(seconds, 1e-9)))
