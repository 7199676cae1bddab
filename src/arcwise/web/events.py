"""Server-sent events: what happened meanwhile, told to every page that listens."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from typing import Any

KEEP_ALIVE = 15.0
"""Seconds after which a line without meaning is sent, so that a connection that is gone is noticed."""
MAX_WAITING = 1000
"""Events that a slow listener may have before it; one that has more is dropped, and connects again."""


class Events:
    """A board: any thread publishes, every listener gets everything from then on."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._listeners: set[_Listener] = set()
        self._closed = False

    def publish(self, kind: str, **values: Any) -> None:
        """Tell all listeners. May be called from any thread; waits for nobody."""
        text = encoded({"kind": kind, **values})
        with self._lock:
            listeners = list(self._listeners)
        for listener in listeners:
            listener.put(text)

    async def listen(self) -> AsyncIterator[bytes]:
        """The events from now on, as the bytes of a stream of server-sent events."""
        listener = _Listener(asyncio.get_running_loop())
        with self._lock:
            if self._closed:
                return
            self._listeners.add(listener)
        try:
            yield b"retry: 1000\n\n" + encoded({"kind": "listening"})
            while (text := await listener.next()) is not None:
                yield text
        finally:
            with self._lock:
                self._listeners.discard(listener)

    def close(self) -> None:
        """End all streams: the server stops."""
        with self._lock:
            self._closed = True
            listeners = list(self._listeners)
        for listener in listeners:
            listener.put(None)

    @property
    def listeners(self) -> int:
        """How many listen now."""
        return len(self._listeners)


class _Listener:
    """The events that one connection has not sent yet."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._queue: asyncio.Queue[bytes | None] = asyncio.Queue(MAX_WAITING)

    def put(self, text: bytes | None) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._put, text)

    def _put(self, text: bytes | None) -> None:
        if self._queue.full():
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
    r"""One event as it is sent.

    >>> encoded({"kind": "saved"})
    b'data: {"kind": "saved"}\n\n'
    """
    return b"data: " + json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n\n"
