"""What is known of a shard that was begun and not ended: how often, and at which record whoever did it died.

A record that takes its worker down (memory, a fault in native code) is found so: a shard that was begun several times is done record by
record, each told before it is tried, and a record that was tried in vain several times is called broken.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from arcwise.distributed.records import Broken, Record
from arcwise.treebanks.files import open_output

CAREFUL_FROM = 4
"""The attempt from which on a shard is done record by record."""
TRIES = 3
"""A record at which so many attempts ended is broken."""


@dataclass
class Attempts:
    """The attempts at one shard, this one included."""

    path: Path
    count: int = 1
    at: int = -1
    """The record that was tried last; -1: none yet, or the attempt was not careful."""
    deaths: dict[str, int] = field(default_factory=dict)
    """Record → attempts that ended there."""

    @classmethod
    def begin(cls, path: Path) -> Attempts:
        """Note that a shard is begun."""
        found = cls(path)
        try:
            kept = json.loads(path.read_text("utf-8"))
            found = cls(path, int(kept["count"]) + 1, -1, dict(kept["deaths"]))
            if kept["at"] >= 0:
                found.deaths[str(kept["at"])] = found.deaths.get(str(kept["at"]), 0) + 1
        except (OSError, ValueError, TypeError, KeyError):
            pass  # the first attempt, or nothing that can be read
        path.parent.mkdir(parents=True, exist_ok=True)
        found._write()
        return found

    @property
    def careful(self) -> bool:
        """Whether this attempt goes record by record."""
        return self.count >= CAREFUL_FROM

    def checked(self, records: Iterable[Record]) -> Iterator[Record]:
        """The records, those that took workers down as broken; in a careful attempt each is told before it is tried."""
        for number, record in enumerate(records):
            deaths = self.deaths.get(str(number), 0)
            if deaths >= TRIES:
                yield Broken(record.line, f"took the process that parsed it down, {deaths} times")
                continue
            if self.careful:
                self.at = number
                self._write()
            yield record

    def end(self) -> None:
        """The shard is done."""
        self.path.unlink(missing_ok=True)

    def _write(self) -> None:
        with open_output(self.path) as stream:
            stream.write(json.dumps({"count": self.count, "at": self.at, "deaths": self.deaths}).encode())
