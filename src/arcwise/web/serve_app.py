"""``arcwise serve`` as an ASGI application: routes, limits and error responses.

Starlette routes requests and writes responses. Its application class is not used: the limits, the metrics and
the headers of every response are one function here, and each of Starlette's middleware layers would cost a
request more than all of these.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterator
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, TypeVar

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route, Router

from arcwise.errors import ArcwiseError
from arcwise.treebanks import Treebank
from arcwise.trees.draw import printable
from arcwise.visual.html import PAGE_STYLE
from arcwise.visual.palette import STYLE
from arcwise.web.security import HEADERS
from arcwise.web.serve_access import RequestGate
from arcwise.web.serve_batches import LONG, RequestQueues
from arcwise.web.serve_forms import parameters
from arcwise.web.serve_json import answer_parts, parse_task, read_request
from arcwise.web.serve_limits import (
    DeadlineExceeded,
    Limits,
    RequestRefused,
    WorkStopped,
    deadline,
    too_large,
    too_slow,
)
from arcwise.web.serve_log import access_logger, log_fields, logger, request_id
from arcwise.web.serve_metrics import ServiceMetrics
from arcwise.web.serve_models import Models
from arcwise.web.serve_openapi import openapi
from arcwise.web.serve_streaming import StreamedResponse, grouped, is_gone
from arcwise.web.serve_tasks import LongTask, ParseTask
from arcwise.web.serve_udpipe import models_answer, process_parts, process_task, read_parameters

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope, Send


PAGE_FILES = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/static/serve.js": ("serve.js", "text/javascript; charset=utf-8"),
    "/static/serve.css": ("serve.css", "text/css; charset=utf-8"),
}
"""Path → file in web/static/serve and its content type."""


@lru_cache
def page_file(path: str) -> tuple[bytes, str]:
    """A file of the page and its content type. The style sheet starts with the one of ``arcwise show
    --html``."""
    name, kind = PAGE_FILES[path]
    data = (files("arcwise") / "web" / "static" / "serve" / name).read_bytes()
    return ((PAGE_STYLE + STYLE).encode() + data if name == "serve.css" else data), kind


Parts = Callable[[Treebank], Iterator[str]]
"""Writes a response as pieces of JSON text."""
Value = TypeVar("Value")
JSON, TEXT = "application/json", "text/plain; charset=utf-8"
UDPIPE_PREFIX = "/services/udpipe/api"
"""UDPipe's clients have this part of the address of its service built in."""
BEAT = 0.5
"""Seconds between two signs of life of a worker."""
LINGER = 2.0
"""Seconds for which the rest of a refused body is still read: a client that is cut off while sending never
sees the response."""


