"""``RayEngine``: workers that are actors of a cluster of Ray (https://ray.io). Ray starts them, finds room for them and notices when
they die; items are handed out as to processes."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from arcwise.engine.dispatch import Died, Dispatcher, Done, Event, Ready, attempt
from arcwise.engine.protocol import Item, Result, WorkerPool
from arcwise.errors import InputError
from arcwise.optional import require


@dataclass(frozen=True)
class RayEngine:
    """``workers`` actors with a core for each of their ``threads``, on whichever machines of the cluster have room; ``address``: of a cluster that is running
    (``auto``, ``10.0.0.1:6379``). Without one: the cluster of ``RAY_ADDRESS``, or Ray on this machine alone.

    All machines need the same arcwise. ``work`` is put into Ray's object store once. A worker or a machine that dies costs the items
    that it held: another worker does them again, up to three times. Workers for which there is no room (yet) are not waited for.
    """

    workers: int
    address: str | None = None
    threads: int = 1
    """Of each worker."""

    def __post_init__(self) -> None:
        for name, number in (("workers", self.workers), ("threads", self.threads)):
            if number < 1:
                raise InputError(f"{name}: found {number}, expected at least 1")
        require("ray")

    def map(
        self, work: Callable[[Item], Result], items: Iterable[Item], *, ordered: bool = True
    ) -> Iterator[Result]:
        """``work(item)`` of each item, in order or as they are done."""
        with self.pool(work) as pool:
            yield from pool.map(items, ordered=ordered)

    @contextmanager
    def pool(self, work: Callable[[Item], Result]) -> Iterator[WorkerPool[Item, Result]]:
        """The same actors for several maps."""
        ray = _connected(self.address)
        actors = _RayWorkers(ray, ray.put(ray.cloudpickle.dumps(work)), self.threads)
        dispatcher = Dispatcher(actors, self.workers)
        try:
            yield dispatcher
        finally:
            dispatcher.stop()


def _connected(address: str | None) -> Any:
    """Ray, connected to the cluster; it stays connected until this process ends."""
    import logging

    import ray

    if not ray.is_initialized():
        try:
            ray.init(address=address, logging_level=logging.ERROR, log_to_driver=False)
        except (ConnectionError, ValueError, RuntimeError) as error:
            where = "Ray on this machine" if address is None else f"a cluster of Ray at {address}"
            reason = str(error).strip().partition("\n")[0]
            raise InputError(f"address: {where} does not answer: {reason}") from error
    return ray


@dataclass
class _RayWorkers:
    """``Workers`` that are actors; ``work`` is where the pickled work is in the object store.

    Everything goes as bytes: what Ray unpickles itself has arrays that cannot be written to.
    """

    ray: Any
    work: Any
    threads: int = 1
    common: Any = None
    """Where what the items have in common is in the object store."""
    actors: dict[int, Any] = field(default_factory=dict)
    awaited: dict[Any, int] = field(default_factory=dict)
    """What Ray will tell → the worker that does it."""
    starting: set[int] = field(default_factory=set)
    untold: list[Event] = field(default_factory=list)

    def start(self, place: int) -> None:
        actor = self.ray.remote(num_cpus=self.threads, max_restarts=0)(_WorkerActor).remote([self.work])
        self.actors[place] = actor
        self.starting.add(place)
        self.awaited[actor.ready.remote()] = place

    def post(self, common: object) -> None:
        self.common = self.ray.put(common)

    def give(self, place: int, item: object, *, with_common: bool) -> None:
        sent, error = attempt(lambda: self.ray.cloudpickle.dumps(item))
        if error is not None:
            self.untold.append(Done(place, error=error))
            return
        common = (self.common,) if with_common else ()
        self.awaited[self.actors[place].do.remote(sent, *common)] = place

    def wait(self) -> Sequence[Event]:
        if self.untold:
            return [self.untold.pop()]
        self.ray.wait(list(self.awaited), num_returns=1)
        told, _ = self.ray.wait(list(self.awaited), num_returns=len(self.awaited), timeout=0)
        return [
            self._event(one, self.awaited.pop(one)) for one in told
        ]  # all of them: with a thousand workers asking costs more than hearing

    def stop(self) -> None:
        for actor in self.actors.values():
            self.ray.kill(actor)
        self.actors.clear()
        self.awaited.clear()
        self.starting.clear()
        self.untold.clear()

    def _event(self, told: Any, place: int) -> Event:
        try:
            answer = self.ray.get(told)
        except (
            self.ray.exceptions.RayError
        ) as error:  # the worker, its machine or the way to it; work has no such errors
            self.ray.kill(self.actors.pop(place))
            self.starting.discard(place)
            return Died(place, str(error).strip().partition("\n")[0])
        if place in self.starting:
            self.starting.remove(place)
            return Ready(place)
        outcome, unreadable = attempt(lambda: pickle.loads(answer))
        return Done(place, *(outcome or (None, unreadable)))


class _WorkerActor:
    """An actor: has the work, and does it."""

    def __init__(
        self, work: list[Any]
    ) -> None:  # in a list: what is an argument by itself, Ray brings and unpickles
        import ray

        self._work = cache(lambda: pickle.loads(ray.get(work[0])))

    def ready(self) -> None:
        """Answers when the actor has started."""

    def do(self, sent: bytes, *common: Any) -> bytes:
        """The result or the error, pickled."""
        import ray

        dumps: Any = ray.cloudpickle.dumps
        outcome = attempt(lambda: self._done(pickle.loads(sent), *common))
        answer, unsendable = attempt(lambda: dumps(outcome))
        return bytes(answer) if unsendable is None else pickle.dumps((None, unsendable))

    def _done(self, item: Any, *common: Any) -> Any:
        return self._work()((*common, item) if common else item)
