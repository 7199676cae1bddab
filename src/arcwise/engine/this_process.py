"""``ThisProcess``: one item after the other, here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Generic

from arcwise.engine.protocol import Crew, Item, Result


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

    def crew(self, work: Callable[[Item], Result]) -> AbstractContextManager[Crew[Item, Result]]:
        """This process, for several maps.

        >>> with ThisProcess().crew(abs) as crew:
        ...     list(crew.map([-1])), list(crew.map([-2]))
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
