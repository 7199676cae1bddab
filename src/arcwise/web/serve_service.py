"""The service of ``arcwise serve``: workers that share a port, each running the application."""

from __future__ import annotations

import contextlib
import resource
import signal
import socket
from collections.abc import Callable
from typing import Any

from arcwise.web.serve_access import RequestGate
from arcwise.web.serve_app import LINGER, ServeApp
from arcwise.web.serve_limits import Limits
from arcwise.web.serve_metrics import ServiceMetrics
from arcwise.web.serve_models import Models
from arcwise.web.serve_workers import GRACE, Say, Supervisor
from arcwise.web.server import serve

MAX_HEAD = 65536
"""Maximum bytes of the request line and the headers."""


def run_service(
    models: Models,
    sockets: list[socket.socket],
    *,
    limits: Limits,
    allow_origin: str | None,
    say: Say,
    started: Callable[[], None],
    reload: Callable[[], Models] | None = None,
    gate: RequestGate | None = None,
) -> bool:
    """Serve until SIGTERM or Ctrl-C, with a worker for each socket. Returns whether it ended normally.

    ``reload``: opens the models again at SIGHUP. ``gate``: API keys and the rate limit.
    """
    # Each connection is a descriptor, and many systems start with 1024.
    _raise_file_limit()
    # Two rows for each worker: while models are reloaded, an old and a new one run at the same time.
    meter = ServiceMetrics(2 * len(sockets), [model.name for model in models.all])
    served = [models]

    def reload_models() -> None:
        if reload is not None:
            served[0] = reload()

    def work(number: int, listening: socket.socket, alive: int) -> None:
        app = ServeApp(
            served[0], limits=limits, meter=meter.of_worker(number), allow_origin=allow_origin, gate=gate
        )
        serve(
            app,
            listening,
            stopping=app.stopping,
            signals=(signal.SIGTERM,),
            alive=alive,
            settings={
                "http": timeout_protocol(limits.idle_seconds, limits.max_seconds),
                "timeout_keep_alive": max(1, round(limits.idle_seconds)),
                # Less than GRACE: workers end by themselves before the supervisor kills them.
                "timeout_graceful_shutdown": int(GRACE) - 2,
                "backlog": 1024,
            },
        )

    supervisor = Supervisor(
        sockets,
        work,
        say=say,
        restarted=meter.restarted,
        beats=meter.beats,
        stall_seconds=limits.stall_seconds,
        reload=reload_models,
    )
    return supervisor.run(started)


def timeout_protocol(idle: float, unread: float) -> Any:
    """uvicorn's protocol with timeouts that it lacks.

    uvicorn waits forever for the rest of a request line or of headers, and for a client that does not read
    its response. This protocol closes a connection after ``idle`` seconds without a complete head of a
    request, and after ``unread`` seconds in which a response could not be sent. It refuses a request line or
    headers that never end.
    """
    # Not the automatic choice: without httptools it takes h11, which answers a request that is hidden behind
    # Content-Length and chunked together.
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

    base: Any = HttpToolsProtocol

    class TimeoutProtocol(base):  # type: ignore[misc]
        _timer: Any = None
        _unread: Any = None
        _head = 0
        _refused = False

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._timer = self.loop.call_later(idle, self._time_out)

        def data_received(self, data: bytes) -> None:
            if self._refused:
                return
            if not self._has_request() and self._head_too_long(data):
                return self._refuse()
            super().data_received(data)
            if self._has_request():
                self._cancel_timer()
                self._head = 0
            elif self._timer is None:
                self._timer = self.loop.call_later(idle, self._time_out)

        def _head_too_long(self, data: bytes) -> bool:
            """Whether the request line and the headers exceed the limit."""
            end = data.find(b"\r\n\r\n")
            self._head += len(data) if end < 0 else end
            return self._head > MAX_HEAD

        def _refuse(self) -> None:
            """Send status 431, which neither of uvicorn's two protocols sends."""
            self._refused = True
            message = (
                f"address: found more than {MAX_HEAD} bytes of address and headers; send the data as a form\n"
            )
            head = (
                "HTTP/1.1 431 Request Header Fields Too Large\r\nContent-Type: text/plain; charset=utf-8\r\n"
                f"Content-Length: {len(message)}\r\nConnection: close\r\n\r\n"
            )
            self.transport.write((head + message).encode())
            self.loop.call_later(LINGER, self._close)

        def pause_writing(self) -> None:
            super().pause_writing()
            # abort, not close: close would wait for the client that does not read.
            self._unread = self.loop.call_later(unread, self.transport.abort)

        def resume_writing(self) -> None:
            super().resume_writing()
            self._unread.cancel()

        def connection_lost(self, exc: Exception | None) -> None:
            self._cancel_timer()
            if self._unread is not None:
                self._unread.cancel()
            super().connection_lost(exc)

        def timeout_keep_alive_handler(self) -> None:
            self._close()

        def _has_request(self) -> bool:
            """Whether there is a request whose headers are complete and whose response is not."""
            return self.cycle is not None and not self.cycle.response_complete

        def _time_out(self) -> None:
            self._timer = None
            if not self._has_request():
                self._close()

        def _close(self) -> None:
            """Close without waiting for a client that does not read."""
            if self.transport.get_write_buffer_size():
                self.transport.abort()
            elif not self.transport.is_closing():
                self.transport.close()

        def _cancel_timer(self) -> None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

    return TimeoutProtocol


def _raise_file_limit() -> None:
    """Allow as many open connections as the system does."""
    _, hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    target = 65536 if hard_limit == resource.RLIM_INFINITY else hard_limit
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (target, hard_limit))