class ServeApp:
    """The application. ``allow_origin``: the origin whose pages may call it from a browser (``*``: any)."""

    def __init__(
        self,
        models: Models,
        *,
        limits: Limits = Limits(),
        meter: ServiceMetrics | None = None,
        allow_origin: str | None = None,
        gate: RequestGate | None = None,
    ) -> None:
        self._models, self._limits = models, limits
        self._gate = gate or RequestGate()
        self._meter = meter or ServiceMetrics()
        self._queues: RequestQueues | None = None
        self._stopping = False
        self._headers = _headers(allow_origin)
        # Made once: neither models nor limits change while the service runs.
        self._openapi_json = json.dumps(openapi(models, limits), ensure_ascii=False).encode()
        endpoints: dict[str, tuple[Any, tuple[str, ...]]] = {
            "/process": (self._process, ("GET", "POST")),
            "/models": (self._list_models, ("GET", "POST")),
            "/v1/parse": (self._parse, ("POST",)),
            "/v1/openapi.json": (self._openapi, ("GET",)),
            "/healthz": (self._health, ("GET",)),
            "/readyz": (self._ready, ("GET",)),
            "/livez": (self._live, ("GET",)),
            "/metrics": (self._metrics, ("GET",)),
            **dict.fromkeys(PAGE_FILES, (self._page, ("GET",))),
        }
        self._methods = {path: methods for path, (_, methods) in endpoints.items()}
        routes = [Route(path, endpoint, methods=methods) for path, (endpoint, methods) in endpoints.items()]
        self._router = Router(routes, redirect_slashes=False, lifespan=self._lifespan)

    def stopping(self) -> None:
        """Make ``/healthz`` report that the service is shutting down."""
        self._stopping = True

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["app"] = self  # the router then raises HTTPException, and the messages are ours
        if scope["type"] == "http":
            await self._serve(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._router(scope, receive, send)

    @contextlib.asynccontextmanager
    async def _lifespan(self, _: Any) -> AsyncIterator[None]:
        self._queues = RequestQueues(self._limits, self._meter)
        heart = asyncio.ensure_future(self._beat(self._queues))
        yield
        heart.cancel()
        await asyncio.to_thread(self._queues.stop)

    async def _beat(self, queues: RequestQueues) -> None:
        """Tell the supervisor that this worker runs: its event loop, and its parser within its limits."""
        while True:
            if queues.stuck_seconds < self._limits.stall_seconds:
                self._meter.beat()
            await asyncio.sleep(BEAT)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"].startswith(UDPIPE_PREFIX):
            scope["path"] = scope["path"].removeprefix(UDPIPE_PREFIX)
        started = time.perf_counter()
        name = request_id(scope["headers"])
        status = 500
        is_started = False

        async def send_in_time(message: Message) -> None:
            nonlocal status, is_started
            if message["type"] == "http.response.start":
                status, is_started = message["status"], True
                message["headers"] = [
                    *self._headers,
                    (b"x-request-id", name.encode()),
                    *message["headers"],
                ]
                return await send(message)
            if scope["method"] == "HEAD":
                message["body"] = b""
            with deadline(self._limits.max_seconds):
                return await send(message)

        self._meter.opened(1)
        try:
            try:
                self._gate.check(scope)
                await self._router(scope, receive, send_in_time)
            except (ClientDisconnect, DeadlineExceeded):
                # No response: the client has disconnected.
                raise
            except Exception as error:
                if is_internal(error):
                    logger.error(
                        "internal error: %s %s",
                        scope["method"],
                        scope["path"],
                        exc_info=error,
                        extra=log_fields(request=name),
                    )
                if is_started:  # the client learns by the closed connection that the response is cut
                    status = 500
                    raise ConnectionAbortedError from error
                await self._error_response(scope, error)(scope, receive, send_in_time)
        except DeadlineExceeded:  # writing took too long, or the client reads too slowly
            status = 408
            raise ConnectionAbortedError from None
        except ClientDisconnect:
            status = 400
        finally:
            self._meter.opened(-1)
            seconds = time.perf_counter() - started
            self._meter.answered(scope["path"], status, seconds)
            if access_logger.isEnabledFor(logging.INFO):
                self._log_access(scope, name, status, seconds)

    def _log_access(self, scope: Scope, name: str, status: int, seconds: float) -> None:
        client = (scope.get("client") or ("",))[0]
        fields = log_fields(request=name, client=client, status=status, milliseconds=round(1000 * seconds, 1))
        access_logger.info("%s %s", scope["method"], printable(scope["path"]), extra=fields)

    def _error_response(self, scope: Scope, error: Exception) -> Response:
        """Errors are text at UDPipe's addresses, as its clients expect, and JSON elsewhere."""
        path = scope["path"]
        if isinstance(error, HTTPException) and error.status_code == 405:
            methods = self._methods[path]
            if scope["method"] == "OPTIONS":
                return Response(status_code=204, headers={"Allow": ", ".join((*methods, "OPTIONS"))})
            message = f"method: found {scope['method']}, expected {' or '.join(methods)}"
            error = RequestRefused(405, message, {"Allow": ", ".join(methods)})
        elif isinstance(error, HTTPException):
            error = RequestRefused(
                404, f"address: found {path!r}, expected one of {', '.join(self._methods)}"
            )
        elif isinstance(error, ArcwiseError):
            error = RequestRefused(400, str(error))
        elif not isinstance(error, RequestRefused):
            error = RequestRefused(500, f"Internal error: {type(error).__name__}: {error}")
        if path in ("/process", "/models"):
            body, kind = f"{error.reason}\n", TEXT
        else:
            body, kind = json.dumps({"error": error.reason}, ensure_ascii=False), JSON
        response_class = _LingeringResponse if error.status == 413 else Response
        return response_class(body.encode("utf-8", "replace"), error.status, error.headers, kind)

    async def _body(self, request: Request) -> bytes:
        """The body of a POST. A body over the limit is refused before it is in memory, whether its length was
        announced or not."""
        encoding = request.headers.get("content-encoding", "identity").strip().lower()
        if encoding != "identity":
            raise RequestRefused(
                415,
                f"Content-Encoding: found {encoding!r}, expected none",
                {"Accept-Encoding": "identity", "Connection": "close"},
            )
        length = request.headers.get("content-length", "0")
        if length.isascii() and length.isdigit() and int(length) > self._limits.max_body:
            raise too_large(self._limits)
        if request.method != "POST":
            return b""
        parts: list[bytes] = []
        size = 0
        try:
            with deadline(self._limits.max_seconds):
                async for part in request.stream():
                    size += len(part)
                    if size > self._limits.max_body:
                        raise too_large(self._limits)
                    parts.append(part)
        except DeadlineExceeded:
            message = f"body: took longer than {self._limits.max_seconds:g} seconds to arrive"
            raise RequestRefused(408, message, {"Connection": "close"}) from None
        return b"".join(parts)

    async def _process(self, request: Request) -> Response:
        body = await self._body(request)
        query, kind = request.scope["query_string"], request.headers.get("content-type", "")

        def read() -> tuple[ParseTask, Parts]:
            values = read_parameters(parameters(query, kind, body))
            task = process_task(self._models, values, self._limits)
            return task, lambda treebank: process_parts(task.model, treebank, values)

        return await self._run(request, await _off_loop(len(body), read))

    async def _list_models(self, request: Request) -> Response:
        await self._body(request)
        return _json(models_answer(self._models))

    async def _parse(self, request: Request) -> Response:
        body = await self._body(request)
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != JSON:
            raise RequestRefused(415, f"Content-Type: found {kind!r}, expected {JSON}")

        def read() -> tuple[ParseTask, Parts]:
            values = read_request(body)
            task = parse_task(self._models, values, self._limits)
            return task, lambda treebank: answer_parts(task.model, treebank, values)

        return await self._run(request, await _off_loop(len(body), read))

    async def _run(self, request: Request, work: tuple[ParseTask, Parts]) -> Response:
        """The response to a task. ``work``: the task, and the function that writes its result."""
        task, parts = work
        assert self._queues is not None
        try:
            if task.size < LONG:
                with contextlib.suppress(LongTask):
                    return _whole(grouped(parts(await self._queues.do_short(task))))
            return await self._run_long(request, task, parts)
        finally:
            self._meter.set_waiting(self._queues.waiting)

    async def _run_long(self, request: Request, task: ParseTask, parts: Parts) -> Response:
        """The response to a long task. It is written in a thread and in pieces, so that other requests need
        not wait for it, and the work ends when the client leaves."""
        assert self._queues is not None
        leaving = asyncio.ensure_future(is_gone(request))
        doing = asyncio.ensure_future(self._queues.do_long(task))
        try:
            await asyncio.wait({leaving, doing}, return_when=asyncio.FIRST_COMPLETED)
            if not doing.done():
                raise ClientDisconnect
            treebank = doing.result()
            pieces = grouped(parts(treebank), check=task.deadline.check)
            first = await asyncio.to_thread(next, pieces, b"")
            second = await asyncio.to_thread(next, pieces, b"")
            if not second:
                return Response(first, media_type=JSON)
            return StreamedResponse((first, second), pieces, task.deadline, media_type=JSON)
        except WorkStopped:
            raise too_slow(self._limits) from None
        finally:
            leaving.cancel()
            doing.cancel()

    async def _openapi(self, _: Request) -> Response:
        return Response(self._openapi_json, media_type=JSON)

    async def _health(self, _: Request) -> Response:
        if self._stopping:
            return Response(b'{"status": "stopping"}', 503, media_type=JSON)
        return _json({"status": "ok", "models": [model.name for model in self._models.all]})

    async def _ready(self, _: Request) -> Response:
        """Whether new requests should come to this worker."""
        if self._stopping:
            return Response(b'{"status": "stopping"}', 503, media_type=JSON)
        if self._queues is None or self._queues.waiting >= self._limits.queue:
            return Response(b'{"status": "busy"}', 503, media_type=JSON)
        return Response(b'{"status": "ready"}', media_type=JSON)

    async def _live(self, _: Request) -> Response:
        """Whether this worker runs at all."""
        return Response(b'{"status": "alive"}', media_type=JSON)

    async def _metrics(self, _: Request) -> Response:
        return Response(self._meter.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    async def _page(self, request: Request) -> Response:
        data, kind = page_file(request.scope["path"])
        return Response(data, media_type=kind)


def is_internal(error: Exception) -> bool:
    """Whether an error is internal, not the client's and not an exceeded limit, so that it is logged."""
    return not isinstance(error, HTTPException | RequestRefused | ArcwiseError)


class _LingeringResponse(Response):
    """A response after which the rest of the request is read for a while and thrown away."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        await send({"type": "http.response.body", "body": self.body, "more_body": True})
        with contextlib.suppress(DeadlineExceeded, ClientDisconnect), deadline(LINGER):
            async for _ in Request(scope, receive).stream():
                pass
        await send({"type": "http.response.body", "body": b""})


def _json(value: Any) -> Response:
    return Response(
        json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace"), media_type=JSON
    )


def _whole(pieces: Iterator[bytes]) -> Response:
    return Response(b"".join(pieces), media_type=JSON)


async def _off_loop(size: int, read: Callable[[], Value]) -> Value:
    """``read()``, in a thread if the body is large: reading it takes as long as many short requests."""
    return read() if size < LONG else await asyncio.to_thread(read)


def _headers(allow_origin: str | None) -> list[tuple[bytes, bytes]]:
    """The headers of every response. Those for other origins do not depend on the request, which Starlette's
    CORS middleware would read once more for each."""
    headers = dict(HEADERS)
    if allow_origin is not None:
        headers |= {
            "Access-Control-Allow-Origin": allow_origin,
            "Access-Control-Allow-Headers": "Content-Type, Authorization, X-API-Key, X-Request-Id",
            "Cross-Origin-Resource-Policy": "cross-origin",
        }
    return [(name.lower().encode(), value.encode()) for name, value in headers.items()]
