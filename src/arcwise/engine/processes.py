"""``Processes``: workers that are processes on this machine, each connected by a pipe."""

from __future__ import annotations

import os
import pickle
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any, Protocol

from arcwise.engine.dispatch import Died, Dispatcher, Done, Event, Ready, attempt
from arcwise.engine.protocol import Engine, Item, PoolEngine, Result, ThisProcess, WorkerPool
from arcwise.engine.shared_value import SharedValue
from arcwise.errors import OptionError

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.context import SpawnProcess


@dataclass(frozen=True)
class Processes(PoolEngine):
    """``workers`` processes on this machine, started for each ``map`` (or ``pool``) and stopped after it.

    ``work`` is written once for all workers, so it may be large (a pipeline); items are sent one by one.
    Workers are spawned and import what they need, so a script that uses them must guard its own code with
    ``if __name__ == "__main__"``. An exception in one item is raised in the caller and names the item. If a
    worker dies (killed, out of memory), another one retries its item; the third death raises ``WorkerError``.
    """

    def pool(self, work: Callable[[Item], Result]) -> AbstractContextManager[WorkerPool[Item, Result]]:
        """Use the same processes for several maps."""
        return local_pool(_LocalWorkers, work, self.workers)


@contextmanager
def local_pool(
    kind: Callable[[SharedValue, SharedValue], _LocalWorkers], work: Callable[[Item], Result], count: int
) -> Iterator[WorkerPool[Item, Result]]:
    """Run a pool of up to ``count`` local workers of some kind, and stop them at the end."""
    from multiprocessing.util import Finalize

    with SharedValue() as sent, SharedValue() as posted:
        sent.write(work)
        dispatcher = Dispatcher(kind(sent, posted), count)
        # The interpreter joins child processes at exit, so workers must stop before that.
        at_exit = Finalize(None, dispatcher.stop, exitpriority=100)
        try:
            yield dispatcher
        finally:
            at_exit()


@dataclass
class _WorkerProcess:
    process: SpawnProcess
    pipe: Connection
    starting: bool = True
    busy: bool = False


@dataclass
class _LocalWorkers:
    """``Workers`` that are processes."""

    work: SharedValue
    common: SharedValue
    running: dict[int, _WorkerProcess] = field(default_factory=dict)
    pending: list[Event] = field(default_factory=list)
    """Events that ``wait`` has not reported yet."""

    def start(self, place: int) -> None:
        from multiprocessing import get_context  # slow to import, and seldom needed

        context = get_context("spawn")  # forking a process that has threads may deadlock
        ours, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(theirs, self.work, self.common))
        process.start()
        # Otherwise the death of the worker would not close the pipe.
        theirs.close()
        self.running[place] = _WorkerProcess(process, ours)

    def post(self, common: object) -> None:
        self.common.write(common, share_arrays=True)

    def give(self, place: int, item: object, *, with_common: bool) -> None:
        worker = self.running[place]
        worker.busy = True
        try:
            worker.pipe.send((item, self.common.layout if with_common else None))
        except OSError:
            self.pending.append(self._reap(place))
        except Exception as error:  # the item cannot be pickled; nothing was sent
            worker.busy = False
            self.pending.append(Done(place, error=error))

    def wait(self) -> Sequence[Event]:
        from multiprocessing.connection import wait

        if self.pending:
            events, self.pending = self.pending, []
            return events
        places: dict[Any, int] = {worker.pipe: place for place, worker in self.running.items()}
        return [self._receive(places[pipe]) for pipe in wait(list(places))]

    def stop(self) -> None:
        for worker in self.running.values():
            if worker.busy or worker.starting:
                # kill: a busy worker would finish its item first, and its result is not needed.
                worker.process.kill()
            else:
                with suppress(OSError):
                    worker.pipe.send_bytes(b"")  # makes an idle worker exit
        for place in list(self.running):
            self._reap(place)
        self.pending.clear()

    def _receive(self, place: int) -> Event:
        worker = self.running[place]
        try:
            message = worker.pipe.recv_bytes()
        except (EOFError, OSError):
            return self._reap(place)
        if worker.starting:
            worker.starting = False
            return Ready(place)
        worker.busy = False
        outcome, unreadable = attempt(lambda: pickle.loads(message))
        return Done(place, *(outcome or (None, unreadable)))

    def _reap(self, place: int) -> Died:
        """Join a worker that has exited, and drop it."""
        worker = self.running.pop(place)
        worker.process.join()
        worker.pipe.close()
        status = worker.process.exitcode or 0
        how = f"signal {-status}" if status < 0 else f"exit status {status}"
        worker.process.close()
        return Died(place, how)


