"""``RayEngine``: workers that are actors of a Ray cluster (https://ray.io).

Ray starts and places the actors and notices when they die; items are scheduled as for local processes.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from arcwise.engine.dispatch import Died, Dispatcher, Done, Event, Ready, attempt
from arcwise.engine.protocol import Item, PoolEngine, Result, WorkerPool
from arcwise.errors import InputError
from arcwise.optional import require


@dataclass(frozen=True)
class RayEngine(PoolEngine):
    """``workers`` actors with ``threads`` cores each, on whichever machines of the cluster have room.

    ``address``: a running cluster (``auto``, ``10.0.0.1:6379``); without one, the cluster of ``RAY_ADDRESS``,
    or Ray on this machine. All machines need the same version of arcwise. ``work`` goes into Ray's object
    store once. If a worker or a machine dies, another worker retries its items, up to three times. The engine
    does not wait for workers that have no room yet.
    """

    address: str | None = None
    threads: int = 1
    """Cores per worker."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.threads < 1:
            raise InputError(f"threads: found {self.threads}, expected at least 1")
        require("ray")

    @contextmanager
    def pool(self, work: Callable[[Item], Result]) -> Iterator[WorkerPool[Item, Result]]:
        """Use the same actors for several maps."""
        ray = _connect(self.address)
        actors = _RayWorkers(ray, ray.put(ray.cloudpickle.dumps(work)), self.threads)
        dispatcher = Dispatcher(actors, self.workers)
        try:
            yield dispatcher
        finally:
            dispatcher.stop()


def _connect(address: str | None) -> Any:
    """Connect to the cluster (until this process ends), and return the module ray."""
    import logging

    import ray

    if not ray.is_initialized():
        try:
            # Ray's own log lines would interleave with the progress display.
            ray.init(address=address, logging_level=logging.ERROR, log_to_driver=False)
        except (ConnectionError, ValueError, RuntimeError) as error:
            cluster = "Ray on this machine" if address is None else f"the Ray cluster at {address}"
            reason = str(error).strip().partition("\n")[0]
            raise InputError(f"address: {cluster} does not respond: {reason}") from error
    return ray


@dataclass
class _RayWorkers:
    """``Workers`` that are actors.

    Everything travels as bytes: arrays that Ray unpickles itself would be read-only.
    """

    ray: Any
    work: Any
    """Reference to the pickled work in the object store."""
    threads: int = 1
    common: Any = None
    """Reference to the posted value in the object store."""
    actors: dict[int, Any] = field(default_factory=dict)
    awaited: dict[Any, int] = field(default_factory=dict)
    """Reference to a future result → slot of its worker."""
    starting: set[int] = field(default_factory=set)
    pending: list[Event] = field(default_factory=list)

    def start(self, place: int) -> None:
        # No restarts by Ray: the dispatcher starts a new worker and retries the item.
        actor = self.ray.remote(num_cpus=self.threads, max_restarts=0)(_WorkerActor).remote([self.work])
        self.actors[place] = actor
        self.starting.add(place)
        self.awaited[actor.ready.remote()] = place

    def post(self, common: object) -> None:
        # Straight into the object store, where all workers of a machine map the same copy.
        self.common = self.ray.put(common)

    def give(self, place: int, item: object, *, with_common: bool) -> None:
        pickled, error = attempt(lambda: self.ray.cloudpickle.dumps(item))
        if error is not None:
            self.pending.append(Done(place, error=error))
            return
        common = (self.common,) if with_common else ()
        self.awaited[self.actors[place].do.remote(pickled, *common)] = place

    def wait(self) -> Sequence[Event]:
        if self.pending:
            return [self.pending.pop()]
        self.ray.wait(list(self.awaited), num_returns=1)
        # Collect everything that is ready: with a thousand workers, each call of wait costs more than its
        # events.
        ready, _ = self.ray.wait(list(self.awaited), num_returns=len(self.awaited), timeout=0)
        return [self._event(reference, self.awaited.pop(reference)) for reference in ready]

    def stop(self) -> None:
        for actor in self.actors.values():
            self.ray.kill(actor)
        self.actors.clear()
        self.awaited.clear()
        self.starting.clear()
        self.pending.clear()

    def _event(self, reference: Any, place: int) -> Event:
        try:
            answer = self.ray.get(reference)
        except self.ray.exceptions.RayError as error:
            # The worker, its machine or the network failed: errors of the work itself come back as values.
            self.ray.kill(self.actors.pop(place))
            self.starting.discard(place)
            return Died(place, str(error).strip().partition("\n")[0])
        if place in self.starting:
            self.starting.remove(place)
            return Ready(place)
        outcome, unreadable = attempt(lambda: pickle.loads(answer))
        return Done(place, *(outcome or (None, unreadable)))


class _WorkerActor:
    """The actor: holds the work and applies it to items."""

    def __init__(self, work: list[Any]) -> None:
        """``work`` is in a list because Ray would fetch and unpickle a bare reference itself."""
        import ray

        # Fetched with the first item, not in the constructor, so that an error of unpickling is a result.
        self._work = cache(lambda: pickle.loads(ray.get(work[0])))

    def ready(self) -> None:
        """Return once the actor has started."""

    def do(self, pickled: bytes, *common: Any) -> bytes:
        """Return the pickled result or error."""
        import ray

        dumps: Any = ray.cloudpickle.dumps
        outcome = attempt(lambda: self._apply(pickle.loads(pickled), *common))
        answer, unsendable = attempt(lambda: dumps(outcome))
        return bytes(answer) if unsendable is None else pickle.dumps((None, unsendable))

    def _apply(self, item: Any, *common: Any) -> Any:
        return self._work()((*common, item) if common else item)
