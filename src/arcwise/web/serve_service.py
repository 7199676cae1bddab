"""``arcwise serve`` as it runs: workers on one port, each with the application, its limits and its counts."""

from __future__ import annotations

import contextlib
import resource
import signal
import socket
from collections.abc import Callable
from typing import Any

from arcwise.web.serve_app import LINGER, ServeApp
from arcwise.web.serve_limits import Limits
from arcwise.web.serve_metrics import ServiceMetrics
from arcwise.web.serve_models import Models
from arcwise.web.serve_workers import GRACE, Say, Supervisor
from arcwise.web.server import serve

MAX_HEAD = 65536
"""Bytes of a request before its body: the address, with its parameters, and the headers."""


def run_service(
    models: Models,
    sockets: list[socket.socket],
    *,
    limits: Limits,
    allow_origin: str | None,
    say: Say,
    started: Callable[[], None],
) -> bool:
    """Serve until SIGTERM or Ctrl-C, a worker for each socket. Whether all went well."""
    _allow_many_files()
    meter = ServiceMetrics(len(sockets))

    def work(number: int, listening: socket.socket, alive: int) -> None:
        app = ServeApp(models, limits=limits, meter=meter.of_worker(number), allow_origin=allow_origin)
        serve(
            app,
            listening,
            stopping=app.stopping,
            signals=(signal.SIGTERM,),
            alive=alive,
            settings={
                "http": timeout_protocol(limits.idle_seconds, limits.max_seconds),
                "timeout_keep_alive": max(1, round(limits.idle_seconds)),
                "timeout_graceful_shutdown": int(GRACE) - 2,
                "backlog": 1024,
            },
        )

    return Supervisor(sockets, work, say=say, restarted=meter.restarted).run(started)


def timeout_protocol(idle: float, unread: float) -> Any:
    """uvicorn's protocol, which by itself waits for ever for the rest of a request line or of headers, and for a client that does not read its
    answer: such connections are closed after ``idle`` seconds, and after ``unread`` seconds in which more of an answer waits than should.
    A request whose address and headers do not end is refused."""
    from uvicorn.protocols.http.auto import AutoHTTPProtocol

    base: Any = AutoHTTPProtocol

    class TimeoutProtocol(base):  # type: ignore[misc]
        _alarm: Any = None
        _unread: Any = None
        _head = 0
        _refused = False

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._alarm = self.loop.call_later(idle, self._too_late)

        def data_received(self, data: bytes) -> None:
            if self._refused:
                return
            if not self._is_asking() and self._is_endless(data):
                return self._refuse()
            super().data_received(data)
            if self._is_asking():
                self._forget()
                self._head = 0
            elif self._alarm is None:
                self._alarm = self.loop.call_later(idle, self._too_late)

        def _is_endless(self, data: bytes) -> bool:
            """Whether so much came without a body that there will be no end."""
            end = data.find(b"\r\n\r\n")
            self._head += len(data) if end < 0 else end
            return self._head > MAX_HEAD

        def _refuse(self) -> None:
            """Said here: neither of uvicorn's two protocols says it."""
            self._refused = True
            told = (
                f"address: found more than {MAX_HEAD} bytes of address and headers; send the data as a form\n"
            )
            head = f"HTTP/1.1 431 Request Header Fields Too Large\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {len(told)}\r\nConnection: close\r\n\r\n"
            self.transport.write((head + told).encode())
            self.loop.call_later(LINGER, self._close)

        def pause_writing(self) -> None:
            super().pause_writing()
            self._unread = self.loop.call_later(unread, self.transport.abort)

        def resume_writing(self) -> None:
            super().resume_writing()
            self._unread.cancel()

        def connection_lost(self, exc: Exception | None) -> None:
            self._forget()
            if self._unread is not None:
                self._unread.cancel()
            super().connection_lost(exc)

        def timeout_keep_alive_handler(self) -> None:
            self._close()

        def _is_asking(self) -> bool:
            """Whether there is a request, its headers read, that is not answered yet."""
            return self.cycle is not None and not self.cycle.response_complete

        def _too_late(self) -> None:
            self._alarm = None
            if not self._is_asking():
                self._close()

        def _close(self) -> None:
            """Without waiting for a client that has left something unread."""
            if self.transport.get_write_buffer_size():
                self.transport.abort()
            elif not self.transport.is_closing():
                self.transport.close()

        def _forget(self) -> None:
            if self._alarm is not None:
                self._alarm.cancel()
                self._alarm = None

    return TimeoutProtocol


def _allow_many_files() -> None:
    """As many open connections as the system lets us have."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 65536 if most == resource.RLIM_INFINITY else most
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))
