"""Limits of a request, and the errors for requests that exceed them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from arcwise import native
from arcwise.learning.options import check_options, option, short_repr

MEGABYTE = 2**20


@dataclass(frozen=True)
class Limits:
    """Limits of a request. One that exceeds them is refused with a status and a message: 413 too large, 429
    too many waiting requests, 503 too slow."""

    max_body: int = option(4 * MEGABYTE, "Maximum size of a request in bytes.", low=1, high=2**31 - 1)
    max_words: int = option(1000, "Maximum number of words in a sentence.", low=1, high=1_000_000)
    max_work: int = option(
        30_000_000,
        "Maximum work of a request: the words of each sentence times its length, added up.",
        low=1,
        high=2**62,
    )
    max_answer: int = option(
        64 * MEGABYTE, "Maximum size of a response in bytes, estimated before parsing.", low=1, high=2**31 - 1
    )
    max_seconds: float = option(30.0, "Maximum time from a request to its response in seconds.", above=0)
    queue: int = option(
        512,
        "Maximum number of waiting requests per worker; further requests are refused.",
        low=1,
        high=1_000_000,
    )
    idle_seconds: float = option(
        60.0,
        "Timeout in seconds for idle connections, and for the headers of a request.",
        above=0,
    )
    stall_seconds: float = option(
        30.0,
        "Restart a worker whose event loop does not run, or whose parser ignores its time limit, for this "
        "many seconds.",
        low=2,
    )

    __repr__ = short_repr

    def __post_init__(self) -> None:
        check_options(self)


@dataclass
class RequestRefused(Exception):
    """A refused request: the status and the reason."""

    status: int
    reason: str
    headers: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.reason


def too_large(limits: Limits) -> RequestRefused:
    """The body exceeds the limit."""
    return RequestRefused(413, f"body: is larger than {limits.max_body} bytes", {"Connection": "close"})


def too_many(limits: Limits) -> RequestRefused:
    """Too many requests are waiting."""
    return RequestRefused(
        429, f"queue: {limits.queue} requests are waiting; try again in a second", {"Retry-After": "1"}
    )


def too_slow(limits: Limits) -> RequestRefused:
    """The response took too long."""
    return RequestRefused(
        503,
        f"time: the response took longer than {limits.max_seconds:g} seconds; send less, or later",
        {"Retry-After": "5"},
    )


class WorkStopped(Exception):
    """The work of a request ended early: its time is up, or its client has disconnected."""


class WorkDeadline:
    """The deadline of a request's work: its time limit, or earlier if its client disconnects.

    Threads cannot be interrupted, so the work calls ``check`` between sentences. Inside ``with deadline:``
    the kernels check it too, within a long sentence.
    """

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self._limit = native.WorkLimit(seconds)

    @property
    def left(self) -> float:
        """Seconds until the time limit; 0 when it has passed."""
        return max(0.0, self._end - time.monotonic())

    @property
    def overdue(self) -> float:
        """Seconds since the time limit; 0 before it."""
        return max(0.0, time.monotonic() - self._end)

    def cancel(self) -> None:
        """Cancel the work: the client no longer needs the result."""
        self._limit.cancel()

    def check(self) -> None:
        """Raise ``WorkStopped`` if the work should end."""
        if self._limit.is_reached:
            raise WorkStopped

    def __enter__(self) -> None:
        self.check()
        self._limit.__enter__()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        self._limit.__exit__(None, None, None)
        if isinstance(error, native.WorkInterrupted):
            raise WorkStopped from error


class DeadlineExceeded(Exception):
    """The deadline has passed."""


class deadline:
    """``with deadline(seconds):`` raises ``DeadlineExceeded`` if the block takes longer.

    Like ``asyncio.timeout``, which Python 3.10 lacks. It creates no task, because every request uses it.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._expired = False

    def __enter__(self) -> None:
        self._task = asyncio.current_task()
        self._timer = asyncio.get_running_loop().call_later(self._seconds, self._expire)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._timer.cancel()
        # Only a cancellation of ours becomes DeadlineExceeded; one from outside must stay what it is.
        if self._expired and kind is asyncio.CancelledError:
            uncancel = getattr(self._task, "uncancel", None)  # Python 3.11
            if uncancel is not None:
                uncancel()
            raise DeadlineExceeded from None

    def _expire(self) -> None:
        self._expired = True
        if self._task is not None:
            self._task.cancel()
