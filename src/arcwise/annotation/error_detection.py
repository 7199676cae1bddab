"""``ErrorDetection``: suspicious annotations of a document, found by cross-fitting in a child process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from arcwise.annotation.background_job import BackgroundTask, TaskState
from arcwise.annotation.states import ArcDecisions, only_decided
from arcwise.errors import InputError
from arcwise.treebanks import Treebank

if TYPE_CHECKING:
    from arcwise.annotation.training import SuspiciousWord


class ErrorDetection(BackgroundTask):
    """The suspicious words of a document. They stay until their sentence is edited or a newer search ends.

    ``below``: the probability below which an annotation is suspicious.
    """

    busy = "a search for suspicious annotations is already running"

    def __init__(
        self,
        *,
        folds: int = 5,
        below: float = 0.1,
        on_change: Callable[[TaskState], None] | None = None,
    ) -> None:
        """``on_change`` is called, from another thread, whenever the state changes."""
        super().__init__(on_change)
        self._folds, self._below = folds, below
        self._numbers: list[int] = []
        self._words: dict[int, list[SuspiciousWord]] = {}
        self.finished = False
        """Whether a search has ended with results."""
        # Sentences edited during a search, whose results would describe an older version.
        self._changed_meanwhile: set[int] = set()

    def start(self, treebank: Treebank) -> None:
        """Start a search; ``InputError`` if one is running, or if too few sentences are annotated."""
        from arcwise.learning.folds import SMALLEST

        with self._lock:
            self._refuse_if_busy()
            annotated = [sentence for sentence in treebank if ArcDecisions.of(sentence).decided_heads]
            needed = max(SMALLEST, self._folds)
            if len(annotated) < needed:
                raise InputError(
                    f"found {len(annotated)} sentences with annotated heads; "
                    f"the search for suspicious annotations needs at least {needed}"
                )
            self._numbers = [sentence.number for sentence in annotated]
            self._changed_meanwhile = set()
            request = {"folds": self._folds, "below": self._below, "source": "<decided>"}
            self._begin("doubts", request, only_decided(annotated).data)
        self._notify()

    def of(self, sentence: int) -> list[SuspiciousWord]:
        """The suspicious words of a sentence."""
        with self._lock:
            return list(self._words.get(sentence, ()))

    def all(self) -> list[SuspiciousWord]:
        """All suspicious words, least probable first."""
        with self._lock:
            words = [word for group in self._words.values() for word in group]
        return sorted(words, key=lambda word: (word.probability, word.sentence, word.word))

    def changed(self, numbers: Iterable[int], *, count: int | None = None) -> None:
        """Forget the words of changed sentences.

        count: the new number of sentences, if it changed; all sentences from the first of ``numbers`` on are
        then forgotten, because their numbers have shifted.
        """
        with self._lock:
            changed = set(numbers)
            if count is not None:
                last = max([count, *self._words, *self._numbers], default=count)
                # Everything behind the first change has another number now.
                changed = set(range(min(changed, default=0), last + 1))
            self._changed_meanwhile |= changed
            for number in changed:
                self._words.pop(number, None)

    def _done(self, message: Mapping[str, Any]) -> str:
        from arcwise.annotation.training import SuspiciousWord

        with self._lock:
            words: dict[int, list[SuspiciousWord]] = {}
            for values in message["words"]:
                word = SuspiciousWord(**{**values, "sentence": self._numbers[values["sentence"]]})
                if word.sentence not in self._changed_meanwhile:
                    words.setdefault(word.sentence, []).append(word)
            self._words, self.finished = words, True
        count = sum(map(len, words.values()))
        return f"{count} suspicious word{'s' * (count != 1)}"
