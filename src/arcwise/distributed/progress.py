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
"""Seconds between lines if standard error is not a terminal."""


@dataclass(frozen=True)
class Tally:
    """Sums over shards."""

    records: int = 0
    sentences: int = 0
    words: int = 0

    @classmethod
    def of(cls, markers: Iterable[Marker]) -> Tally:
        """Sum over finished shards."""
        done = list(markers)
        return cls(sum(m.records for m in done), sum(m.sentences for m in done), sum(m.words for m in done))


class JobProgress:
    """A status line on a terminal, and a line now and then elsewhere. Silent if not ``shown``."""

    def __init__(self, *, shown: bool = True, every: float = _EVERY) -> None:
        self._shown, self._every = shown, every
        self._live: Any = None
        self._shards = self._done = self._words = self._before = 0
        self._bytes_left = self._bytes_done = 0
        self._started = self._printed = time.monotonic()

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

    def planning(self, files: int) -> None:
        """Report that the files are being split into shards."""
        self._print(f"planning the shards of {files:,} file{'s' * (files != 1)}", now=files > 1)

    def begin(self, shards: Sequence[Shard], done: Mapping[str, Marker]) -> None:
        """Report the shards of the job, and those that an earlier run finished."""
        self._shards, self._done = len(shards), len(done)
        self._before = Tally.of(done.values()).words
        self._bytes_left = sum(shard.size for shard in shards if shard.name not in done)
        self._started = time.monotonic()
        if done:
            self._print(
                f"resuming: {len(done):,} of {len(shards):,} shards are done ({self._before:,} words)",
                now=True,
            )

    def advance(self, shard: Shard, marker: Marker | None, errors: int) -> None:
        """Report that a shard has finished or failed."""
        self._done += 1
        self._words += marker.words if marker else 0
        self._bytes_left -= shard.size
        self._bytes_done += shard.size
        self._print(self.line(errors), now=self._done == self._shards)

    def line(self, errors: int) -> str:
        """The current status."""
        seconds = max(time.monotonic() - self._started, 1e-9)
        # By bytes, not by shards: the largest shards come first, and shards of an earlier run cost nothing.
        left = self._bytes_left * seconds / max(self._bytes_done, 1)
        return (
            f"{self._done:,} of {self._shards:,} shards, {self._before + self._words:,} words, "
            f"{self._words / seconds:,.0f} words/s, {duration(left)} left, "
            f"{errors:,} error{'s' * (errors != 1)}"
        )

    def _print(self, line: str, *, now: bool) -> None:
        if self._live is not None:
            self._live.update(line)
        elif self._shown and (now or time.monotonic() - self._printed >= self._every):
            self._printed = time.monotonic()
            # A closed stderr is no reason to abort the job.
            with contextlib.suppress(OSError):
                print(line, file=sys.stderr, flush=True)


def duration(seconds: float) -> str:
    """Format a duration for people.

    >>> duration(12.4), duration(200), duration(9000)
    ('12 s', '3 min', '2.5 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
