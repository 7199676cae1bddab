"""Several processes that serve one port, and the one that watches over them: a worker that ends is started again.

The watcher opens a socket for each worker before it starts it (``SO_REUSEPORT``: the kernel spreads connections over them) and keeps it open: a
connection that waits at the socket of a worker that was killed is served by the next one. Workers are forks, so that they share the memory
of the models and start at once.
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
"""Seconds that workers have to answer open requests after the signal to stop."""
SOON = 2.0
"""Seconds: a worker that ends sooner has failed to start."""
PATIENCE = 5
"""Workers in a row that may fail to start."""
_SIGNALS = {signal.SIGCHLD, signal.SIGTERM, signal.SIGINT}
Say = Callable[[str], None]


def listening_sockets(host: str, port: int, count: int) -> list[socket.socket]:
    """Sockets that share an address; port 0: any free one. ``OptionError`` if it cannot be listened on."""
    made: list[socket.socket] = []
    try:
        kind, _, _, _, place = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except OSError as error:
        raise OptionError("host", f"found {host!r}, expected an address of this machine ({error})") from error
    try:
        _refuse_taken(kind, place)
        for _ in range(count):
            own = socket.socket(kind, socket.SOCK_STREAM, socket.IPPROTO_TCP)
            made.append(own)
            own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            own.bind(place)
            place = own.getsockname()  # with the port that was found
            own.listen(1024)
            own.set_inheritable(True)
    except OSError as error:
        for own in made:
            own.close()
        raise OptionError(
            "port", f"found {port}, expected a free one on {host} ({error.strerror})"
        ) from error
    return made


def _refuse_taken(kind: int, place: tuple[object, ...]) -> None:
    """``OSError`` if somebody listens there: sockets that share an address would share it with another service, too."""
    with socket.socket(kind, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(place)


@dataclass
class WorkerProcess:
    pid: int
    began: float


class Supervisor:
    """Starts workers and keeps them running. ``work(number, socket, alive)`` is what a worker does: until SIGTERM, or until ``alive`` (the end of a
    pipe) closes because the watcher is gone. ``restarted``: told the number of a worker that is started again."""

    def __init__(
        self,
        sockets: list[socket.socket],
        work: Callable[[int, socket.socket, int], None],
        *,
        say: Say,
        restarted: Callable[[int], None] = lambda number: None,
    ) -> None:
        self._sockets, self._work, self._say, self._restarted = sockets, work, say, restarted
        self._workers: dict[int, WorkerProcess] = {}
        self._due: dict[int, float] = {}
        self._failed = 0
        self._alive, self._pulse = os.pipe()

    def run(self, started: Callable[[], None]) -> bool:
        """Serve until SIGTERM or Ctrl-C. Whether all went well: false if workers cannot be started."""
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        # A handler, so that the signal is kept for sigtimedwait even where its default is to ignore it.
        handler = signal.signal(signal.SIGCHLD, lambda *_: None)
        try:
            gc.collect()
            gc.freeze()  # what is there already stays in pages that all workers share
            for number in range(len(self._sockets)):
                self._start(number)
            started()
            well = self._watch()
            self._stop()
            return well
        finally:
            signal.signal(signal.SIGCHLD, handler)
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _watch(self) -> bool:
        while self._failed < PATIENCE:
            wait = max(0.0, min(self._due.values(), default=time.monotonic() + 60) - time.monotonic())
            found = signal.sigtimedwait(_SIGNALS, wait)
            if found is not None and found.si_signo in (signal.SIGTERM, signal.SIGINT):
                return True
            self._reap()
            for number in [n for n, due in self._due.items() if due <= time.monotonic()]:
                del self._due[number]
                self._restarted(number)
                self._start(number)
        self._say(f"{PATIENCE} workers in a row ended as soon as they were started; the service ends")
        return False

    def _start(self, number: int) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", DeprecationWarning
            )  # threads of numpy's library, which knows of forks
            pid = os.fork()
        if pid == 0:
            self._become(number)
        self._workers[number] = WorkerProcess(pid, time.monotonic())

    def _become(self, number: int) -> None:
        """What the fork does; it never returns."""
        status = 1
        try:
            os.close(self._pulse)
            for other in self._sockets:
                if other is not self._sockets[number]:
                    other.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to all; the watcher tells us
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
            self._work(number, self._sockets[number], self._alive)
            status = 0
        except BaseException as error:
            self._say(f"worker {number}: {type(error).__name__}: {error}")
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)

    def _reap(self) -> None:
        """Note the workers that ended, and when each is started again: at once, or after a while if it ended soon."""
        for number, worker in list(self._workers.items()):
            pid, status = os.waitpid(worker.pid, os.WNOHANG)
            if not pid:
                continue
            del self._workers[number]
            soon = time.monotonic() - worker.began < SOON and os.WIFEXITED(status)
            self._failed = self._failed + 1 if soon else 0
            self._due[number] = time.monotonic() + (0.5 if soon else 0.0)
            self._say(f"worker {number} (process {pid}) {_told(status)}; it is started again")

    def _stop(self) -> None:
        """Let workers answer what they have, then end those that have not ended."""
        for own in self._sockets:
            own.close()
        self._signal(signal.SIGTERM)
        end = time.monotonic() + GRACE
        while self._workers and time.monotonic() < end:
            found = signal.sigtimedwait(_SIGNALS, max(0.0, end - time.monotonic()))
            if found is not None and found.si_signo == signal.SIGINT:  # the second time
                break
            for number, worker in list(self._workers.items()):
                if os.waitpid(worker.pid, os.WNOHANG)[0]:
                    del self._workers[number]
        self._signal(signal.SIGKILL)
        for worker in self._workers.values():
            os.waitpid(worker.pid, 0)
        self._workers.clear()

    def _signal(self, number: int) -> None:
        for worker in self._workers.values():
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker.pid, number)


def _told(status: int) -> str:
    if os.WIFSIGNALED(status):
        return f"was killed by {signal.Signals(os.WTERMSIG(status)).name}"
    return f"ended with status {os.WEXITSTATUS(status)}"
