"""What all workers of a service have done, counted in memory that they share, told as Prometheus reads it."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

PATHS = ("/process", "/v1/parse", "/models", "other")
STATUSES = (200, 400, 404, 405, 408, 413, 415, 429, 500, 503)
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, float("inf"))
"""Upper ends of the classes of seconds in which requests are counted."""
_PARSED = PATHS[:2]
_COUNTS = ("batches", "batched_requests", "sentences", "words", "restarts", "waiting", "open", "pid")
_TOLD = {
    "batches": ("counter", "arcwise_batches_total", "Calls of a model, each for one request or several."),
    "batched_requests": ("counter", "arcwise_batched_requests_total", "Requests in those calls."),
    "sentences": ("counter", "arcwise_sentences_total", "Sentences answered."),
    "words": ("counter", "arcwise_words_total", "Words answered."),
    "restarts": ("counter", "arcwise_worker_restarts_total", "Workers that ended and were started again."),
    "waiting": ("gauge", "arcwise_waiting_requests", "Requests that wait for a model now."),
    "open": ("gauge", "arcwise_open_requests", "Requests that are being answered now."),
}


def _columns() -> dict[object, int]:
    names: list[object] = [*_COUNTS]
    names += [(path, status) for path in PATHS for status in STATUSES]
    names += [(path, "le", end) for path in _PARSED for end in BUCKETS] + [(path, "sum") for path in _PARSED]
    return {name: at for at, name in enumerate(names)}


_AT = _columns()


class ServiceMetrics:
    """The counts of one worker; each worker has a row of its own, so that nobody waits for anybody."""

    def __init__(self, workers: int = 1) -> None:
        self._memory = mmap.mmap(-1, 8 * workers * len(_AT))
        self._all = np.frombuffer(self._memory, np.float64).reshape(workers, len(_AT))
        self._own = self._all[0]

    def of_worker(self, number: int) -> ServiceMetrics:
        """The same counts, counted on in the row of a worker, which begins to run now."""
        made = ServiceMetrics.__new__(ServiceMetrics)
        made._memory, made._all, made._own = self._memory, self._all, self._all[number]
        for name in ("waiting", "open"):
            made._own[_AT[name]] = 0
        made._own[_AT["pid"]] = os.getpid()
        return made

    def batch(self, requests: int, sentences: int, words: int) -> None:
        """A call of a model was done."""
        for name, value in (
            ("batched_requests", requests),
            ("sentences", sentences),
            ("words", words),
            ("batches", 1),
        ):
            self._own[_AT[name]] += value

    def opened(self, count: int) -> None:
        """So many more requests are being answered."""
        self._own[_AT["open"]] += count

    def answered(self, path: str, status: int, seconds: float) -> None:
        """A request was answered."""
        path = path if path in PATHS else "other"
        self._own[_AT[path, status if status in STATUSES else 500]] += 1
        if path in _PARSED:
            self._own[_AT[path, "sum"]] += seconds
            self._own[_AT[path, "le", next(end for end in BUCKETS if seconds <= end)]] += 1

    def set_waiting(self, count: int) -> None:
        """So many requests wait."""
        self._own[_AT["waiting"]] = count

    def restarted(self, number: int) -> None:
        """A worker ended and is started again; told by who starts them."""
        self._all[number, _AT["restarts"]] += 1

    def text(self) -> str:
        """The sums of all workers in the text format of Prometheus."""
        return "".join(f"{line}\n" for line in self._lines())

    def _lines(self) -> Iterator[str]:
        sums = self._all.sum(axis=0)
        for name, (kind, shown, told) in _TOLD.items():
            yield from _header(shown, kind, told)
            yield f"{shown} {_number(sums[_AT[name]])}"
        yield from _header("arcwise_requests_total", "counter", "Requests answered, by address and status.")
        for path in PATHS:
            for status in STATUSES:
                if count := sums[_AT[path, status]]:
                    yield f'arcwise_requests_total{{path="{path}",status="{status}"}} {_number(count)}'
        yield from _header("arcwise_request_seconds", "histogram", "Seconds from a request to its answer.")
        for path in _PARSED:
            total = 0.0
            for end in BUCKETS:
                total += sums[_AT[path, "le", end]]
                le = "+Inf" if end == float("inf") else f"{end:g}"
                yield f'arcwise_request_seconds_bucket{{path="{path}",le="{le}"}} {_number(total)}'
            yield f'arcwise_request_seconds_sum{{path="{path}"}} {sums[_AT[path, "sum"]]:.6f}'
            yield f'arcwise_request_seconds_count{{path="{path}"}} {_number(total)}'
        yield from _header(
            "arcwise_worker_memory_bytes", "gauge", "Memory of each worker, shared parts counted in each."
        )
        for number, row in enumerate(self._all):
            if (memory := _resident(int(row[_AT["pid"]]))) is not None:
                yield f'arcwise_worker_memory_bytes{{worker="{number}"}} {memory}'


def _header(name: str, kind: str, told: str) -> tuple[str, str]:
    return f"# HELP {name} {told}", f"# TYPE {name} {kind}"


def _number(value: float) -> str:
    return f"{int(value)}"


def _resident(pid: int) -> int | None:
    try:
        pages = Path(f"/proc/{pid}/statm").read_text().split()[1]
    except (OSError, IndexError):
        return None
    return int(pages) * os.sysconf("SC_PAGESIZE")
