"""What one request may cost the service, and how it is told that it costs too much."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType

from arcwise.learning.options import check_options, option, short_repr

MEGABYTE = 2**20


@dataclass(frozen=True)
class Limits:
    """What a request may be and how long it may take. Over a limit it is refused with one sentence and a status: 413 too large,
    429 too many wait already, 503 too slow."""

    max_body: int = option(4 * MEGABYTE, "Bytes of a request at most.", low=1, high=2**31 - 1)
    max_words: int = option(1000, "Words of a sentence at most.", low=1, high=1_000_000)
    max_seconds: float = option(30.0, "Seconds from a request to its answer at most.", above=0)
    queue: int = option(
        512,
        "Requests of a worker that may wait while it parses; the next are refused.",
        low=1,
        high=1_000_000,
    )
    idle_seconds: float = option(
        60.0,
        "Seconds that a connection may stay open without a request, or take to say what it wants.",
        above=0,
    )

    __repr__ = short_repr

    def __post_init__(self) -> None:
        check_options(self)


@dataclass
class RequestRefused(Exception):
    """Why a request is not done: the status and one sentence."""

    status: int
    reason: str
    headers: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.reason


def too_large(limits: Limits) -> RequestRefused:
    """More bytes than a request may have."""
    return RequestRefused(413, f"body: is larger than {limits.max_body} bytes", {"Connection": "close"})


def too_many(limits: Limits) -> RequestRefused:
    """More requests wait than may."""
    return RequestRefused(
        429, f"queue: {limits.queue} requests wait already; try again in a second", {"Retry-After": "1"}
    )


def too_slow(limits: Limits) -> RequestRefused:
    """The answer was not there in time."""
    return RequestRefused(
        503,
        f"time: the answer took longer than {limits.max_seconds:g} seconds; send less, or later",
        {"Retry-After": "5"},
    )


class DeadlineExceeded(Exception):
    """What was waited for did not come in time."""


class deadline:
    """``with deadline(seconds):`` what is awaited in the block ends in time, or ``DeadlineExceeded`` is raised. No task is made for it, since this is
    done for every request."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._rung = False

    def __enter__(self) -> None:
        self._task = asyncio.current_task()
        self._alarm = asyncio.get_running_loop().call_later(self._seconds, self._ring)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._alarm.cancel()
        if self._rung and kind is asyncio.CancelledError:
            uncancel = getattr(self._task, "uncancel", None)  # Python 3.11
            if uncancel is not None:
                uncancel()
            raise DeadlineExceeded from None

    def _ring(self) -> None:
        self._rung = True
        if self._task is not None:
            self._task.cancel()
