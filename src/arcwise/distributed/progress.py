"""Progress on standard error: of any work, and of a job over all its workers."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from arcwise.distributed.parse_shard import Marker
from arcwise.distributed.shards import Shard

if TYPE_CHECKING:
    from typing import Self


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


class ProgressLine:
    """A status line on a terminal, and a line every ``every`` seconds elsewhere. Silent if not ``shown``."""

    every: ClassVar[float] = 10.0

    def __init__(self, *, shown: bool = True) -> None:
        self._shown = shown
        self._live: Any = None
        self._started = self._printed = time.monotonic()

    def __enter__(self) -> Self:
        self._started = self._printed = time.monotonic()
        if self._shown and sys.stderr.isatty():
            from rich.console import Console
            from rich.status import Status

            self._live = Status("", console=Console(stderr=True))
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def say(self, line: str, *, now: bool = False) -> None:
        """Show a line; ``now``: even if the last one was shown a moment ago."""
        if self._live is not None:
            self._live.update(line)
        elif self._shown and (now or time.monotonic() - self._printed >= self.every):
            self._printed = time.monotonic()
            # A closed stderr must not abort the work.
            with contextlib.suppress(OSError):
                print(line, file=sys.stderr, flush=True)

    def count(self, done: int, total: int, unit: str) -> None:
        """Show how much is done, with speed and remaining time."""
        speed = done / max(time.monotonic() - self._started, 1e-9)
        seconds_left = (total - done) / max(speed, 1e-9)
        self.say(f"{done} of {total} {unit} ({speed:.1f}/s, {seconds_left:.0f} s left)")


class JobProgress(ProgressLine):
    """The progress of a corpus job over all its workers."""

    _shards = _done = _words = _before = _bytes_left = _bytes_done = 0

    def planning(self, files: int) -> None:
        """Report that the files are being split into shards."""
        self.say(f"planning the shards of {files:,} file{'s' * (files != 1)}", now=files > 1)

    def begin(self, shards: Sequence[Shard], done: Mapping[str, Marker]) -> None:
        """Report the shards of the job, and those that an earlier run finished."""
        self._shards, self._done = len(shards), len(done)
        self._before = Tally.of(done.values()).words
        self._bytes_left = sum(shard.size for shard in shards if shard.name not in done)
        self._started = time.monotonic()
        if done:
            self.say(
                f"resuming: {len(done):,} of {len(shards):,} shards are done ({self._before:,} words)",
                now=True,
            )

    def advance(self, shard: Shard, marker: Marker | None, errors: int) -> None:
        """Report that a shard has finished or failed."""
        self._done += 1
        self._words += marker.words if marker else 0
        self._bytes_left -= shard.size
        self._bytes_done += shard.size
        self.say(self.line(errors), now=self._done == self._shards)

    def line(self, errors: int) -> str:
        """The current status."""
        seconds = max(time.monotonic() - self._started, 1e-9)
        # By bytes, not by shards: the largest shards come first, and shards of an earlier run cost nothing.
        seconds_left = self._bytes_left * seconds / max(self._bytes_done, 1)
        return (
            f"{self._done:,} of {self._shards:,} shards, {self._before + self._words:,} words, "
            f"{self._words / seconds:,.0f} words/s, {duration(seconds_left)} left, "
            f"{errors:,} error{'s' * (errors != 1)}"
        )


def duration(seconds: float) -> str:
    """Format a duration for people.

    >>> duration(12.4), duration(200), duration(9000)
    ('12 s', '3 min', '2.5 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
