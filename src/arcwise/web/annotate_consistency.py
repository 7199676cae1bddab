"""Inconsistencies of the whole file: found on request, and kept with the version they belong to."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from arcwise.annotation.background_job import BackgroundJob, run_task
from arcwise.annotation.document import DocumentChange
from arcwise.annotation.editable import EditableTreebank
from arcwise.web.annotate_view import MAX_COUNT

MAX_GROUPS = 10_000
"""Groups that can be listed; all are counted."""
Json = dict[str, Any]
Place = Sequence[int]
"""Sentence (from 0), first and last word (from 1)."""


@dataclass(frozen=True)
class _Splice:
    """Sentences that were replaced by another number of sentences."""

    first: int
    removed: int
    added: int

    def moved(self, number: int) -> int | None:
        """The new number of a sentence; None if it was replaced."""
        if number < self.first:
            return number
        return number + self.added - self.removed if number >= self.first + self.removed else None


class Consistency:
    """The inconsistencies of a document, as of the last request to find them."""

    def __init__(self, document: EditableTreebank, finished: Callable[[int], None]) -> None:
        """``finished`` is called, from any thread, with the version of the file after it was compared."""
        self._document, self._finished = document, finished
        self._lock = threading.Lock()
        self._job: BackgroundJob | None = None
        self._running = False
        self._version: int | None = None
        """The version of the groups; None before the first search."""
        self._groups: Sequence[Json] = ()
        self._total = 0
        self._error: str | None = None
        self._splices: list[_Splice] = []
        """Renumberings since the running search began, or since the last one if none runs."""
        self._before = 0
        """The number of renumberings from before the running search."""

    def find(self) -> None:
        """Compare the file with itself: a small one at once, a large one in a child process."""
        with self._lock:
            if self._running:
                return
            self._running, self._error = True, None
            version, self._before = self._document.version, len(self._splices)
        data = self._document.treebank().data
        self._job = run_task("consistency", {"most": MAX_GROUPS}, data, lambda end: self._done(version, end))

    def _done(self, version: int, message: Mapping[str, Any]) -> None:
        with self._lock:
            self._running = False
            if message["end"] == "done":
                self._version, self._groups = version, message["groups"]
                self._total = message["total"]
                del self._splices[: self._before]
            else:
                self._error = message.get("message", "cancelled")
        self._finished(version)

    def changed(self, change: DocumentChange) -> None:
        """Follow a change: numbers of sentences move, and the groups are stale."""
        with self._lock:
            for part in change.parts:  # from the end of the file to its start, so that numbers stay valid
                if len(part.before) != len(part.after):
                    self._splices.append(_Splice(part.first, len(part.before), len(part.after)))

    def to_json(self, first: int, count: int) -> Json:
        """A page of the groups, with places where the sentences are now."""
        with self._lock:
            shown = self._groups[first : first + min(count, MAX_COUNT)]
            return {
                "groups": [self._now(group) for group in shown],
                "listed": len(self._groups),
                "total": self._total,
                "version": self._version,
                "stale": self._version is not None and self._version != self._document.version,
                "ready": not self._running,
                "error": self._error,
            }

    def _now(self, group: Json) -> Json:
        if not self._splices:
            return group
        variants = [{**variant, "places": self._moved(variant["places"])} for variant in group["variants"]]
        return {**group, "variants": variants}

    def _moved(self, places: Sequence[Place]) -> list[Place]:
        moved: list[Place] = []
        for sentence, *words in places:
            number: int | None = sentence
            for splice in self._splices:
                number = None if number is None else splice.moved(number)
            if number is not None:
                moved.append([number, *words])
        return moved

    def close(self) -> None:
        """Stop a running search."""
        if self._job is not None and self._running:
            self._job.cancel()
