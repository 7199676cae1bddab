"""Timing on a noisy machine: all contenders in one run, taking turns, the best of several rounds of each."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

PAUSE = 0.02
"""Seconds before each turn: threads of the last contender (OpenMP's) may keep a core busy for a while with nothing but waiting."""


def interleaved(
    contenders: Mapping[str, Callable[[], object]], *, repeat: int = 7, min_seconds: float = 0.02
) -> dict[str, float]:
    """Seconds per call of each contender: the minimum over ``repeat`` rounds in which each takes its turn.

    A contender faster than ``min_seconds`` is called several times per round, so that the clock does not matter.
    """
    calls = {label: _calls_per_round(run, min_seconds) for label, run in contenders.items()}
    best = dict.fromkeys(contenders, float("inf"))
    for _ in range(repeat):
        for label, run in contenders.items():
            time.sleep(PAUSE)
            start = time.perf_counter()
            for _ in range(calls[label]):
                run()
            best[label] = min(best[label], (time.perf_counter() - start) / calls[label])
    return best


def _calls_per_round(run: Callable[[], object], min_seconds: float) -> int:
    run()  # warm up
    start = time.perf_counter()
    run()
    seconds = time.perf_counter() - start
    return max(1, int(min_seconds / max(seconds, 1e-9)))
