"""``Engine`` and ``WorkerPool``: the interface of all engines; ``ThisProcess``: the simplest one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from arcwise.errors import InputError

Item = TypeVar("Item")
Result = TypeVar("Result")
PoolItem = TypeVar("PoolItem", contravariant=True)
PoolResult = TypeVar("PoolResult", covariant=True)


class WorkerPool(Protocol, Generic[PoolItem, PoolResult]):
    """Workers that keep their work function, and whatever it caches, over several maps."""

    def map(self, items: Iterable[PoolItem], *, ordered: bool = True) -> Iterator[PoolResult]:
        """Yield ``work(item)`` for each item, like ``Engine.map``.

        With as many items as workers, each worker gets the item at the same position as in the previous
        map, as long as it is alive: what it cached for that item (prepared training data) is reused.
        """
        ...

    def map_with(self, common: Any, items: Iterable[Any], *, ordered: bool = True) -> Iterator[PoolResult]:
        """Yield ``work((common, item))`` for each item.

        ``common`` is written once for all workers, however large it is. Workers must not modify it (its
        arrays may be read-only).
        """
        ...


class Engine(Protocol):
    """Applies the same work to many items. Work and items must be picklable: other processes may run them.

    If a worker dies, its items run again; ``work(item)`` may therefore run more than once.
    """

    def map(
        self, work: Callable[[Item], Result], items: Iterable[Item], *, ordered: bool = True
    ) -> Iterator[Result]:
        """Yield ``work(item)`` for each item.

        Results come in the order of the items or, if not ``ordered``, as they finish. Items are consumed on
        demand, so the iterable may be endless. Closing the iterator (or Ctrl-C) cancels unfinished work.
        """
        ...

    def pool(self, work: Callable[[Item], Result]) -> AbstractContextManager[WorkerPool[Item, Result]]:
        """Start workers for several maps with the same work; they stop at the end of the ``with`` block."""
        ...


@dataclass(frozen=True)
class PoolEngine:
    """Base of the engines with ``workers`` outside this process, which define ``pool``."""

    workers: int

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise InputError(f"workers: found {self.workers}, expected at least 1")

    def map(
        self, work: Callable[[Item], Result], items: Iterable[Item], *, ordered: bool = True
    ) -> Iterator[Result]:
        """Yield ``work(item)`` for each item, in order or as they finish."""
        with self.pool(work) as pool:
            yield from pool.map(items, ordered=ordered)

    def pool(self, work: Callable[[Item], Result]) -> AbstractContextManager[WorkerPool[Item, Result]]:
        """Use the same workers for several maps."""
        raise NotImplementedError


@dataclass(frozen=True)
class ThisProcess:
    """Runs items one after another in this process, each when its result is requested.

    >>> list(ThisProcess().map(abs, [-2, 1]))
    [2, 1]
    """

    def map(
        self, work: Callable[[Item], Result], items: Iterable[Item], *, ordered: bool = True
    ) -> Iterator[Result]:
        """Yield ``work(item)`` for each item, in order."""
        return map(work, items)

    def pool(self, work: Callable[[Item], Result]) -> AbstractContextManager[WorkerPool[Item, Result]]:
        """Use this process for several maps.

        >>> with ThisProcess().pool(abs) as pool:
        ...     list(pool.map([-1])), list(pool.map([-2]))
        ([1], [2])
        """
        return nullcontext(_InlinePool(work))


@dataclass(frozen=True)
class _InlinePool(Generic[Item, Result]):
    work: Callable[[Item], Result]

    def map(self, items: Iterable[Item], *, ordered: bool = True) -> Iterator[Result]:
        return map(self.work, items)

    def map_with(self, common: Any, items: Iterable[Any], *, ordered: bool = True) -> Iterator[Result]:
        return map(self.work, ((common, item) for item in items))  # type: ignore[arg-type]
