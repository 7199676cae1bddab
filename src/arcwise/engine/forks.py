"""``Forks``: processes on this machine that share the memory of their work.

A *fork server*, a freshly spawned process with a single thread, loads the work, lets it prepare itself (open
a model) and forks the workers. Memory that it filled before a fork is shared by all of them.
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from arcwise.engine.dispatch import Died, attempt
from arcwise.engine.processes import _LocalWorkers, _WorkerProcess, local_pool, run_item
from arcwise.engine.protocol import Item, PoolEngine, Result, WorkerPool
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
"""Environment of workers, read by other libraries as a process starts. There are as many workers as cores, so
each uses one thread; and glibc returns freed memory to the system (13 MB per worker instead of 35 MB when
parsing a corpus)."""


def require_fork(what: str) -> None:
    """Raise ``InputError`` where processes cannot fork, before anything starts.

    >>> require_fork("arcwise serve")
    """
    if not hasattr(os, "fork"):
        raise InputError(f"{what} needs processes that fork: on Windows, use WSL or a container")


@dataclass(frozen=True)
class Forks(PoolEngine):
    """``workers`` processes on this machine, like ``Processes``, for work that holds much memory.

    Work with a method ``prepare`` is prepared once, before workers are forked; it must not leave threads
    behind. Workers that die are forked again, and a fork server that dies is replaced. If the caller itself
    is killed, workers finish their current item, then exit.
    """

    def pool(self, work: Callable[[Item], Result]) -> AbstractContextManager[WorkerPool[Item, Result]]:
        """Use the same processes for several maps."""
        return local_pool(_ForkedWorkers, work, self.workers)


@dataclass
class _ForkServer:
    process: SpawnProcess
    requests: socket.socket


@dataclass
class _ForkedWorkers(_LocalWorkers):
    """``Workers`` forked by a fork server; they are killed together with it, as one process group."""

    server: _ForkServer | None = None
    groups: list[int] = field(default_factory=list)
    """Process groups of all fork servers so far: workers of a dead one may still be running."""

    def start(self, place: int) -> None:
        from multiprocessing import Pipe

        ours, theirs = Pipe()
        try:
            self._request_worker(theirs.fileno())
        finally:
            theirs.close()
        self.running[place] = _WorkerProcess(None, ours)  # type: ignore[arg-type]

    def _request_worker(self, pipe: int) -> None:
        """Pass one end of a pipe to the fork server, which forks a worker for it; replace a dead server."""
        if self.server is not None and self.server.process.is_alive():
            with suppress(OSError):  # it is dying
                socket.send_fds(self.server.requests, [b"1"], [pipe])
                return
        self._stop_server()
        self.server = _start_server(self.work, self.common)
        self.groups.append(self.server.process.pid or 0)
        with suppress(OSError):  # it died already: the pipe closes with it, and its worker counts as dead
            socket.send_fds(self.server.requests, [b"1"], [pipe])

    def stop(self) -> None:
        for group in filter(None, self.groups):
            with suppress(OSError):
                # The whole group: nothing else ends the workers of a dead server.
                os.killpg(group, signal.SIGKILL)
        self.groups.clear()
        for place in list(self.running):
            self._reap(place)
        self.pending.clear()
        self._stop_server()

    def _reap(self, place: int) -> Died:
        self.running.pop(place).pipe.close()
        return Died(place, "a signal or a fault")

    def _stop_server(self) -> None:
        if self.server is not None:
            self.server.requests.close()
            self.server.process.join()
            self.server = None


def _start_server(work: SharedValue, common: SharedValue) -> _ForkServer:
    from multiprocessing import get_context

    ours, theirs = socket.socketpair()
    # spawn: this process may have threads, and forking it could copy a held lock.
    process = get_context("spawn").Process(target=_run_server, args=(theirs, work, common))
    with _worker_environment():
        process.start()
    theirs.close()
    return _ForkServer(process, ours)


@contextmanager
def _worker_environment() -> Iterator[None]:
    """Set ``_WORKER_ENV`` for processes started inside the block; variables of the user win."""
    unset = {name: value for name, value in _WORKER_ENV.items() if name not in os.environ}
    os.environ.update(unset)
    try:
        yield
    finally:
        for name in unset:
            os.environ.pop(name, None)


@dataclass(frozen=True)
class _PreparedWork:
    """Work that is in memory already, or the error that every item then reports."""

    work: Any
    error: Exception | None

    def value(self) -> Any:
        """Return the work, or raise the error of its preparation."""
        if self.error is not None:
            raise self.error
        return self.work


def _prepare(written: SharedValue) -> Any:
    work = written.value()
    prepare = getattr(work, "prepare", None)
    if prepare is not None:
        prepare()
    return work


def _run_server(requests: socket.socket, written: SharedValue, common: SharedValue) -> None:
    """Prepare the work, then fork a worker for each pipe that arrives, until the caller exits."""
    # A separate process group, so that killing it does not affect the caller.
    os.setpgid(0, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the caller to handle
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps workers; this process does not wait
    prepared = _PreparedWork(*attempt(lambda: _prepare(written)))
    gc.collect()
    gc.freeze()  # otherwise the collector writes to object headers, which copies shared pages
    while True:
        request, pipes, _, _ = socket.recv_fds(requests, 1, 1)
        if not request:
            break
        if os.fork() == 0:
            # A worker that held the socket would hide the death of the server from the caller.
            requests.close()
            _run_worker(pipes[0], prepared, common)
        os.close(pipes[0])


def _run_worker(descriptor: int, prepared: _PreparedWork, common: SharedValue) -> None:
    """Run the items that arrive through the pipe until the caller exits.

    There is only one thread, so a worker finishes its item before it notices that.
    """
    from multiprocessing.connection import Connection

    # SIG_IGN is inherited by forks and would break waiting for children in the work.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    pipe = Connection(descriptor)
    try:
        pipe.send((None, None))
        while True:
            pipe.send_bytes(_outcome(pipe.recv_bytes(), prepared, common))
    except (EOFError, OSError):
        pass
    finally:
        # os._exit: a fork must not run the exit handlers of the server.
        os._exit(0)


def _outcome(message: bytes, prepared: _PreparedWork, common: SharedValue) -> bytes:
    """The pickled result of an item, or its error."""
    outcome = attempt(lambda: run_item(prepared, common, message))
    pickled, unsendable = attempt(lambda: pickle.dumps(outcome))
    return pickled if unsendable is None else pickle.dumps((None, unsendable))
