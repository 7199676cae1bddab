"""Background work in one thread, in small steps that pause while requests are being answered."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass

QUIET = 0.02
"""Seconds without a request before the next step runs."""
PATIENCE = 0.5
"""Seconds after which a step runs despite requests, so that a busy page cannot starve it."""

Step = Callable[[], bool]
"""Does a few milliseconds of work and returns whether there is more."""


@dataclass
class _Timer:
    """Periodic work."""

    seconds: float
    work: Callable[[], None]
    due: float = 0.0


class Background:
    """A thread for low-priority work.

    ``failed`` is called with error messages; a failed step is not retried.
    """

    def __init__(self, failed: Callable[[str], None] = lambda message: None) -> None:
        self._failed = failed
        self._woken = threading.Condition()
        self._jobs: deque[Step] = deque()
        self._timers: list[_Timer] = []
        self._requests = 0
        self._last_request = 0.0
        self._stopping = False
        # daemon: no step may keep the process from ending.
        self._thread = threading.Thread(target=self._run, name="arcwise-background", daemon=True)

    @contextlib.contextmanager
    def foreground(self) -> Iterator[None]:
        """Context in which a request is answered: no step starts."""
        with self._woken:
            self._requests += 1
        try:
            yield
        finally:
            with self._woken:
                self._requests -= 1
                self._last_request = time.monotonic()

    def add(self, step: Step) -> None:
        """Run ``step`` repeatedly until it returns false."""
        with self._woken:
            # The same step twice would only compete with itself.
            if step not in self._jobs:
                self._jobs.append(step)
            self._woken.notify()

    def every(self, seconds: float, work: Callable[[], None]) -> None:
        """Run ``work`` periodically."""
        with self._woken:
            self._timers.append(_Timer(seconds, work, time.monotonic() + seconds))
            self._woken.notify()

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop after the current step."""
        with self._woken:
            self._stopping = True
            self._woken.notify()
        if self._thread.is_alive():
            # A timeout, so that a step that hangs cannot prevent saving.
            self._thread.join(10)

    def _run(self) -> None:
        while not self._stopping:
            for timer in self._due():
                self._attempt(timer.work)
            job = self._next_job()
            if job is not None and self._attempt(job):
                with self._woken:
                    # To the end of the queue: steps take turns.
                    self._jobs.append(job)

    def _due(self) -> list[_Timer]:
        now = time.monotonic()
        with self._woken:
            due = [timer for timer in self._timers if timer.due <= now]
        for timer in due:
            # From now, not from when it was due: missed turns are not made up for.
            timer.due = now + timer.seconds
        return due

    def _next_job(self) -> Step | None:
        """Wait for a quiet moment and return the next step; None if a timer is due first."""
        began = time.monotonic()
        with self._woken:
            while not self._stopping:
                now = time.monotonic()
                next_due = min((timer.due for timer in self._timers), default=now + 60)
                if next_due <= now:
                    return None
                quiet = not self._requests and now - self._last_request >= QUIET
                if self._jobs and (quiet or now - began >= PATIENCE):
                    return self._jobs.popleft()
                # Polls while steps are waiting: the end of a request does not notify.
                self._woken.wait(QUIET / 2 if self._jobs else next_due - now)
        return None

    def _attempt(self, work: Callable[[], bool | None]) -> bool:
        try:
            return bool(work())
        except Exception as error:  # reported; the thread continues with other work
            self._failed(f"{type(error).__name__}: {error}")
            return False
