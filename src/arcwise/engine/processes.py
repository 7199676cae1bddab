"""``Processes``: workers that are processes of this machine, each at the other end of a pipe."""

from __future__ import annotations

import os
import pickle
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any, Protocol

from arcwise.engine.dispatch import Died, Dispatcher, Done, Event, Ready, attempt
from arcwise.engine.protocol import Item, Result, WorkerPool
from arcwise.engine.shared_value import SharedValue
from arcwise.errors import InputError

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.context import SpawnProcess


@dataclass(frozen=True)
class Processes:
    """``workers`` processes of this machine, started for each ``map`` (or ``pool``) and ended with it, by Ctrl-C too.

    ``work`` is written once, for all of them, so it may be large (a pipeline); items are sent one by one. Workers are started afresh
    and import what they need, so a script that uses them keeps its own work under ``if __name__ == "__main__"``. An error of one item
    is raised at the caller, and names the item. Where a worker dies (killed, or out of memory), another one does its item again; the
    third time it is ``WorkerError``.
    """

    workers: int

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise InputError(f"workers: found {self.workers}, expected at least 1")

    def map(
        self, work: Callable[[Item], Result], items: Iterable[Item], *, ordered: bool = True
    ) -> Iterator[Result]:
        """``work(item)`` of each item, in order or as they are done."""
        with self.pool(work) as pool:
            yield from pool.map(items, ordered=ordered)

    @contextmanager
    def pool(self, work: Callable[[Item], Result]) -> Iterator[WorkerPool[Item, Result]]:
        """The same processes for several maps."""
        from multiprocessing.util import Finalize

        with SharedValue() as sent, SharedValue() as posted:
            sent.write(work)
            dispatcher = Dispatcher(_LocalWorkers(sent, posted), self.workers)
            at_exit = Finalize(
                None, dispatcher.stop, exitpriority=100
            )  # Python waits for processes as it ends
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
    untold: list[Event] = field(default_factory=list)

    def start(self, place: int) -> None:
        from multiprocessing import get_context  # slow to import, and seldom needed

        context = get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(theirs, self.work, self.common))
        process.start()
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
            self.untold.append(self._reap(place))
        except Exception as error:  # it cannot be pickled, and nothing was sent
            worker.busy = False
            self.untold.append(Done(place, error=error))

    def wait(self) -> Sequence[Event]:
        from multiprocessing.connection import wait

        if self.untold:
            told, self.untold = self.untold, []
            return told
        places: dict[Any, int] = {worker.pipe: place for place, worker in self.running.items()}
        return [self._heard(places[pipe]) for pipe in wait(list(places))]

    def stop(self) -> None:
        for worker in self.running.values():
            if worker.busy or worker.starting:
                worker.process.kill()
            else:
                with suppress(OSError):
                    worker.pipe.send_bytes(b"")  # it ends
        for place in list(self.running):
            self._reap(place)
        self.untold.clear()

    def _heard(self, place: int) -> Event:
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
        """Wait for the end of a worker, and forget it."""
        worker = self.running.pop(place)
        worker.process.join()
        worker.pipe.close()
        status = worker.process.exitcode or 0
        how = f"signal {-status}" if status < 0 else f"exit status {status}"
        worker.process.close()
        return Died(place, how)


# ---- in a worker


def _serve(pipe: Connection, work: SharedValue, common: SharedValue) -> None:
    """Do what comes through the pipe, until an empty message comes. Ctrl-C is for the caller to handle."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    inbox: SimpleQueue[bytes] = SimpleQueue()
    Thread(target=_listen, args=(pipe, inbox), daemon=True).start()
    pipe.send((None, None))
    while message := inbox.get():
        outcome = attempt(lambda message=message: done(work, common, message))  # type: ignore[misc]
        try:
            pipe.send(outcome)
        except OSError:
            return  # the caller is no more
        except Exception as error:  # the result cannot be pickled, and nothing was sent
            pipe.send((None, RuntimeError(f"{type(error).__name__}: {error}")))
        del outcome, message  # not kept while waiting for the next


class _HasValue(Protocol):
    def value(self) -> Any: ...


def done(work: _HasValue, common: SharedValue, message: bytes) -> Any:
    """What the work makes of a message: of its item, and of what was posted if that goes with it."""
    item, layout = pickle.loads(message)
    return work.value()(item if layout is None else (common.value(layout), item))


def _listen(pipe: Connection, inbox: SimpleQueue[bytes]) -> None:
    """Take in what the caller sends; a worker that it has let go of, or that has outlived it, ends at once."""
    try:
        while True:
            inbox.put(pipe.recv_bytes())
    except (EOFError, OSError):
        os._exit(1)
