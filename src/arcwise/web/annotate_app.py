"""``arcwise annotate`` as an ASGI application: page, static files and API, behind access control."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from arcwise.web.annotate_api import Api, json_response
from arcwise.web.annotate_session import Session
from arcwise.web.security import AccessControl, AccessPolicy

THREADS = 8
"""Requests answered at the same time; more wait."""


def static_folder() -> Path:
    """The static files in the package."""
    return Path(str(files("arcwise") / "web" / "static"))


def annotate_app(session: Session, policy: AccessPolicy) -> AccessControl:
    """The application.

    It starts the session; the caller closes the session when the application has stopped.
    """
    threads = ThreadPoolExecutor(THREADS, thread_name_prefix="arcwise-request")

    @contextlib.asynccontextmanager
    async def lifespan(_: Any) -> AsyncIterator[None]:
        session.start()
        yield
        # Before the threads: an open event stream would keep the server from stopping.
        session.events.close()
        threads.shutdown(wait=True)  # edits in progress are finished before the caller saves

    routes = [
        Route("/", _page, methods=["GET"]),
        *Api(session, threads).routes(),
        Mount("/static", StaticFiles(directory=static_folder(), follow_symlink=False)),
    ]
    return AccessControl(Starlette(routes=routes, lifespan=lifespan, exception_handlers=_HANDLERS), policy)


async def _page(_: Request) -> Response:
    return FileResponse(static_folder() / "annotate" / "index.html", media_type="text/html; charset=utf-8")


async def _http_error(request: Request, error: Any) -> Response:
    messages = {
        404: f"{request.url.path} does not exist; see docs/reference/annotate-api.md",
        405: f"{request.url.path} does not support {request.method}",
    }
    return json_response({"error": messages.get(error.status_code, str(error.detail))}, error.status_code)


async def _internal_error(_: Request, error: Exception) -> Response:
    return json_response({"error": f"Internal error: {type(error).__name__}: {error}"}, 500)


_HANDLERS: Any = {404: _http_error, 405: _http_error, 400: _http_error, 500: _internal_error}
