"""A client that speaks ASGI to an application in this process: no socket, no library. The application runs in
a thread of its own."""

from __future__ import annotations

import asyncio
import json
import queue
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes = b""

    @property
    def text(self) -> str:
        return self.body.decode()

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class _Sent:
    """What an application has sent so far."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    parts: queue.Queue[bytes | None] = field(default_factory=queue.Queue)


class AsgiClient:
    """``headers`` go with every request, where it does not say otherwise."""

    def __init__(self, app: Any, headers: Mapping[str, str]) -> None:
        self._app, self._headers = app, headers
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._to_app: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._from_app: queue.Queue[str] = queue.Queue()

    def __enter__(self) -> AsgiClient:
        self._thread.start()
        self._lifespan = asyncio.run_coroutine_threadsafe(self._live(), self._loop)
        self._say("lifespan.startup")
        return self

    def __exit__(self, *_: object) -> None:
        self._say("lifespan.shutdown")
        self._lifespan.result(30)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(30)
        self._loop.close()

    async def _live(self) -> None:
        async def send(message: Any) -> None:
            self._from_app.put(message["type"])

        await self._app({"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}, self._to_app.get, send)

    def _say(self, what: str) -> None:
        self._loop.call_soon_threadsafe(self._to_app.put_nowait, {"type": what})
        assert self._from_app.get(timeout=30) == f"{what}.complete"

    def request(
        self,
        method: str,
        target: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes | Iterable[bytes] = b"",
    ) -> Answer:
        """Ask, and wait for the whole answer. A body of pieces is sent without a length."""
        sent = _Sent()
        self._start(method, target, headers or {}, body, sent, asyncio.Event()).result(60)
        parts = []
        while (part := sent.parts.get(timeout=1)) is not None:
            parts.append(part)
        return Answer(sent.status, sent.headers, b"".join(parts))

    def events(self, target: str) -> Iterator[dict[str, Any]]:
        """The events of a stream, until it ends or nobody wants more."""
        sent, gone = _Sent(), asyncio.Event()
        work = self._start("GET", target, {}, b"", sent, gone)
        rest = b""
        try:
            while (part := sent.parts.get(timeout=30)) is not None:
                *whole, rest = (rest + part).split(b"\n\n")
                yield from (json.loads(t.removeprefix(b"data: ")) for t in whole if t.startswith(b"data: "))
        finally:
            if not self._loop.is_closed():  # as it is if the test failed
                self._loop.call_soon_threadsafe(gone.set)
                work.result(30)

    def _start(
        self,
        method: str,
        target: str,
        headers: Mapping[str, str],
        body: bytes | Iterable[bytes],
        sent: _Sent,
        gone: asyncio.Event,
    ) -> Any:
        path, _, query = target.partition("?")
        pieces = [body] if isinstance(body, bytes) else list(body)
        own = {**self._headers, **headers}
        if isinstance(body, bytes) and body:
            own = {"content-length": str(len(body)), **own}
        from urllib.parse import unquote

        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote(path),
            "raw_path": path.encode(),
            "root_path": "",
            "query_string": query.encode(),
            "headers": [(k.lower().encode(), v.encode("latin-1")) for k, v in own.items()],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 1),
        }

        async def receive() -> dict[str, Any]:
            if pieces:
                return {"type": "http.request", "body": pieces.pop(0), "more_body": bool(pieces)}
            await gone.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                sent.status = message["status"]
                sent.headers = {k.decode().lower(): v.decode("latin-1") for k, v in message["headers"]}
            else:
                sent.parts.put(message.get("body", b""))
                if not message.get("more_body"):
                    sent.parts.put(None)

        return asyncio.run_coroutine_threadsafe(self._app(scope, receive, send), self._loop)
