"""Requests that come at the same time, done together: one thread takes all that wait and does them in one call.

Nothing waits for company: a lone request is done at once; while it is done, others gather.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol

from arcwise.memory import HeapTrimmer
from arcwise.treebanks import Treebank
from arcwise.web.serve_limits import Limits, too_many, too_slow
from arcwise.web.serve_tasks import ParseTask, TaskResult, run_tasks

BATCH = 8_000
"""Bytes of text in one call, a thousand words and more. More of them are hardly faster together, and a request that comes while a call runs waits for the whole of it."""
LONG = 20_000
"""Bytes of text from which on a request waits in a line of its own, so that short ones need not wait for it."""

Waiting = tuple[ParseTask, "asyncio.Future[Treebank]"]


class Counter(Protocol):
    """What is told of each call."""

    def batch(self, requests: int, sentences: int, words: int) -> None: ...


class Batcher:
    """A line of requests and the thread that does them."""

    def __init__(
        self,
        limits: Limits,
        counter: Counter,
        *,
        work: Callable[[Sequence[ParseTask]], list[TaskResult]] = run_tasks,
    ) -> None:
        self._limits, self._counter, self._work = limits, counter, work
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[Waiting] = deque()
        self._woken = threading.Condition()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="arcwise-parse", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """How many requests wait."""
        return len(self._waiting)

    async def do(self, task: ParseTask) -> Treebank:
        """The answer to a task; ``RequestRefused`` if too many wait, or it takes too long."""
        future: asyncio.Future[Treebank] = self._loop.create_future()
        with self._woken:
            if len(self._waiting) >= self._limits.queue:
                raise too_many(self._limits)
            self._waiting.append((task, future))
            self._woken.notify()
        alarm = self._loop.call_later(self._limits.max_seconds, _give_up, future, self._limits)
        try:
            return await future
        finally:
            alarm.cancel()
            future.cancel()  # who asked is gone: not done, if it still waits

    def stop(self) -> None:
        """End, after what is being done."""
        with self._woken:
            self._stopping = True
            self._woken.notify()
        self._thread.join(10)

    def _run(self) -> None:
        heap_trimmer = HeapTrimmer()
        while (batch := self._take()) is not None:
            tasks = [task for task, _ in batch]
            try:
                done = self._work(tasks)
            except BaseException as error:  # a mistake of ours must not end the thread
                done = [RuntimeError(f"{type(error).__name__}: {error}")] * len(tasks)
            parsed = [answer for answer in done if isinstance(answer, Treebank)]
            self._counter.batch(
                len(batch), sum(map(len, parsed)), sum(treebank.word_count for treebank in parsed)
            )
            if not self._loop.is_closed():
                self._loop.call_soon_threadsafe(_deliver, batch, done)
            heap_trimmer.trim_if_due()

    def _take(self) -> list[Waiting] | None:
        """The next requests, as many as fit one call; None: there will be no more."""
        with self._woken:
            while True:
                batch: list[Waiting] = []
                size = 0
                while self._waiting and (not batch or size + self._waiting[0][0].size <= BATCH):
                    task, future = self._waiting.popleft()
                    if not future.done():
                        batch.append((task, future))
                        size += task.size
                if batch:
                    return batch
                if self._stopping:
                    return None
                self._woken.wait()


def _give_up(future: asyncio.Future[Treebank], limits: Limits) -> None:
    if not future.done():
        future.set_exception(too_slow(limits))


def _deliver(batch: Sequence[Waiting], done: Sequence[TaskResult]) -> None:
    for (_, future), answer in zip(batch, done, strict=True):
        if future.done():
            continue
        if isinstance(answer, Exception):
            future.set_exception(answer)
        else:
            future.set_result(answer)


class RequestQueues:
    """Two lines: one for short requests, one for long ones."""

    def __init__(self, limits: Limits, counter: Counter) -> None:
        self._short, self._long = Batcher(limits, counter), Batcher(limits, counter)

    @property
    def waiting(self) -> int:
        """How many requests wait."""
        return self._short.waiting + self._long.waiting

    async def do(self, task: ParseTask) -> Treebank:
        """The answer to a task, by the line that it belongs to."""
        return await (self._long if task.size >= LONG else self._short).do(task)

    def stop(self) -> None:
        """End both."""
        self._short.stop()
        self._long.stop()
