"""Handing out items to workers that may die: which is done next, what is done again, in which order results come.

Engines differ in what a worker is (``Workers``); this is the same for all of them.
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
"""An item whose worker died so many times is given up."""
AHEAD = 16
"""Results in order: so many items a worker are done ahead of the one that is waited for."""

_SHOWN = Repr()
_SHOWN.maxother = _SHOWN.maxstring = 80


@dataclass(frozen=True)
class Ready:
    """A worker has started."""

    worker: int


@dataclass(frozen=True)
class Done:
    """A worker is done with its item; with an ``error`` there is no result."""

    worker: int
    result: Any = None
    error: Exception | None = None


@dataclass(frozen=True)
class Died:
    """A worker is no more, and with it what it did; ``how`` is for people."""

    worker: int
    how: str


Event = Ready | Done | Died


def attempt(work: Callable[[], Any]) -> tuple[Any, Exception | None]:
    """What ``work`` gives, or its error; an error that cannot be pickled is told in words.

    >>> attempt(lambda: 1)
    (1, None)
    >>> attempt(lambda: [][0])
    (None, IndexError('list index out of range'))
    """
    try:
        return work(), None
    except Exception as error:
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:
            return None, RuntimeError(f"{type(error).__name__}: {error}")
        return None, error


class Workers(Protocol):
    """Workers by their places 0, 1, …; each has one item at a time."""

    def start(self, place: int) -> None:
        """Start a worker; ``Ready`` or ``Died`` is told of it later."""
        ...

    def post(self, common: object) -> None:
        """What the items given from now on have in common, in the place of what was posted before."""
        ...

    def give(self, place: int, item: object, *, with_common: bool) -> None:
        """An item for a worker that is ready; ``Done`` or ``Died`` is told of it later. ``with_common``: it goes with what was posted."""
        ...

    def wait(self) -> Sequence[Event]:
        """What has happened; waits until something has."""
        ...

    def stop(self) -> None:
        """End all workers, whatever they do."""
        ...


class Dispatcher:
    """A pool of up to ``most`` workers. They are started as items need them, and again where one died."""

    def __init__(self, workers: Workers, most: int) -> None:
        self._workers, self._most = workers, most
        self._starting: set[int] = set()
        self._idle: set[int] = set()
        self._failed_starts = 0
        """Workers that died before they were ready, since the last one that was."""

    def map(self, items: Iterable[Any], *, ordered: bool = True) -> Iterator[Any]:
        """``Engine.map``, with the work that the workers have."""
        return self._run(_Run(items, ordered=ordered, workers=self._most, with_common=False))

    def map_with(self, common: Any, items: Iterable[Any], *, ordered: bool = True) -> Iterator[Any]:
        """``WorkerPool.map_with``: one map at a time."""
        self._workers.post(common)
        return self._run(_Run(items, ordered=ordered, workers=self._most, with_common=True))

    def _run(self, run: _Run) -> Iterator[Any]:
        try:
            while run.goes_on():
                self._start_for(run)
                self._hand_out(run)
                if (done := run.next_done()) is not None:
                    yield run.result(*done)
                else:
                    for event in self._workers.wait():
                        self._note(event, run)
        finally:
            if run.held:  # nobody asks for these any more
                self.stop()

    def stop(self) -> None:
        """End the workers; the next map starts others."""
        self._workers.stop()
        self._starting.clear()
        self._idle.clear()

    def _start_for(self, run: _Run) -> None:
        """So many workers as there are items, if they are not there already."""
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

    def _note(self, event: Event, run: _Run) -> None:
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
                if self._failed_starts > self._most + ATTEMPTS:
                    raise WorkerError(f"workers die as they start ({how})")


@dataclass
class _Task:
    number: int
    item: Any
    deaths: int = 0


class _Run:
    """One map: which items wait, which are held by whom, which are done."""

    def __init__(self, items: Iterable[Any], *, ordered: bool, workers: int, with_common: bool) -> None:
        self._items = enumerate(items)
        self._count = len(items) if isinstance(items, Sized) else None
        self._ordered, self._workers, self.with_common = ordered, workers, with_common
        self._given_on = 0
        self._outcomes: dict[int, tuple[_Task, Done]] = {}
        self.waiting: deque[_Task] = deque()
        self.held: dict[int, _Task] = {}

    def goes_on(self) -> bool:
        """Draw the items that can be begun, one for each worker without one; whether anything is left."""
        begun = len(self.waiting) + len(self.held)
        room = min(self._workers - begun, AHEAD * self._workers - begun - len(self._outcomes))
        self.waiting.extend(_Task(number, item) for number, item in islice(self._items, max(room, 0)))
        return bool(self.waiting or self.held or self._outcomes)

    def take(self, place: int) -> _Task | None:
        """The item for the worker of this place: the one that it had in the last map, if it waits, or the first that does."""
        if not self.waiting:
            return None
        own = next((task for task in self.waiting if task.number % self._workers == place), self.waiting[0])
        self.waiting.remove(own)
        self.held[place] = own
        return own

    def done(self, task: _Task, outcome: Done) -> None:
        self._outcomes[task.number] = (task, outcome)

    def died(self, task: _Task, how: str) -> None:
        """Its worker died: it is done again, unless that happened too often."""
        task.deaths += 1
        if task.deaths < ATTEMPTS:
            self.waiting.appendleft(task)
            return
        told = f"its worker died {task.deaths} times, the last time with {how}"
        self.done(task, Done(-1, error=WorkerError(told)))

    def next_done(self) -> tuple[_Task, Done] | None:
        """An outcome that can be given on now."""
        if not self._ordered:
            return self._outcomes.popitem()[1] if self._outcomes else None
        found = self._outcomes.pop(self._given_on, None)
        self._given_on += found is not None
        return found

    def result(self, task: _Task, outcome: Done) -> Any:
        """The result; or the error, which names the item."""
        error = outcome.error
        if error is None:
            return outcome.result
        place = f"item {task.number + 1}" + (f" of {self._count}" if self._count is not None else "")
        named = f"{place} ({_SHOWN.repr(task.item)})"
        if isinstance(error, ArcwiseError):
            error.args = (f"{named}: {error}",)
            raise error
        raise RuntimeError(f"{named}: {type(error).__name__}: {error}") from error
