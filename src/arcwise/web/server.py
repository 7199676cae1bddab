"""A server of one application on this machine: a port, signals, a graceful end."""

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


SWITCH = 0.0005
"""Seconds that one thread may keep the others from running: a request waits no longer for work in the background."""


def require_web(*libraries: str) -> None:
    """``MissingExtraError`` unless the libraries of a server, and these, are installed."""
    require("starlette", "uvicorn", *libraries)


def listening_socket(port: int) -> socket.socket:
    """A socket that listens on this machine alone; port 0: any free one. ``OptionError`` if the port is taken."""
    made = socket.socket(
        socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP
    )  # named, so that asyncio sends small answers at once
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((ADDRESS, port))
        made.listen(128)
    except OSError as error:
        made.close()
        raise OptionError("port", f"found {port}, expected a free one ({error.strerror})") from error
    return made


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
    """Serve until Ctrl-C or SIGTERM (``signals``); then open requests are answered and the application is shut down. ``stopping`` is called
    at the signal, ``started`` when requests are answered. ``alive``: the end of a pipe; when the other end closes, it is as if a signal had
    come. ``settings``: those of uvicorn that differ from ours."""
    import uvicorn

    class Server(uvicorn.Server):
        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            """Ours: a signal ends the server, and nothing is raised afterwards."""
            before = {number: signal.signal(number, self.handle_exit) for number in signals}
            try:
                yield
            finally:
                for number, handler in before.items():
                    signal.signal(number, handler)

        def handle_exit(self, sig: int, frame: Any) -> None:
            stopping()
            self.force_exit = self.should_exit  # the second time
            self.should_exit = True

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if alive is not None:
                asyncio.get_running_loop().add_reader(alive, self._alone, alive)
            started()

        def _alone(self, alive: int) -> None:
            """Whoever watched over us is gone."""
            asyncio.get_running_loop().remove_reader(alive)
            self.handle_exit(signal.SIGTERM, None)

    own: dict[str, Any] = {
        "log_level": "error", "access_log": False, "server_header": False, "date_header": False, "proxy_headers": False, "ws": "none",
        "timeout_graceful_shutdown": 5, "lifespan": "on",
    }  # fmt: skip
    config = uvicorn.Config(app, **{**own, **settings})
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH)
    gc.freeze()  # what is there now stays: no request waits until all of it was looked through
    try:
        Server(config).run(sockets=[listening])
    finally:
        sys.setswitchinterval(before)
        gc.unfreeze()
