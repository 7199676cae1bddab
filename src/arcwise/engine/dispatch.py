"""Scheduling of items on workers that may die: order of work, retries, order of results.

Engines differ only in what a worker is (``Workers``); everything here is common to all of them.
"""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass
from itertools import islice
from reprlib import Repr
from typing import Any, Protocol

from arcwise.errors import ArcwiseError, WorkerError

ATTEMPTS = 3
"""An item fails once its worker has died this many times."""
AHEAD = 16
"""Ordered results: at most this many items per worker run ahead of the one being waited for
(backpressure)."""

_SHOWN = Repr()
_SHOWN.maxother = _SHOWN.maxstring = 80


@dataclass(frozen=True)
class Ready:
    """A worker has started."""

    worker: int


@dataclass(frozen=True)
class Done:
    """A worker has finished its item; with an ``error`` there is no result."""

    worker: int
    result: Any = None
    error: Exception | None = None


@dataclass(frozen=True)
class Died:
    """A worker died and its item is lost; ``how`` goes into error messages."""

    worker: int
    how: str


Event = Ready | Done | Died


def attempt(work: Callable[[], Any]) -> tuple[Any, Exception | None]:
    """Return ``(result, None)`` or ``(None, error)``; the error is always picklable.

    >>> attempt(lambda: 1)
    (1, None)
    >>> attempt(lambda: [][0])
    (None, IndexError('list index out of range'))
    """
    try:
        return work(), None
    except Exception as error:
        try:
            # Some exceptions pickle but do not unpickle (constructors with other arguments).
            pickle.loads(pickle.dumps(error))
        except Exception:
            return None, RuntimeError(f"{type(error).__name__}: {error}")
        return None, error


class Workers(Protocol):
    """Workers, addressed by slot 0, 1, …; each runs one item at a time."""

    def start(self, place: int) -> None:
        """Start a worker; ``wait`` later reports ``Ready`` or ``Died``."""
        ...

    def post(self, common: object) -> None:
        """Set the value shared by all items sent from now on, replacing the previous one."""
        ...

    def give(self, place: int, item: object, *, with_common: bool) -> None:
        """Send an item to an idle worker; ``wait`` later reports ``Done`` or ``Died``.

        ``with_common``: the worker also receives the posted value.
        """
        ...

    def wait(self) -> Sequence[Event]:
        """Block until something has happened, and return it."""
        ...

    def stop(self) -> None:
        """Kill or stop all workers, whatever they are doing."""
        ...


class Dispatcher:
    """A pool of up to ``most`` workers, started on demand and restarted when one dies."""

    def __init__(self, workers: Workers, most: int) -> None:
        self._workers, self._most = workers, most
        self._starting: set[int] = set()
        self._idle: set[int] = set()
        self._failed_starts = 0
        """Workers that died before they were ready, since the last successful start."""

    def map(self, items: Iterable[Any], *, ordered: bool = True) -> Iterator[Any]:
        """``Engine.map``, with the work that the workers already have."""
        return self._run(_Run(items, ordered=ordered, workers=self._most, with_common=False))

    def map_with(self, common: Any, items: Iterable[Any], *, ordered: bool = True) -> Iterator[Any]:
        """``WorkerPool.map_with``; only one map may run at a time."""
        self._workers.post(common)
        return self._run(_Run(items, ordered=ordered, workers=self._most, with_common=True))

    def _run(self, run: _Run) -> Iterator[Any]:
        try:
            while run.draw():
                self._start_for(run)
                self._hand_out(run)
                if (finished := run.next_done()) is not None:
                    yield run.result(*finished)
                else:
                    for event in self._workers.wait():
                        self._handle(event, run)
        finally:
            if run.held:  # the caller closed the iterator: these results are not collected
                self.stop()

    def stop(self) -> None:
        """Stop the workers; the next map starts new ones."""
        self._workers.stop()
        self._starting.clear()
        self._idle.clear()

    def _start_for(self, run: _Run) -> None:
        """Start as many workers as there are items for them."""
        present = self._starting | self._idle | run.held.keys()
        free = (place for place in range(self._most) if place not in present)
        wanted = min(self._most, len(run.waiting) + len(run.held))
        for place in islice(free, max(wanted - len(present), 0)):
            self._workers.start(place)
            self._starting.add(place)

    def _hand_out(self, run: _Run) -> None:
        for place in sorted(self._idle):
            if (task := run.take(place)) is not None:
                self._idle.remove(place)
                self._workers.give(place, task.item, with_common=run.with_common)

    def _handle(self, event: Event, run: _Run) -> None:
        match event:
            case Ready(place):
                self._starting.remove(place)
                self._idle.add(place)
                self._failed_starts = 0
            case Done(place):
                self._idle.add(place)
                run.done(run.held.pop(place), event)
            case Died(place, how) if place in run.held:
                run.died(run.held.pop(place), how)
            case Died(place, how):
                self._failed_starts += place in self._starting
                self._starting.discard(place)
                self._idle.discard(place)
                # Each slot may fail once by chance (out of memory, say); after more failures the item itself
                # is to blame.
                if self._failed_starts > self._most + ATTEMPTS:
                    raise WorkerError(f"workers fail to start ({how})")


