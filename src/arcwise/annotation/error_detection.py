"""``ErrorDetection``: words whose annotation is improbable for parsers that never saw the sentence, found in a process of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from arcwise.annotation.background_job import BackgroundTask, TaskState
from arcwise.annotation.states import ArcDecisions, only_decided
from arcwise.errors import InputError
from arcwise.treebanks import Treebank

if TYPE_CHECKING:
    from arcwise.annotation.cross_fitting import SuspiciousWord


class ErrorDetection(BackgroundTask):
    """The doubts of a file. What was found stays until the sentence is edited or something newer is found.

    ``below``: a word is doubted if its annotation has less probability than this.
    """

    busy = "a search for suspicious annotations is already running"

    def __init__(
        self,
        *,
        folds: int = 5,
        below: float = 0.1,
        on_change: Callable[[TaskState], None] | None = None,
    ) -> None:
        """``on_change`` is called, from another thread, whenever the state is another one."""
        super().__init__(on_change)
        self._folds, self._below = folds, below
        self._numbers: list[int] = []
        self._found: dict[int, list[SuspiciousWord]] = {}
        self._changed_meanwhile: set[int] = set()

    def start(self, treebank: Treebank) -> None:
        """Begin; ``InputError`` if it is at it already, or if fewer than ten sentences have decided heads."""
        from arcwise.learning.folds import SMALLEST

        with self._lock:
            self._refuse_if_busy()
            known = [own for own in treebank if ArcDecisions.of(own).decided_heads]
            if len(known) < max(SMALLEST, self._folds):
                raise InputError(
                    f"found {len(known)} sentences with decided heads, expected at least {max(SMALLEST, self._folds)} to doubt any"
                )
            self._numbers = [own.number for own in known]
            self._changed_meanwhile = set()
            request = {"folds": self._folds, "below": self._below, "source": "<decided>"}
            self._begin("doubts", request, only_decided(known).data)
        self._notify()

    def of(self, sentence: int) -> list[SuspiciousWord]:
        """Those of a sentence, by its number."""
        with self._lock:
            return list(self._found.get(sentence, ()))

    def all(self) -> list[SuspiciousWord]:
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

    def _done(self, message: Mapping[str, Any]) -> str:
        from arcwise.annotation.cross_fitting import SuspiciousWord

        with self._lock:
            found: dict[int, list[SuspiciousWord]] = {}
            for values in message["doubts"]:
                own = SuspiciousWord(**{**values, "sentence": self._numbers[values["sentence"]]})
                if own.sentence not in self._changed_meanwhile:
                    found.setdefault(own.sentence, []).append(own)
            self._found = found
        return f"{sum(map(len, found.values()))} words are doubted"
