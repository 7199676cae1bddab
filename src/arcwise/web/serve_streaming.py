"""Long responses: written in a thread piece by piece, and only as far as the client reads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from arcwise.web.serve_limits import DeadlineExceeded, WorkDeadline, WorkStopped, deadline

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

PIECE = 2**17
"""Characters of a piece. Encoding one takes about a millisecond, during which no other thread runs."""


def grouped(parts: Iterable[str], *, check: Callable[[], None] = lambda: None) -> Iterator[bytes]:
    """Text as bytes, in pieces of a good size for sending. ``check`` is called for each part, and may raise
    an error to end the work.

    >>> list(grouped(["a", "b"]))
    [b'ab']
    """
    gathered: list[str] = []
    size = 0
    for part in parts:
        check()
        gathered.append(part)
        size += len(part)
        if size >= PIECE:
            yield "".join(gathered).encode("utf-8", "backslashreplace")
            gathered, size = [], 0
    if gathered:
        yield "".join(gathered).encode("utf-8", "backslashreplace")


class StreamedResponse(Response):
    """A response of unknown length. ``first``: its first pieces; ``pieces``: the others, made in a thread."""

    def __init__(
        self, first: Iterable[bytes], pieces: Iterator[bytes], work: WorkDeadline, *, media_type: str
    ) -> None:
        self._first, self._pieces, self._work = tuple(first), pieces, work
        self.status_code, self.background, self.media_type = 200, None, media_type
        self.init_headers({})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        leaving = asyncio.ensure_future(is_gone(Request(scope, receive)))
        try:
            with deadline(self._work.left):
                for piece in self._first:
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
                self._first = ()
                while piece := await asyncio.to_thread(next, self._pieces, b""):
                    if leaving.done():
                        raise ClientDisconnect
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        except WorkStopped:
            # The status is sent already: closing the connection shows that the response is incomplete.
            raise DeadlineExceeded from None
        finally:
            self._work.cancel()
            leaving.cancel()


async def is_gone(request: Request | Any) -> None:
    """Return when the client of a request (whose body was read) has disconnected."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