def _serve(pipe: Connection, work: SharedValue, common: SharedValue) -> None:
    """Run the items that arrive through the pipe until an empty message comes (in the worker)."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; only the caller handles it
    inbox: SimpleQueue[bytes] = SimpleQueue()
    Thread(target=_listen, args=(pipe, inbox), daemon=True).start()
    pipe.send((None, None))
    while message := inbox.get():
        outcome = attempt(lambda message=message: run_item(work, common, message))  # type: ignore[misc]
        try:
            pipe.send(outcome)
        except OSError:
            return  # the caller has exited
        except Exception as error:  # the result cannot be pickled; nothing was sent
            pipe.send((None, RuntimeError(f"{type(error).__name__}: {error}")))
        del outcome, message  # frees their memory while waiting for the next item


class _HasValue(Protocol):
    def value(self) -> Any: ...


def run_item(work: _HasValue, common: SharedValue, message: bytes) -> Any:
    """Apply the work to the item of a message, and to the posted value if the message refers to it."""
    item, layout = pickle.loads(message)
    return work.value()(item if layout is None else (common.value(layout), item))


def _listen(pipe: Connection, inbox: SimpleQueue[bytes]) -> None:
    """Receive messages in a thread, so that a worker exits with its caller even in the middle of an item."""
    try:
        while True:
            inbox.put(pipe.recv_bytes())
    except (EOFError, OSError):
        os._exit(1)


ENGINES = {
    "local": "processes of this machine",
    "ray": "a Ray cluster, or Ray on this machine",
}
"""Name → description."""


def engine_of(
    name: str = "local", *, workers: int = 1, address: str | None = None, threads: int = 1
) -> Engine:
    """Create the engine ``name`` with this many workers.

    ``address``: a running cluster (Ray only). ``threads``: cores that Ray reserves for each worker.
    Starts nothing, but raises ``MissingExtraError`` if Ray is needed and not installed.

    >>> engine_of("local", workers=2)
    Processes(workers=2)
    """
    if name not in ENGINES:
        raise OptionError("engine", f"found {name!r}, expected {' or '.join(ENGINES)}")
    if workers < 1:
        raise OptionError("workers", f"found {workers}, expected at least 1")
    if name == "ray":
        # Imported when chosen: Ray is optional.
        from arcwise.engine.ray_engine import RayEngine

        return RayEngine(workers=workers, address=address, threads=threads)
    if address is not None:
        raise OptionError("address", f"found {address!r}, but only the engine ray takes an address")
    return local_engine(workers)


def local_engine(processes: int) -> Engine:
    """Create an engine with this many processes on this machine; 1 means the current process.

    >>> local_engine(1), local_engine(4)
    (ThisProcess(), Processes(workers=4))
    """
    return ThisProcess() if processes == 1 else Processes(processes)


def cores() -> int:
    """Number of cores this process may use."""
    # Affinity, not cpu_count: a container or a batch system may allow fewer cores.
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def threads_of_each(workers: int, wanted: int) -> int:
    """Threads per worker on this machine: as requested, limited by the number of cores.

    >>> threads_of_each(10_000, 8)
    1
    """
    return max(1, min(wanted, cores() // workers))
