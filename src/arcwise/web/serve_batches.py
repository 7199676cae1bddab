"""Dynamic batching: one thread takes all waiting requests and parses them in one call.

There is no batching delay: a single request is parsed at once, and those that arrive meanwhile form the next
batch.
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
from arcwise.web.serve_tasks import ParseTask, TaskResult, run_short_tasks, run_tasks

BATCH = 8_000
"""Bytes of text in one call, more than a thousand words. Larger batches are hardly faster, and a request that
arrives during a call waits until its end."""
LONG = 20_000
"""Bytes of text from which a request goes to a separate queue, so that short requests need not wait for
it."""

Waiting = tuple[ParseTask, "asyncio.Future[Treebank]"]


class Counter(Protocol):
    """Counts calls of a model."""

    def batch(self, requests: int, sentences: int, words: int) -> None: ...
    def parsed(self, model: str, sentences: int, words: int) -> None: ...


class Batcher:
    """A queue of requests and the thread that parses them."""

    def __init__(
        self,
        limits: Limits,
        counter: Counter,
        *,
        work: Callable[[Sequence[ParseTask]], list[TaskResult]] = run_short_tasks,
    ) -> None:
        self._limits, self._counter, self._work = limits, counter, work
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[Waiting] = deque()
        self._woken = threading.Condition()
        self._stopping = False
        self._running: Sequence[ParseTask] = ()
        self._thread = threading.Thread(target=self._run, name="arcwise-parse", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """The number of waiting requests."""
        return len(self._waiting)

    @property
    def stuck_seconds(self) -> float:
        """Seconds for which the current batch has exceeded the time limits of all its requests."""
        return min((task.deadline.overdue for task in self._running), default=0.0)

    async def do(self, task: ParseTask) -> Treebank:
        """The result of a task; ``RequestRefused`` if too many requests are waiting, or it takes too long."""
        future: asyncio.Future[Treebank] = self._loop.create_future()
        with self._woken:
            if len(self._waiting) >= self._limits.queue:
                raise too_many(self._limits)
            self._waiting.append((task, future))
            self._woken.notify()
        seconds = min(task.deadline.left, self._limits.max_seconds)
        timer = self._loop.call_later(seconds, _time_out, future, task, self._limits)
        try:
            return await future
        except asyncio.CancelledError:  # the client has disconnected
            task.deadline.cancel()
            raise
        finally:
            timer.cancel()
            future.cancel()  # a task that still waits is dropped

    def stop(self) -> None:
        """Stop after the current batch."""
        with self._woken:
            self._stopping = True
            self._woken.notify()
        # A timeout: a model that hangs must not prevent the shutdown.
        self._thread.join(10)

    def _run(self) -> None:
        heap_trimmer = HeapTrimmer()
        while (batch := self._take()) is not None:
            tasks = [task for task, _ in batch]
            self._running = tasks
            try:
                results = self._work(tasks)
            except BaseException as error:  # an internal error must not end the thread
                failure = RuntimeError(f"{type(error).__name__}: {error}")
                failure.__cause__ = error  # for the traceback in the log
                results = [failure] * len(tasks)
            self._running = ()
            parsed = [result for result in results if isinstance(result, Treebank)]
            self._counter.batch(
                len(batch), sum(map(len, parsed)), sum(treebank.word_count for treebank in parsed)
            )
            for task, result in zip(tasks, results, strict=True):
                if isinstance(result, Treebank):
                    self._counter.parsed(task.model.name, len(result), result.word_count)
            if not self._loop.is_closed():
                self._loop.call_soon_threadsafe(_deliver, batch, results)
            heap_trimmer.trim_if_due()

    def _take(self) -> list[Waiting] | None:
        """The next batch; None when the thread should end."""
        with self._woken:
            while True:
                batch: list[Waiting] = []
                size = 0
                while self._waiting and (not batch or size + self._waiting[0][0].size <= BATCH):
                    task, future = self._waiting.popleft()
                    # Skip cancelled and timed-out requests without work.
                    if not future.done():
                        batch.append((task, future))
                        size += task.size
                if batch:
                    return batch
                if self._stopping:
                    return None
                self._woken.wait()


def _time_out(future: asyncio.Future[Treebank], task: ParseTask, limits: Limits) -> None:
    task.deadline.cancel()
    if not future.done():
        future.set_exception(too_slow(limits))


def _deliver(batch: Sequence[Waiting], results: Sequence[TaskResult]) -> None:
    for (_, future), result in zip(batch, results, strict=True):
        if future.done():
            continue
        if isinstance(result, Exception):
            future.set_exception(result)
        else:
            future.set_result(result)


class RequestQueues:
    """Two queues, for short and for long requests."""

    def __init__(self, limits: Limits, counter: Counter) -> None:
        # Two threads, because a long text would block all short ones.
        self._short = Batcher(limits, counter)
        self._long = Batcher(limits, counter, work=run_tasks)

    @property
    def waiting(self) -> int:
        """The number of waiting requests."""
        return self._short.waiting + self._long.waiting

    @property
    def stuck_seconds(self) -> float:
        """Seconds for which a thread has exceeded the time limit of its requests."""
        return max(self._short.stuck_seconds, self._long.stuck_seconds)

    async def do_short(self, task: ParseTask) -> Treebank:
        """The result of a task with a short text; ``LongTask`` if it takes long all the same."""
        return await self._short.do(task)

    async def do_long(self, task: ParseTask) -> Treebank:
        """The result of any other task."""
        return await self._long.do(task)

    def stop(self) -> None:
        """Stop both queues."""
        self._short.stop()
        self._long.stop()