@dataclass
class _Task:
    number: int
    item: Any
    deaths: int = 0


class _Run:
    """The state of one map: waiting items, items held by workers, finished items."""

    def __init__(self, items: Iterable[Any], *, ordered: bool, workers: int, with_common: bool) -> None:
        self._items = enumerate(items)
        self._count = len(items) if isinstance(items, Sized) else None
        self._ordered, self._workers, self.with_common = ordered, workers, with_common
        self._yielded = 0
        self._outcomes: dict[int, tuple[_Task, Done]] = {}
        self.waiting: deque[_Task] = deque()
        self.held: dict[int, _Task] = {}

    def draw(self) -> bool:
        """Draw one item for each worker without one; return whether anything is left to do or to yield."""
        begun = len(self.waiting) + len(self.held)
        # Unordered results leave _outcomes at once; ordered ones count, or one slow item would let it grow.
        room = min(self._workers - begun, AHEAD * self._workers - begun - len(self._outcomes))
        self.waiting.extend(_Task(number, item) for number, item in islice(self._items, max(room, 0)))
        return bool(self.waiting or self.held or self._outcomes)

    def take(self, place: int) -> _Task | None:
        """Assign an item to a worker: the one it had in the previous map if that waits, else the first."""
        if not self.waiting:
            return None
        task = next((task for task in self.waiting if task.number % self._workers == place), self.waiting[0])
        self.waiting.remove(task)
        self.held[place] = task
        return task

    def done(self, task: _Task, outcome: Done) -> None:
        self._outcomes[task.number] = (task, outcome)

    def died(self, task: _Task, how: str) -> None:
        """Retry the item of a worker that died, up to ``ATTEMPTS`` times."""
        task.deaths += 1
        if task.deaths < ATTEMPTS:
            # To the front: an ordered map may be waiting for exactly this item.
            self.waiting.appendleft(task)
            return
        message = f"its worker died {task.deaths} times, the last time with {how}"
        self.done(task, Done(-1, error=WorkerError(message)))

    def next_done(self) -> tuple[_Task, Done] | None:
        """Pop an outcome that can be yielded now."""
        if not self._ordered:
            return self._outcomes.popitem()[1] if self._outcomes else None
        outcome = self._outcomes.pop(self._yielded, None)
        self._yielded += outcome is not None
        return outcome

    def result(self, task: _Task, outcome: Done) -> Any:
        """Return the result, or raise the error with the item in its message."""
        error = outcome.error
        if error is None:
            return outcome.result
        position = f"item {task.number + 1}" + (f" of {self._count}" if self._count is not None else "")
        label = f"{position} ({_SHOWN.repr(task.item)})"
        if isinstance(error, ArcwiseError):
            # args is replaced so that the class of the error, and with it the exit status, stays.
            error.args = (f"{label}: {error}",)
            raise error
        raise RuntimeError(f"{label}: {type(error).__name__}: {error}") from error
