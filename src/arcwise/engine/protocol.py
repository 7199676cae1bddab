"""``Engine`` and ``WorkerPool``: what is asked of whoever does pieces of work."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
Given = TypeVar("Given", contravariant=True)
Made = TypeVar("Made", covariant=True)


class WorkerPool(Protocol, Generic[Given, Made]):
    """Workers that have the work already, and keep it over several maps."""

    def map(self, items: Iterable[Given], *, ordered: bool = True) -> Iterator[Made]:
        """``work(item)`` of each item, as ``Engine.map`` gives it.

        Of as many items as there are workers, each worker gets the one that it had in the map before, if it is still there: what it
        kept of its item (training data, ready to learn from) is of use again.
        """
        ...

    def map_with(self, common: Any, items: Iterable[Any], *, ordered: bool = True) -> Iterator[Made]:
        """``work((common, item))`` of each item. What the items have in common is written once for all workers, however large it is,
        and must not be changed by them (its arrays may be read-only)."""
        ...


class Engine(Protocol):
    """Does the same work on many items. ``work`` and the items must be picklable, for it may be done in other processes.

    A worker that dies costs the items that it held: they are done again. ``work(item)`` may therefore be done more than once.
    """

    def map(
        self, work: Callable[[Item], Result], items: Iterable[Item], *, ordered: bool = True
    ) -> Iterator[Result]:
        """``work(item)`` of each item, in the order of the items; not ``ordered``: as soon as each is done.

        Items are taken as they are needed, so there may be any number of them. Whoever stops asking (or is stopped by Ctrl-C) ends
        the work that is not done yet.
        """
        ...

    def pool(self, work: Callable[[Item], Result]) -> AbstractContextManager[WorkerPool[Item, Result]]:
        """Workers for several maps with the same work; they go with the end of the ``with``."""
        ...


@dataclass(frozen=True)
class ThisProcess:
    """One item after the other, each when its result is asked for.

    >>> list(ThisProcess().map(abs, [-2, 1]))
    [2, 1]
    """

    def map(
        self, work: Callable[[Item], Result], items: Iterable[Item], *, ordered: bool = True
    ) -> Iterator[Result]:
        """``work(item)`` of each item, in order or as they are done."""
        return map(work, items)

    def pool(self, work: Callable[[Item], Result]) -> AbstractContextManager[WorkerPool[Item, Result]]:
        """This process, for several maps.

        >>> with ThisProcess().pool(abs) as pool:
        ...     list(pool.map([-1])), list(pool.map([-2]))
        ([1], [2])
        """
        return nullcontext(_Alone(work))


@dataclass(frozen=True)
class _Alone(Generic[Item, Result]):
    work: Callable[[Item], Result]

    def map(self, items: Iterable[Item], *, ordered: bool = True) -> Iterator[Result]:
        return map(self.work, items)

    def map_with(self, common: Any, items: Iterable[Any], *, ordered: bool = True) -> Iterator[Result]:
        return map(self.work, ((common, item) for item in items))  # type: ignore[arg-type]
