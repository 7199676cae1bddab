"""Metrics of all workers, counted in memory that they share and written in the format of Prometheus.

prometheus_client writes the text. It does not do the counting: its multi-process mode keeps a file for each
process that ever ran, and the counts of a worker that was killed would have to be collected by hand.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from prometheus_client import generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

PATHS = ("/process", "/v1/parse", "/models", "other")
STATUSES = (200, 204, 400, 401, 404, 405, 408, 413, 415, 429, 500, 503)
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, float("inf"))
"""Upper bounds of the histogram of seconds."""
_PARSED = PATHS[:2]
_COUNTERS = {
    "batches": ("arcwise_batches", "Calls of a model, each for one request or several."),
    "batched_requests": ("arcwise_batched_requests", "Requests in those calls."),
    "sentences": ("arcwise_sentences", "Sentences parsed."),
    "words": ("arcwise_words", "Words parsed."),
    "restarts": ("arcwise_worker_restarts", "Workers that died and were restarted."),
}
_GAUGES = {
    "waiting": ("arcwise_waiting_requests", "Requests waiting for a model."),
    "open": ("arcwise_open_requests", "Requests in progress."),
}

_BY_MODEL = {
    "arcwise_model_requests": "Requests answered by a model.",
    "arcwise_model_sentences": "Sentences parsed by a model.",
    "arcwise_model_words": "Words parsed by a model.",
}


def _columns() -> dict[object, int]:
    names: list[object] = [*_COUNTERS, *_GAUGES, "pid", "beats"]
    names += [(path, status) for path in PATHS for status in STATUSES]
    names += [(path, "le", end) for path in _PARSED for end in BUCKETS] + [(path, "sum") for path in _PARSED]
    return {name: at for at, name in enumerate(names)}


_AT = _columns()


class ServiceMetrics:
    """The counts of one worker. Each worker has a separate row, so that none waits for a lock."""

    def __init__(self, workers: int = 1, models: Sequence[str] = ()) -> None:
        """``models``: the names of models that are counted each."""
        self._models = {name: len(_AT) + 3 * at for at, name in enumerate(models)}
        columns = len(_AT) + 3 * len(models)
        # Anonymous shared memory survives the death of any worker, and needs no file to clean up.
        self._memory = mmap.mmap(-1, 8 * workers * columns)
        self._rows = np.frombuffer(self._memory, np.float64).reshape(workers, columns)
        self._row = self._rows[0]

    def of_worker(self, number: int) -> ServiceMetrics:
        """The same counts for a worker that starts now, which continues in its row."""
        metrics = ServiceMetrics.__new__(ServiceMetrics)
        metrics._memory, metrics._rows, metrics._row = self._memory, self._rows, self._rows[number]
        metrics._models = self._models
        # Gauges of a killed predecessor would never go back to zero.
        for name in _GAUGES:
            metrics._row[_AT[name]] = 0
        metrics._row[_AT["pid"]] = os.getpid()
        return metrics

    def batch(self, requests: int, sentences: int, words: int) -> None:
        """Count a call of a model."""
        counts = {"batched_requests": requests, "sentences": sentences, "words": words, "batches": 1}
        for name, value in counts.items():
            self._row[_AT[name]] += value

    def parsed(self, model: str, sentences: int, words: int) -> None:
        """Count what a model has parsed for one request."""
        at = self._models.get(model)
        if at is not None:
            self._row[at : at + 3] += (1, sentences, words)

    def opened(self, count: int) -> None:
        """Count requests that begin, or, below zero, that end."""
        self._row[_AT["open"]] += count

    def answered(self, path: str, status: int, seconds: float) -> None:
        """Count a response."""
        path = path if path in PATHS else "other"
        # A status that is not listed counts as 500, so that the number of columns stays fixed.
        self._row[_AT[path, status if status in STATUSES else 500]] += 1
        if path in _PARSED:
            self._row[_AT[path, "sum"]] += seconds
            self._row[_AT[path, "le", next(end for end in BUCKETS if seconds <= end)]] += 1

    def set_waiting(self, count: int) -> None:
        """Set the number of waiting requests."""
        self._row[_AT["waiting"]] = count

    def beat(self) -> None:
        """Record a heartbeat: the event loop of this worker runs."""
        self._row[_AT["beats"]] += 1

    def beats(self, number: int) -> float:
        """The number of heartbeats of a worker, for the supervisor."""
        return float(self._rows[number, _AT["beats"]])

    def restarted(self, number: int) -> None:
        """Count the restart of a worker; the supervisor does."""
        self._rows[number, _AT["restarts"]] += 1

    def text(self) -> bytes:
        """The sums over all workers in the text format of Prometheus."""
        return generate_latest(self)  # calls collect()

    def collect(self) -> Iterator[Metric]:
        """The metrics, for prometheus_client."""
        sums = self._rows.sum(axis=0)
        for name, (metric, text) in _COUNTERS.items():
            yield CounterMetricFamily(metric, text, value=sums[_AT[name]])
        for name, (metric, text) in _GAUGES.items():
            yield GaugeMetricFamily(metric, text, value=sums[_AT[name]])
        requests = CounterMetricFamily(
            "arcwise_requests", "Responses by address and status.", labels=["path", "status"]
        )
        for path in PATHS:
            for status in STATUSES:
                if count := sums[_AT[path, status]]:
                    requests.add_metric([path, str(status)], count)
        yield requests
        seconds = HistogramMetricFamily(
            "arcwise_request_seconds", "Seconds from a request to its response.", labels=["path"]
        )
        for path in _PARSED:
            totals = np.cumsum([sums[_AT[path, "le", end]] for end in BUCKETS])
            buckets = [
                ("+Inf" if end == float("inf") else f"{end:g}", total)
                for end, total in zip(BUCKETS, totals, strict=True)
            ]
            seconds.add_metric([path], buckets, sums[_AT[path, "sum"]])
        yield seconds
        for place, (metric, text) in enumerate(_BY_MODEL.items()):
            family = CounterMetricFamily(metric, text, labels=["model"])
            for name, at in self._models.items():
                family.add_metric([name], sums[at + place])
            if self._models:
                yield family
        memory = GaugeMetricFamily(
            "arcwise_worker_memory_bytes",
            "Memory of each worker; shared memory counts in each.",
            labels=["worker"],
        )
        for number, row in enumerate(self._rows):
            if (resident := _resident(int(row[_AT["pid"]]))) is not None:
                memory.add_metric([str(number)], resident)
        yield memory


def _resident(pid: int) -> int | None:
    try:
        pages = Path(f"/proc/{pid}/statm").read_text().split()[1]
    except (OSError, IndexError):
        return None
    return int(pages) * os.sysconf("SC_PAGESIZE")
