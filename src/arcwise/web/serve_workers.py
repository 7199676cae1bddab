"""Worker processes that share a port, and their supervisor, which restarts workers that die.

The supervisor opens a socket for each worker (``SO_REUSEPORT``: the kernel distributes connections over them)
and keeps it open, so that a connection waiting at the socket of a killed worker is served by its successor.
Workers are forks: they share the memory of the models, and start at once.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import socket
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass

from arcwise.errors import OptionError

GRACE = 15.0
"""Seconds for workers to finish open requests during a shutdown."""
SOON = 2.0
"""A worker that ends within this many seconds has failed to start."""
PATIENCE = 5
"""Consecutive failed starts after which the service gives up."""
CHECK = 1.0
"""Seconds between two looks at the signs of life of workers."""
_SIGNALS = {signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP}
Say = Callable[[str], None]


def listening_sockets(host: str, port: int, count: int) -> list[socket.socket]:
    """Sockets that share an address; port 0 picks a free one. ``OptionError`` if the address is not
    available."""
    sockets: list[socket.socket] = []
    try:
        family, _, _, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except OSError as error:
        raise OptionError("host", f"found {host!r}, expected an address of this machine ({error})") from error
    try:
        _check_free(family, address)
        for _ in range(count):
            listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
            sockets.append(listening)
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            listening.bind(address)
            address = listening.getsockname()  # with the port that the system picked for port 0
            listening.listen(1024)
            listening.set_inheritable(True)
    except OSError as error:
        for listening in sockets:
            listening.close()
        raise OptionError(
            "port", f"found {port}, expected a free one on {host} ({error.strerror})"
        ) from error
    return sockets


def _check_free(family: int, address: tuple[object, ...]) -> None:
    """``OSError`` if another service listens there: with ``SO_REUSEPORT`` we would silently share its
    connections."""
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(address)


@dataclass
class WorkerProcess:
    pid: int
    began: float
    beats: float = 0.0
    stalled: float = 0.0
    """Seconds since the number of beats changed."""


class Supervisor:
    """Starts workers and restarts those that die. ``work(number, socket, alive)`` runs in a worker until
    SIGTERM, or until ``alive`` (the end of a pipe) closes because the supervisor has exited. ``restarted`` is
    called with the number of a worker that is restarted. ``beats(number)`` counts the heartbeats of a
    worker: one without any for ``stall_seconds`` is killed and restarted. At SIGHUP ``reload`` runs, and
    all workers are replaced by new ones, which start before the old ones finish their requests.

    ``work`` and the other functions get the number of a slot: ``slots`` are two for each worker, since an old
    and a new one run at the same time.
    """

    def __init__(
        self,
        sockets: list[socket.socket],
        work: Callable[[int, socket.socket, int], None],
        *,
        say: Say,
        restarted: Callable[[int], None] = lambda number: None,
        beats: Callable[[int], float] | None = None,
        stall_seconds: float = float("inf"),
        reload: Callable[[], None] | None = None,
    ) -> None:
        self._sockets, self._work, self._say, self._restarted = sockets, work, say, restarted
        self._beats, self._stall_seconds = beats, stall_seconds
        self._checked = time.monotonic()
        self._reload = reload
        self._generation = 0
        self._retired: set[int] = set()
        self._workers: dict[int, WorkerProcess] = {}
        self._due: dict[int, float] = {}
        self._failed_starts = 0
        self._alive, self._pulse = os.pipe()

    def run(self, started: Callable[[], None]) -> bool:
        """Run until SIGTERM or Ctrl-C. Returns false if workers could not be started."""
        # Blocked and taken by sigtimedwait: no handler runs between two statements of the supervisor.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        # A handler, so that the signal is kept for sigtimedwait even where its default is to ignore it.
        handler = signal.signal(signal.SIGCHLD, lambda *_: None)
        try:
            gc.collect()
            gc.freeze()  # a collection in a worker would write to pages that all workers share
            for number in range(len(self._sockets)):
                self._start(number)
            started()
            success = self._watch()
            self._stop()
            return success
        finally:
            signal.signal(signal.SIGCHLD, handler)
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _watch(self) -> bool:
        while self._failed_starts < PATIENCE:
            due = min(self._due.values(), default=float("inf")) - time.monotonic()
            wait = max(0.0, min(due, 60.0 if self._beats is None else CHECK))
            received = signal.sigtimedwait(_SIGNALS, wait)
            if received is not None and received.si_signo in (signal.SIGTERM, signal.SIGINT):
                return True
            if received is not None and received.si_signo == signal.SIGHUP:
                if received.si_code > 0:  # from the kernel, not from kill: the terminal was closed
                    return True
                self._replace()
            self._reap()
            self._kill_stalled()
            for number in [n for n, due in self._due.items() if due <= time.monotonic()]:
                del self._due[number]
                self._restarted(self.slot(number))
                self._start(number)
        self._say(f"{PATIENCE} workers in a row ended as soon as they were started; the service ends")
        return False

    def _replace(self) -> None:
        """Reload, and replace all workers; if reloading fails, the old ones continue."""
        if self._reload is None or self._retired:  # the last replacement is still under way
            return
        try:
            self._reload()
        except Exception as error:
            return self._say(f"reload: {error}; the service continues as before")
        self._generation += 1
        gc.collect()
        gc.freeze()
        for number, worker in list(self._workers.items()):
            self._start(number)
            self._retired.add(worker.pid)
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker.pid, signal.SIGTERM)
        self._say("reloaded")

    def slot(self, number: int) -> int:
        """The slot of the current worker with a number."""
        return number + len(self._sockets) * (self._generation % 2)

    def _start(self, number: int) -> None:
        with warnings.catch_warnings():
            # Python warns of forks with threads; those of numpy's BLAS are prepared for forks.
            warnings.simplefilter("ignore", DeprecationWarning)
            pid = os.fork()
        if pid == 0:
            self._become(number)
        self._workers[number] = WorkerProcess(pid, time.monotonic())

    def _become(self, number: int) -> None:
        """Run as a worker in the fork; never returns."""
        status = 1
        try:
            # The pipe must close with the supervisor alone, so no worker may hold its other end.
            os.close(self._pulse)
            for other in self._sockets:
                if other is not self._sockets[number]:
                    other.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.signal(signal.SIGHUP, signal.SIG_IGN)  # it is for the supervisor
            signal.signal(
                signal.SIGINT, signal.SIG_IGN
            )  # Ctrl-C reaches the whole group; the supervisor sends SIGTERM
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
            self._work(self.slot(number), self._sockets[number], self._alive)
            status = 0
        except BaseException as error:
            self._say(f"worker {number}: {type(error).__name__}: {error}")
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)

    def _reap(self) -> None:
        """Schedule the restart of workers that died: at once, or after a pause if the worker failed to
        start."""
        self._retired = {pid for pid in self._retired if not os.waitpid(pid, os.WNOHANG)[0]}
        for number, worker in list(self._workers.items()):
            pid, status = os.waitpid(worker.pid, os.WNOHANG)
            if not pid:
                continue
            del self._workers[number]
            # A worker killed by a signal did start; only a voluntary exit counts as a failed start.
            soon = time.monotonic() - worker.began < SOON and os.WIFEXITED(status)
            self._failed_starts = self._failed_starts + 1 if soon else 0
            self._due[number] = time.monotonic() + (0.5 if soon else 0.0)
            self._say(f"worker {number} (process {pid}) {_exit_reason(status)}; restarting it")

    def _kill_stalled(self) -> None:
        """Kill workers that have given no sign of life for too long; ``_reap`` restarts them."""
        if self._beats is None:
            return
        now = time.monotonic()
        # At most two checks are counted, however long they took: the whole machine may have been stopped.
        elapsed, self._checked = min(now - self._checked, 2 * CHECK), now
        for number, worker in self._workers.items():
            beats = self._beats(self.slot(number))
            worker.stalled = worker.stalled + elapsed if beats == worker.beats else 0.0
            worker.beats = beats
            if worker.stalled > self._stall_seconds:
                self._say(
                    f"worker {number} (process {worker.pid}) has not answered for {worker.stalled:.0f} s"
                )
                worker.stalled = 0.0
                with contextlib.suppress(ProcessLookupError):
                    os.kill(worker.pid, signal.SIGKILL)

    def _stop(self) -> None:
        """Shut down gracefully, then kill the workers that have not ended."""
        # Its own copies would keep the port open after the workers have closed theirs.
        for listening in self._sockets:
            listening.close()
        self._signal(signal.SIGTERM)
        end = time.monotonic() + GRACE
        while (self._workers or self._retired) and time.monotonic() < end:
            received = signal.sigtimedwait(_SIGNALS, max(0.0, end - time.monotonic()))
            if received is not None and received.si_signo == signal.SIGINT:  # Ctrl-C for the second time
                break
            for number, worker in list(self._workers.items()):
                if os.waitpid(worker.pid, os.WNOHANG)[0]:
                    del self._workers[number]
            self._retired = {pid for pid in self._retired if not os.waitpid(pid, os.WNOHANG)[0]}
        self._signal(signal.SIGKILL)
        for pid in [*(worker.pid for worker in self._workers.values()), *self._retired]:
            os.waitpid(pid, 0)
        self._workers.clear()

    def _signal(self, number: int) -> None:
        for pid in [*(worker.pid for worker in self._workers.values()), *self._retired]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)


def _exit_reason(status: int) -> str:
    if os.WIFSIGNALED(status):
        return f"was killed by {signal.Signals(os.WTERMSIG(status)).name}"
    return f"ended with status {os.WEXITSTATUS(status)}"
