"""Server-sent events, published to every connected page."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from typing import Any

KEEP_ALIVE = 15.0
"""Seconds after which a comment line is sent, so that a closed connection is noticed."""
MAX_WAITING = 1000
"""Queue length at which a slow listener is disconnected; the browser then reconnects."""


class Events:
    """Publishes events from any thread to all listeners."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._listeners: set[_Listener] = set()
        self._closed = False

    def publish(self, kind: str, **values: Any) -> None:
        """Send an event to all listeners; thread-safe, never blocks."""
        text = encoded({"kind": kind, **values})
        with self._lock:
            listeners = list(self._listeners)
        for listener in listeners:
            listener.put(text)

    async def listen(self) -> AsyncIterator[bytes]:
        """Events from now on, as bytes of a server-sent event stream."""
        listener = _Listener(asyncio.get_running_loop())
        with self._lock:
            if self._closed:
                return
            self._listeners.add(listener)
        try:
            # retry: browsers reconnect after a second instead of their own default.
            yield b"retry: 1000\n\n" + encoded({"kind": "listening"})
            while (text := await listener.next()) is not None:
                yield text
        finally:
            with self._lock:
                self._listeners.discard(listener)

    def close(self) -> None:
        """End all streams, when the server stops."""
        with self._lock:
            self._closed = True
            listeners = list(self._listeners)
        for listener in listeners:
            listener.put(None)

    @property
    def listeners(self) -> int:
        """The number of listeners."""
        return len(self._listeners)


class _Listener:
    """The queue of one connection."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._queue: asyncio.Queue[bytes | None] = asyncio.Queue(MAX_WAITING)

    def put(self, text: bytes | None) -> None:
        if not self._loop.is_closed():
            # asyncio queues are not thread-safe.
            self._loop.call_soon_threadsafe(self._put, text)

    def _put(self, text: bytes | None) -> None:
        if self._queue.full():  # end the stream; the page reloads its state when it reconnects
            while not self._queue.empty():
                self._queue.get_nowait()
            text = None
        self._queue.put_nowait(text)

    async def next(self) -> bytes | None:
        try:
            return await asyncio.wait_for(self._queue.get(), KEEP_ALIVE)
        except asyncio.TimeoutError:
            return b": still here\n\n"


def encoded(value: Any) -> bytes:
    r"""Encode one event.

    >>> encoded({"kind": "saved"})
    b'data: {"kind": "saved"}\n\n'
    """
    return b"data: " + json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n\n"
