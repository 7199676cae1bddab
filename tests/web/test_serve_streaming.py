"""Long responses: writing counts against the time limit, and ends when the client leaves."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("starlette", reason="needs starlette")

from arcwise.web.serve_limits import DeadlineExceeded, WorkDeadline, WorkStopped
from arcwise.web.serve_streaming import StreamedResponse, grouped

PIECES = 400
SCOPE = {"type": "http", "method": "POST", "path": "/", "headers": []}


class Client:
    """What an ASGI server hands to a response; ``stays``: pieces after which the client leaves."""

    def __init__(self, stays: int | None = None) -> None:
        self.bodies: list[bytes] = []
        self.is_complete = False
        self._stays = stays
        self._left = asyncio.Event()

    async def receive(self) -> dict[str, Any]:
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: dict[str, Any]) -> None:
        if message["type"] == "http.response.body":
            self.bodies.append(message["body"])
            self.is_complete = not message.get("more_body")
            if len(self.bodies) == self._stays:
                self._left.set()


async def respond(work: WorkDeadline, client: Client, *, seconds: float) -> int:
    """Send pieces that take ``seconds`` each to write; how many were written."""
    written = 0

    def parts() -> Iterator[bytes]:
        nonlocal written
        for part in grouped(("x" * 2**17 for _ in range(PIECES)), check=work.check):
            time.sleep(seconds)
            written += 1
            yield part

    response = StreamedResponse((b"[",), parts(), work, media_type="application/json")
    try:
        await response(SCOPE, client.receive, client.send)  # type: ignore[arg-type]
    finally:
        await asyncio.sleep(0.2)  # a thread that has not noticed would write on
    return written


def test_a_response_that_is_read_in_time_is_whole() -> None:
    async def check() -> None:
        client = Client()
        assert await respond(WorkDeadline(60), client, seconds=0) == PIECES
        assert client.is_complete
        assert len(b"".join(client.bodies)) == 1 + PIECES * 2**17

    asyncio.run(check())


def test_writing_counts_against_the_time_limit() -> None:
    async def check() -> None:
        client, work = Client(), WorkDeadline(0.3)
        with pytest.raises(DeadlineExceeded):
            await respond(work, client, seconds=0.02)
        assert 1 < len(client.bodies) < PIECES
        assert not client.is_complete
        with pytest.raises(WorkStopped):
            work.check()

    asyncio.run(check())


def test_writing_ends_when_the_client_leaves() -> None:
    async def check() -> None:
        from starlette.requests import ClientDisconnect

        client, work = Client(stays=5), WorkDeadline(60)
        with pytest.raises(ClientDisconnect):
            await respond(work, client, seconds=0.001)
        assert len(client.bodies) < 20
        assert not client.is_complete
        with pytest.raises(WorkStopped):
            work.check()

    asyncio.run(check())
