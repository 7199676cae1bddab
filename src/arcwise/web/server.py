"""Run an ASGI application with uvicorn: socket, signals, graceful shutdown."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import signal
import socket
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from arcwise.errors import OptionError
from arcwise.optional import require
from arcwise.web.security import ADDRESS

if TYPE_CHECKING:
    from starlette.types import ASGIApp


SWITCH_INTERVAL = 0.0005
"""Thread switch interval in seconds (default 5 ms), so that requests need not wait for other threads."""
COLLECTED_OBJECTS = 20_000
"""New objects between two garbage collections (default 700). Reading a large JSON body makes a million of
them; with the default, most of its time goes to collections, during which no other thread runs."""


def require_web(*libraries: str) -> None:
    """Raise ``MissingExtraError`` unless the libraries of the extra ``web``, and these, are installed."""
    require("starlette", "uvicorn", *libraries, extra="web")


def listening_socket(port: int) -> socket.socket:
    """A socket listening on 127.0.0.1; port 0: any free one. ``OptionError`` if the port is taken."""
    # With an explicit protocol, asyncio sets TCP_NODELAY and small responses are sent at once.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((ADDRESS, port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise OptionError("port", f"found {port}, expected a free one ({error.strerror})") from error
    return listener


def serve(
    app: ASGIApp,
    listening: socket.socket,
    *,
    stopping: Callable[[], None],
    started: Callable[[], None] = lambda: None,
    signals: tuple[int, ...] = (signal.SIGINT, signal.SIGTERM),
    alive: int | None = None,
    settings: Mapping[str, Any] = {},
) -> None:
    """Serve until a signal arrives, then finish open requests and shut the application down.

    stopping: called when the signal arrives.
    started: called when the server accepts requests.
    signals: the signals that stop the server; a second one stops it at once.
    alive: the read end of a pipe; the server stops when its other end closes.
    settings: overrides of uvicorn's configuration.
    """
    import uvicorn

    class Server(uvicorn.Server):
        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            """Stop at a signal, without raising it again afterwards as uvicorn does."""
            before = {number: signal.signal(number, self.handle_exit) for number in signals}
            try:
                yield
            finally:
                for number, handler in before.items():
                    signal.signal(number, handler)

        def handle_exit(self, sig: int, frame: Any) -> None:
            stopping()
            self.force_exit = self.should_exit  # at the second signal
            self.should_exit = True

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if alive is not None:
                asyncio.get_running_loop().add_reader(alive, self._orphaned, alive)
            started()

        def _orphaned(self, alive: int) -> None:
            """Stop because the supervising process has exited."""
            asyncio.get_running_loop().remove_reader(alive)
            self.handle_exit(signal.SIGTERM, None)

    defaults: dict[str, Any] = {
        "log_level": "error",
        "access_log": False,
        "server_header": False,
        "date_header": False,
        "proxy_headers": False,
        "ws": "none",
        "timeout_graceful_shutdown": 5,
        "lifespan": "on",
    }
    config = uvicorn.Config(app, **{**defaults, **settings})
    before, thresholds = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(SWITCH_INTERVAL)
    gc.set_threshold(COLLECTED_OBJECTS, *thresholds[1:])
    gc.freeze()  # long-lived objects: keep them out of collections, which would delay requests
    try:
        Server(config).run(sockets=[listening])
    finally:
        sys.setswitchinterval(before)
        gc.set_threshold(*thresholds)
        gc.unfreeze()
