"""``Doubts``: words whose annotation is improbable for parsers that never saw the sentence, found in a process of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from threading import Lock
from typing import Any

from arcwise.annotation.background import Job
from arcwise.annotation.cross_fitting import Doubt, doubts
from arcwise.annotation.learner import TrainState
from arcwise.annotation.states import Decisions, only_decided
from arcwise.errors import InputError
from arcwise.learning.folds import SMALLEST
from arcwise.treebanks import Treebank

__all__ = ["Doubt", "Doubts", "doubts"]


class Doubts:
    """The doubts of a file. What was found stays until the sentence is edited or something newer is found.

    ``below``: a word is doubted if its annotation has less probability than this.
    """

    def __init__(
        self,
        *,
        folds: int = 5,
        below: float = 0.1,
        on_change: Callable[[TrainState], None] | None = None,
    ) -> None:
        """``on_change`` is called, from another thread, whenever the state is another one."""
        self._folds, self._below, self._on_change = folds, below, on_change
        self._lock = Lock()
        self._job: Job | None = None
        self._state = TrainState("idle")
        self._numbers: list[int] = []
        self._found: dict[int, list[Doubt]] = {}
        self._changed_meanwhile: set[int] = set()

    @property
    def state(self) -> TrainState:
        """Where it stands."""
        return self._state

    def start(self, treebank: Treebank) -> None:
        """Begin; ``InputError`` if it is at it already, or if fewer than ten sentences have decided heads."""
        with self._lock:
            if self._state.state == "training":
                raise InputError("found a search for doubts that is not over, expected none")
            known = [own for own in treebank if Decisions.of(own).decided_heads]
            if len(known) < max(SMALLEST, self._folds):
                raise InputError(
                    f"found {len(known)} sentences with decided heads, expected at least {max(SMALLEST, self._folds)} to doubt any"
                )
            self._numbers = [own.number for own in known]
            self._changed_meanwhile = set()
            self._state = TrainState("training", 0.0, "starting")
            request = {"folds": self._folds, "below": self._below, "source": "<decided>"}
            self._job = Job("doubts", request, only_decided(known).data, self._hear)
        self._tell()

    def cancel(self) -> None:
        """End it; what was found before stays."""
        job = self._job
        if job is not None and self._state.state == "training":
            job.cancel()

    def wait(self, seconds: float | None = None) -> TrainState:
        """Wait until it is done, or so long."""
        if self._job is not None:
            self._job.wait(seconds)
        return self._state

    def of(self, sentence: int) -> list[Doubt]:
        """Those of a sentence, by its number."""
        with self._lock:
            return list(self._found.get(sentence, ()))

    def all(self) -> list[Doubt]:
        """Those of all sentences, least probable first."""
        with self._lock:
            found = [doubt for own in self._found.values() for doubt in own]
        return sorted(found, key=lambda doubt: (doubt.probability, doubt.sentence, doubt.word))

    def changed(self, numbers: Iterable[int], *, count: int | None = None) -> None:
        """These sentences are not what they were: their doubts are forgotten. ``count``: there are now so many sentences, more or fewer than
        before; the doubts of all from the first of ``numbers`` on are then forgotten."""
        with self._lock:
            anew = set(numbers)
            if count is not None:
                last = max([count, *self._found, *self._numbers], default=count)
                anew = set(range(min(anew, default=0), last + 1))
            self._changed_meanwhile |= anew
            for number in anew:
                self._found.pop(number, None)

    def _hear(self, message: Mapping[str, Any]) -> None:
        end = message.get("end")
        if end is None:
            self._state = replace(self._state, progress=message["progress"], told=message["told"])
        elif end == "done":
            with self._lock:
                found: dict[int, list[Doubt]] = {}
                for values in message["doubts"]:
                    own = Doubt(**{**values, "sentence": self._numbers[values["sentence"]]})
                    if own.sentence not in self._changed_meanwhile:
                        found.setdefault(own.sentence, []).append(own)
                self._found = found
            self._state = TrainState("idle", 1.0, f"{sum(map(len, found.values()))} words are doubted")
        else:
            self._state = TrainState(end, self._state.progress, message.get("told", ""))
        self._tell()

    def _tell(self) -> None:
        if self._on_change is not None:
            self._on_change(self._state)
