"""``arcwise serve`` as an ASGI application: its addresses, what is checked of every request, and how answers are sent."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from arcwise.errors import ArcwiseError
from arcwise.treebanks import Treebank
from arcwise.web.security import HEADERS
from arcwise.web.serve_batches import LONG, RequestQueues
from arcwise.web.serve_forms import parameters
from arcwise.web.serve_json import parse_answer, parse_task, read_json
from arcwise.web.serve_limits import DeadlineExceeded, Limits, RequestRefused, deadline, too_large
from arcwise.web.serve_metrics import ServiceMetrics
from arcwise.web.serve_models import Models
from arcwise.web.serve_openapi import openapi
from arcwise.web.serve_page import PAGE_FILES, page_file
from arcwise.web.serve_tasks import ParseTask
from arcwise.web.serve_udpipe import models_answer, process_answer, process_task

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

JSON, TEXT = "application/json", "text/plain; charset=utf-8"
LINGER = 2.0
"""Seconds that the rest of a refused body is still read, so that its sender sees the answer."""


@dataclass(frozen=True)
class Call:
    """A request, its body read."""

    method: str
    path: str
    query: bytes
    content_type: str
    body: bytes


@dataclass(frozen=True)
class Reply:
    """What is sent back."""

    body: bytes
    kind: str = JSON
    status: int = 200
    headers: tuple[tuple[bytes, bytes], ...] = ()


Handler = Callable[[Call], Awaitable[Reply]]


class ServeApp:
    """The application. ``allow_origin``: the origin of pages that may use it from a browser (``*``: of all)."""

    def __init__(
        self,
        models: Models,
        *,
        limits: Limits = Limits(),
        meter: ServiceMetrics | None = None,
        allow_origin: str | None = None,
    ) -> None:
        self._models, self._limits = models, limits
        self._meter = meter or ServiceMetrics()
        self._lines: RequestQueues | None = None
        self._stopping = False
        self._headers = _headers(allow_origin)
        self._described = json.dumps(openapi(models, limits), ensure_ascii=False).encode()
        self._routes: dict[str, tuple[tuple[str, ...], Handler]] = {
            "/process": (("GET", "POST"), self._process),
            "/models": (("GET", "POST"), self._list_models),
            "/v1/parse": (("POST",), self._parse),
            "/v1/openapi.json": (("GET",), self._openapi),
            "/healthz": (("GET",), self._health),
            "/metrics": (("GET",), self._metrics),
            **dict.fromkeys(PAGE_FILES, (("GET",), self._page)),
        }

    def stopping(self) -> None:
        """From now on ``/healthz`` says so."""
        self._stopping = True

    # ---- ASGI

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            await self._serve(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        self._lines = RequestQueues(self._limits, self._meter)
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await asyncio.to_thread(self._lines.stop)
        await send({"type": "lifespan.shutdown.complete"})

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        began = time.perf_counter()
        path, method = scope["path"], scope["method"]
        self._meter.opened(1)
        status = 500
        try:
            reply = await self._answer(scope, receive)
            status = reply.status
            with deadline(self._limits.max_seconds):
                await self._send(reply, method, receive, send)
        except DeadlineExceeded:  # who reads the answer is too slow
            status = 408
            raise ConnectionAbortedError from None
        except ClientDisconnected:
            status = 400
        finally:
            self._meter.opened(-1)
            self._meter.answered(path, status, time.perf_counter() - began)

    async def _answer(self, scope: Scope, receive: Receive) -> Reply:
        path = scope["path"]
        try:
            methods, handler = self._routes.get(path, ((), self._page))
            if not methods:
                raise RequestRefused(
                    404, f"address: found {path!r}, expected one of {', '.join(self._routes)}"
                )
            if scope["method"] == "OPTIONS":
                return Reply(b"", TEXT, 204, ((b"allow", ", ".join((*methods, "OPTIONS")).encode()),))
            method = "GET" if scope["method"] == "HEAD" else scope["method"]
            if method not in methods:
                raise RequestRefused(
                    405,
                    f"method: found {method}, expected {' or '.join(methods)}",
                    {"Allow": ", ".join(methods)},
                )
            call = await self._read(method, scope, receive)
            return await handler(call)
        except RequestRefused as refused:
            return _refusal(path, refused)
        except ArcwiseError as error:
            return _refusal(path, RequestRefused(400, str(error)))
        except (ClientDisconnected, asyncio.CancelledError):
            raise
        except Exception as error:
            return _refusal(path, RequestRefused(500, f"Internal error: {type(error).__name__}: {error}"))

    async def _read(self, method: str, scope: Scope, receive: Receive) -> Call:
        headers = dict(scope["headers"])
        length = headers.get(b"content-length", b"0")
        if length.isdigit() and int(length) > self._limits.max_body:
            raise too_large(self._limits)
        body = b""
        if method == "POST":
            try:
                with deadline(self._limits.max_seconds):
                    body = await _body(receive, self._limits)
            except DeadlineExceeded:
                told = f"body: took longer than {self._limits.max_seconds:g} seconds to come"
                raise RequestRefused(408, told, {"Connection": "close"}) from None
        kind = headers.get(b"content-type", b"").decode("latin-1")
        return Call(method, scope["path"], scope["query_string"], kind, body)

    async def _send(self, reply: Reply, method: str, receive: Receive, send: Send) -> None:
        headers = [
            *self._headers,
            (b"content-type", reply.kind.encode()),
            (b"content-length", str(len(reply.body)).encode()),
            *reply.headers,
        ]
        await send({"type": "http.response.start", "status": reply.status, "headers": headers})
        body = b"" if method == "HEAD" else reply.body
        if reply.status != 413:
            return await send({"type": "http.response.body", "body": body})
        await send({"type": "http.response.body", "body": body, "more_body": True})
        with contextlib.suppress(DeadlineExceeded), deadline(LINGER):
            await _discard(receive)
        return await send({"type": "http.response.body", "body": b""})

    # ---- addresses

    async def _process(self, call: Call) -> Reply:
        given = parameters(call.query, call.content_type, call.body)
        task = process_task(self._models, given, max_words=self._limits.max_words)
        return await self._done(task, lambda found: process_answer(task.model, found, given))

    async def _list_models(self, call: Call) -> Reply:
        return _json(models_answer(self._models))

    async def _parse(self, call: Call) -> Reply:
        kind = call.content_type.partition(";")[0].strip().lower()
        if kind != JSON:
            raise RequestRefused(415, f"Content-Type: found {kind!r}, expected {JSON}")
        given = read_json(call.body)
        task = parse_task(self._models, given, self._limits)
        return await self._done(task, lambda found: parse_answer(task.model, found, given))

    async def _done(self, task: ParseTask, told: Callable[[Treebank], dict[str, Any]]) -> Reply:
        """The answer to a task, written by ``told``; that of a long one in a thread, so that others need not wait."""
        assert self._lines is not None
        try:
            found = await self._lines.do(task)
        finally:
            self._meter.set_waiting(self._lines.waiting)
        if task.size >= LONG:
            return await asyncio.to_thread(lambda: _json(told(found)))
        return _json(told(found))

    async def _openapi(self, call: Call) -> Reply:
        return Reply(self._described)

    async def _health(self, call: Call) -> Reply:
        if self._stopping:
            return Reply(b'{"status": "stopping"}', status=503)
        return _json({"status": "ok", "models": [model.name for model in self._models.all]})

    async def _metrics(self, call: Call) -> Reply:
        return Reply(self._meter.text().encode(), "text/plain; version=0.0.4; charset=utf-8")

    async def _page(self, call: Call) -> Reply:
        data, kind = page_file(call.path)
        return Reply(data, kind)


class ClientDisconnected(Exception):
    """Who asked has gone."""


async def _pieces(receive: Receive) -> AsyncIterator[bytes]:
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnected
        yield message.get("body", b"")
        more = message.get("more_body", False)


async def _body(receive: Receive, limits: Limits) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for part in _pieces(receive):
        size += len(part)
        if size > limits.max_body:
            raise too_large(limits)
        parts.append(part)
    return b"".join(parts)


async def _discard(receive: Receive) -> None:
    with contextlib.suppress(ClientDisconnected):
        async for _ in _pieces(receive):
            pass


def _json(value: Any) -> Reply:
    return Reply(json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace"))


def _refusal(path: str, refused: RequestRefused) -> Reply:
    """UDPipe's addresses tell errors as text, the others as JSON."""
    headers = tuple((name.lower().encode(), value.encode()) for name, value in refused.headers.items())
    if path in ("/process", "/models"):
        return Reply(f"{refused.reason}\n".encode("utf-8", "replace"), TEXT, refused.status, headers)
    body = json.dumps({"error": refused.reason}, ensure_ascii=False).encode("utf-8", "replace")
    return Reply(body, JSON, refused.status, headers)


def _headers(allow_origin: str | None) -> list[tuple[bytes, bytes]]:
    own = dict(HEADERS)
    if allow_origin is not None:
        own |= {
            "Access-Control-Allow-Origin": allow_origin,
            "Access-Control-Allow-Headers": "Content-Type",
            "Cross-Origin-Resource-Policy": "cross-origin",
        }
    return [(name.lower().encode(), value.encode()) for name, value in own.items()]
