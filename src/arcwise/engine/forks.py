"""``Forks``: processes of this machine that share the memory of what their work holds.

A *nursery*, a process that is started afresh and has one thread alone, reads the work, lets it prepare itself (open a model) and forks the
workers. What was in its memory before a fork is there once for all of them.
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
import socket
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from arcwise.engine.dispatch import Died, Dispatcher, attempt
from arcwise.engine.processes import _LocalWorkers, _WorkerProcess, done
from arcwise.engine.protocol import Item, Result, WorkerPool
from arcwise.engine.shared_value import SharedValue
from arcwise.errors import InputError

if TYPE_CHECKING:
    from multiprocessing.context import SpawnProcess

_WORKER_ENV = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "MALLOC_MMAP_THRESHOLD_": "262144",
    "MALLOC_TRIM_THRESHOLD_": "262144",
}
"""Variables that other libraries read as a process starts. Workers are as many as there are cores, so each has one thread; and what a worker
frees goes back to the system (glibc keeps it otherwise: 35 MB a worker of a corpus, and not 13)."""


@dataclass(frozen=True)
class Forks:
    """``workers`` processes of this machine, like ``Processes``, for work that holds much: each has little memory of its own.

    Work that has a method ``prepare`` is prepared once, before workers are forked; it must not leave threads behind. A worker that
    dies is forked again, and so is what forks them. Where the caller itself is killed, workers end what they are doing, then themselves.
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
            dispatcher = Dispatcher(_ForkedWorkers(sent, posted), self.workers)
            at_exit = Finalize(None, dispatcher.stop, exitpriority=100)
            try:
                yield dispatcher
            finally:
                at_exit()


@dataclass
class _ForkServer:
    process: SpawnProcess
    requests: socket.socket


@dataclass
class _ForkedWorkers(_LocalWorkers):
    """``Workers`` that a nursery forks. They are ended all together, as the group of processes that it and they are."""

    nursery: _ForkServer | None = None
    groups: list[int] = field(default_factory=list)
    """Those of earlier nurseries too, whose workers may still be there."""

    def start(self, place: int) -> None:
        from multiprocessing import Pipe

        ours, theirs = Pipe()
        try:
            self._ask_for_worker(theirs.fileno())
        finally:
            theirs.close()
        self.running[place] = _WorkerProcess(None, ours)  # type: ignore[arg-type]

    def _ask_for_worker(self, pipe: int) -> None:
        """One end of a pipe for the nursery, which forks a worker for it; a dead nursery is replaced."""
        if self.nursery is not None and self.nursery.process.is_alive():
            with suppress(OSError):  # it is dying
                socket.send_fds(self.nursery.requests, [b"1"], [pipe])
                return
        self._end_nursery()
        self.nursery = _started(self.work, self.common)
        self.groups.append(self.nursery.process.pid or 0)
        with suppress(OSError):  # it died just now: the pipe is closed with it, and its worker counts as dead
            socket.send_fds(self.nursery.requests, [b"1"], [pipe])

    def stop(self) -> None:
        for group in filter(None, self.groups):
            with suppress(OSError):
                os.killpg(group, signal.SIGKILL)
        self.groups.clear()
        for place in list(self.running):
            self._reap(place)
        self.untold.clear()
        self._end_nursery()

    def _reap(self, place: int) -> Died:
        self.running.pop(place).pipe.close()
        return Died(place, "a signal or a fault")

    def _end_nursery(self) -> None:
        if self.nursery is not None:
            self.nursery.requests.close()
            self.nursery.process.join()
            self.nursery = None


def _started(work: SharedValue, common: SharedValue) -> _ForkServer:
    """A new nursery."""
    from multiprocessing import get_context

    ours, theirs = socket.socketpair()
    process = get_context("spawn").Process(target=_nurse, args=(theirs, work, common))
    with _worker_environment():
        process.start()
    theirs.close()
    return _ForkServer(process, ours)


@contextmanager
def _worker_environment() -> Iterator[None]:
    """Processes that are started here are modest, unless the user said otherwise."""
    unset = {name: value for name, value in _WORKER_ENV.items() if name not in os.environ}
    os.environ.update(unset)
    try:
        yield
    finally:
        for name in unset:
            os.environ.pop(name, None)


# ---- in the nursery, and in a worker


@dataclass(frozen=True)
class _Prepared:
    """Work that is in memory already; or why it is not, which every item then tells."""

    work: Any
    error: Exception | None

    def value(self) -> Any:
        """The work."""
        if self.error is not None:
            raise self.error
        return self.work


def _prepared(written: SharedValue) -> Any:
    work = written.value()
    prepare = getattr(work, "prepare", None)
    if prepare is not None:
        prepare()
    return work


def _nurse(requests: socket.socket, written: SharedValue, common: SharedValue) -> None:
    """Prepare the work; then fork a worker for each pipe that comes, until the caller is gone. Ctrl-C is for the caller to handle."""
    os.setpgid(0, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody asks how workers ended: they are gone at once
    prepared = _Prepared(*attempt(lambda: _prepared(written)))
    gc.collect()
    gc.freeze()  # the collector would write to pages that are shared
    while True:
        request, pipes, _, _ = socket.recv_fds(requests, 1, 1)
        if not request:
            break
        if os.fork() == 0:
            requests.close()
            _work(pipes[0], prepared, common)
        os.close(pipes[0])


def _work(descriptor: int, prepared: _Prepared, common: SharedValue) -> None:
    """Do what comes through the pipe, until the caller is gone. There is one thread alone: what was begun is ended first."""
    from multiprocessing.connection import Connection

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    pipe = Connection(descriptor)
    try:
        pipe.send((None, None))
        while True:
            outcome = _outcome(pipe.recv_bytes(), prepared, common)
            pipe.send_bytes(outcome)
    except (EOFError, OSError):
        pass
    finally:
        os._exit(0)


def _outcome(message: bytes, prepared: _Prepared, common: SharedValue) -> bytes:
    """The result of an item, or the error, pickled."""
    outcome = attempt(lambda: done(prepared, common, message))
    sent, unsendable = attempt(lambda: pickle.dumps(outcome))
    return sent if unsendable is None else pickle.dumps((None, unsendable))
