"""Work that waits for people: one thread does it in small steps, and none while a request is being answered."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass

QUIET = 0.02
"""Seconds without a request before the next step."""
PATIENCE = 0.5
"""Seconds after which a step is done whatever is asked."""

Step = Callable[[], bool]
"""Does a little (some milliseconds) and says whether there is more to do."""


@dataclass
class _Clock:
    """Something that is done again and again."""

    seconds: float
    work: Callable[[], None]
    due: float = 0.0


class Background:
    """A thread for what nobody waits for. ``failed`` is told what went wrong; steps that failed are not tried again."""

    def __init__(self, failed: Callable[[str], None] = lambda told: None) -> None:
        self._failed = failed
        self._woken = threading.Condition()
        self._jobs: deque[Step] = deque()
        self._clocks: list[_Clock] = []
        self._asked = 0
        self._last_asked = 0.0
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="arcwise-background", daemon=True)

    @contextlib.contextmanager
    def foreground(self) -> Iterator[None]:
        """While a request is being answered."""
        with self._woken:
            self._asked += 1
        try:
            yield
        finally:
            with self._woken:
                self._asked -= 1
                self._last_asked = time.monotonic()

    def add(self, step: Step) -> None:
        """Do ``step`` until it says that there is no more to do."""
        with self._woken:
            if step not in self._jobs:
                self._jobs.append(step)
            self._woken.notify()

    def every(self, seconds: float, work: Callable[[], None]) -> None:
        """Do ``work`` again and again."""
        with self._woken:
            self._clocks.append(_Clock(seconds, work, time.monotonic() + seconds))
            self._woken.notify()

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End, after the step that is being done."""
        with self._woken:
            self._stopping = True
            self._woken.notify()
        if self._thread.is_alive():
            self._thread.join(10)

    def _run(self) -> None:
        while not self._stopping:
            for clock in self._due():
                self._attempt(clock.work)
            job = self._next_job()
            if job is not None and self._attempt(job):
                with self._woken:
                    self._jobs.append(job)

    def _due(self) -> list[_Clock]:
        now = time.monotonic()
        with self._woken:
            due = [clock for clock in self._clocks if clock.due <= now]
        for clock in due:
            clock.due = now + clock.seconds
        return due

    def _next_job(self) -> Step | None:
        """The next step when it is quiet; None when something else is due."""
        began = time.monotonic()
        with self._woken:
            while not self._stopping:
                now = time.monotonic()
                next_due = min((clock.due for clock in self._clocks), default=now + 60)
                if next_due <= now:
                    return None
                quiet = not self._asked and now - self._last_asked >= QUIET
                if self._jobs and (quiet or now - began >= PATIENCE):
                    return self._jobs.popleft()
                self._woken.wait(QUIET / 2 if self._jobs else next_due - now)
        return None

    def _attempt(self, work: Callable[[], bool | None]) -> bool:
        try:
            return bool(work())
        except Exception as error:  # told, and the thread goes on with the rest
            self._failed(f"{type(error).__name__}: {error}")
            return False
