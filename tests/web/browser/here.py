"""A server in this process on a real socket, which starts much faster than another process."""

from __future__ import annotations

import contextlib
import functools
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from arcwise.web.annotate_app import annotate_app
from arcwise.web.security import AccessPolicy, new_token
from arcwise.web.server import listening_socket
from web.served import Process, open_session


class Here(Process):
    """It, asked as the other process is."""

    def __init__(self, port: int, file: Path) -> None:
        self.file = file
        door = AccessPolicy(new_token(), port)
        self.door, self.address = door, door.address
        self.place, self.token = door.hosts[0], door.token


@functools.cache
def shipped_parser() -> Any:
    """The model that comes with arcwise."""
    from arcwise.models.registry import open_model

    return open_model("en")


@contextlib.contextmanager
def served_here(file: Path, *, model: bool = False, beside: Path | None = None) -> Iterator[Here]:
    """A file, served by a thread of this process."""
    import uvicorn

    session = open_session(file, model=shipped_parser() if model else None, beside=beside)
    listening = listening_socket(0)
    here = Here(listening.getsockname()[1], file)
    config = uvicorn.Config(
        annotate_app(session, here.door), log_level="error", ws="none", timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    try:
        while not server.started and thread.is_alive():
            time.sleep(0.005)
        yield here
    finally:
        session.events.close()
        server.should_exit = True
        thread.join(20)
        listening.close()
