"""Progress of a job over all its workers, on standard error: words, words per second, time left, errors."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any

from arcwise.distributed.parse_shard import Marker
from arcwise.distributed.shards import Shard

if TYPE_CHECKING:
    from typing import Self

_EVERY = 10.0
"""Seconds between lines where standard error is no terminal."""


@dataclass(frozen=True)
class Tally:
    """Sums over shards."""

    records: int = 0
    sentences: int = 0
    words: int = 0

    @classmethod
    def of(cls, markers: Iterable[Marker]) -> Tally:
        """Of the shards that are done."""
        known = list(markers)
        return cls(
            sum(m.records for m in known), sum(m.sentences for m in known), sum(m.words for m in known)
        )


class JobProgress:
    """A line that is kept up to date on a terminal; elsewhere a line now and then. Silent if not ``shown``."""

    def __init__(self, *, shown: bool = True, every: float = _EVERY) -> None:
        self._shown, self._every = shown, every
        self._live: Any = None
        self._shards = self._done = self._words = self._before = 0
        self._bytes_left = self._bytes_done = 0
        self._started = self._told = time.monotonic()

    def __enter__(self) -> Self:
        if self._shown and sys.stderr.isatty():
            from rich.console import Console
            from rich.status import Status

            self._live = Status("", console=Console(stderr=True))
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def say_planning(self, files: int) -> None:
        """Before the shards are known."""
        self._tell(f"looking through {files:,} file{'s' * (files != 1)}", now=files > 1)

    def begin(self, shards: Sequence[Shard], done: Mapping[str, Marker]) -> None:
        """The shards of the job, and those that an earlier run did."""
        self._shards, self._done = len(shards), len(done)
        self._before = Tally.of(done.values()).words
        self._bytes_left = sum(shard.size for shard in shards if shard.name not in done)
        self._started = time.monotonic()
        if done:
            self._tell(f"{len(done):,} of {len(shards):,} shards are done ({self._before:,} words)", now=True)

    def advance(self, shard: Shard, marker: Marker | None, errors: int) -> None:
        """A shard is done, or could not be."""
        self._done += 1
        self._words += marker.words if marker else 0
        self._bytes_left -= shard.size
        self._bytes_done += shard.size
        self._tell(self.line(errors), now=self._done == self._shards)

    def line(self, errors: int) -> str:
        """What there is to say now."""
        seconds = max(time.monotonic() - self._started, 1e-9)
        left = self._bytes_left * seconds / max(self._bytes_done, 1)
        return (
            f"{self._done:,} of {self._shards:,} shards, {self._before + self._words:,} words, "
            f"{self._words / seconds:,.0f} words/s, {duration(left)} left, {errors:,} error{'s' * (errors != 1)}"
        )

    def _tell(self, line: str, *, now: bool) -> None:
        if self._live is not None:
            self._live.update(line)
        elif self._shown and (now or time.monotonic() - self._told >= self._every):
            self._told = time.monotonic()
            with contextlib.suppress(OSError):
                print(line, file=sys.stderr, flush=True)


def duration(seconds: float) -> str:
    """Seconds as one says them.

    >>> duration(12.4), duration(200), duration(9000)
    ('12 s', '3 min', '2.5 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
