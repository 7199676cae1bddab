"""Unfinished attempts at a shard: how many there were, and at which record each died.

This isolates a record that crashes its worker (out of memory, a fault in native code): after several attempts
the shard runs record by record, noting each record before it is tried, and a record at which several attempts
died is reported as broken.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from arcwise.distributed.records import BrokenRecord, Record
from arcwise.treebanks.files import open_output

CAREFUL_FROM = 4
"""From this attempt on, a shard runs record by record. An engine gives up after three deaths in a row, so
machines that merely go away seldom get here."""
TRIES = 3
"""A record at which this many attempts died is broken."""


@dataclass
class Attempts:
    """The attempts at one shard, including the current one."""

    path: Path
    count: int = 1
    at: int = -1
    """The record tried last; -1 if there is none yet, or the attempt is not careful."""
    deaths: dict[str, int] = field(default_factory=dict)
    """Record number → attempts that died there."""

    @classmethod
    def begin(cls, path: Path) -> Attempts:
        """Register a new attempt at a shard."""
        attempts = cls(path)
        try:
            state = json.loads(path.read_text("utf-8"))
            attempts = cls(path, int(state["count"]) + 1, -1, dict(state["deaths"]))
            if state["at"] >= 0:
                attempts.deaths[str(state["at"])] = attempts.deaths.get(str(state["at"]), 0) + 1
        except (OSError, ValueError, TypeError, KeyError):
            pass  # the first attempt, or an unreadable file
        # Before the work: whatever happens next, this attempt is counted.
        path.parent.mkdir(parents=True, exist_ok=True)
        attempts._write()
        return attempts

    @property
    def careful(self) -> bool:
        """Whether this attempt runs record by record."""
        return self.count >= CAREFUL_FROM

    def checked(self, records: Iterable[Record]) -> Iterator[Record]:
        """Yield the records, those that crashed workers as broken; note each first in a careful attempt."""
        for number, record in enumerate(records):
            deaths = self.deaths.get(str(number), 0)
            if deaths >= TRIES:
                yield BrokenRecord(record.line, f"crashed the process that parsed it, {deaths} times")
                continue
            if self.careful:
                self.at = number
                self._write()
            yield record

    def end(self) -> None:
        """Forget the attempts: the shard is done."""
        self.path.unlink(missing_ok=True)

    def _write(self) -> None:
        # Not durable: it must survive the crash of a worker, not that of the machine.
        with open_output(self.path) as stream:
            stream.write(json.dumps({"count": self.count, "at": self.at, "deaths": self.deaths}).encode())
