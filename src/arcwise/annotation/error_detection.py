"""``ErrorDetection``: runs error mining on a document in a child process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from arcwise.annotation.background_job import BackgroundTask, TaskState
from arcwise.annotation.states import ArcDecisions, only_decided
from arcwise.errors import InputError
from arcwise.treebanks import Treebank

if TYPE_CHECKING:
    from arcwise.annotation.mining_task import Ranking

SMALLEST = 10
"""Sentences with annotated heads that a search needs."""


@dataclass(frozen=True)
class SuspiciousWord:
    """An annotated word that is probably wrong."""

    sentence: int
    word: int
    """1..n."""
    head: int
    label: str
    probability: float
    """The probability that head or label is wrong, after the answers so far."""
    instead_head: int
    """The proposal; -1 if there is none."""
    instead_label: str
    reasons: tuple[str, ...]
    key: str
    """Identifies the word and its arc, whatever happens elsewhere in the file."""
    query: str
    """A search query for the words annotated like this one."""
    changes: str
    """The proposal as a mass edit of the hits; empty if it cannot be one."""
    listed: bool = True
    """Whether it is shown; others were judged in an earlier review."""


class ErrorDetection(BackgroundTask):
    """The suspicious words of a document. They stay until their sentence is edited or a newer search ends.

    Answers about words (``answer``) rerank the others.
    """

    busy = "a search for suspicious annotations is already running"

    def __init__(
        self,
        *,
        verdicts: Callable[[], Mapping[str, str]] = dict,
        on_change: Callable[[TaskState], None] | None = None,
    ) -> None:
        """``on_change`` is called, from another thread, whenever the state changes.

        verdicts: the answers of earlier reviews by the keys of words.
        """
        super().__init__(on_change)
        self._verdicts = verdicts
        self._answers: dict[str, str] = {}
        self._found: list[SuspiciousWord] = []
        """The words of the last search, as its ranking numbers them."""
        self._ranking: Ranking | None = None
        self._numbers: list[int] = []
        self._words: dict[int, list[SuspiciousWord]] = {}
        self.finished = False
        """Whether a search has ended with results."""
        # Sentences edited during a search, whose results would describe an older version.
        self._changed_meanwhile: set[int] = set()

    def start(self, treebank: Treebank) -> None:
        """Start a search; ``InputError`` if one is running, or if too few sentences are annotated."""
        with self._lock:
            self._refuse_if_busy()
            annotated = [sentence for sentence in treebank if ArcDecisions.of(sentence).decided_heads]
            if len(annotated) < SMALLEST:
                raise InputError(
                    f"found {len(annotated)} sentences with annotated heads; "
                    f"the search for suspicious annotations needs at least {SMALLEST}"
                )
            self._numbers = [sentence.number for sentence in annotated]
            self._changed_meanwhile = set()
            self._answers = dict(self._verdicts())
            request = {"source": "<decided>", "answered": sorted(self._answers)}
            self._begin("doubts", request, only_decided(annotated).data)
        self._notify()

    def of(self, sentence: int) -> list[SuspiciousWord]:
        """The suspicious words of a sentence."""
        with self._lock:
            return list(self._words.get(sentence, ()))

    def all(self) -> list[SuspiciousWord]:
        """All suspicious words, the most probable error first."""
        with self._lock:
            words = [word for group in self._words.values() for word in group]
        return sorted(words, key=lambda word: (-word.probability, word.sentence, word.word))

    def answer(self, key: str, verdict: str) -> None:
        """Learn from an answer: the word is no longer listed, and the others are reranked."""
        with self._lock:
            self._answers[key] = verdict
            listed = {word.key for group in self._words.values() for word in group} - {key}
            self._words = self._ranked(lambda word: word.key in listed)

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
        from arcwise.annotation.mining_task import Ranking

        with self._lock:
            self._found = [
                SuspiciousWord(
                    **{
                        **values,
                        "sentence": self._numbers[values["sentence"]],
                        "reasons": tuple(values["reasons"]),
                        "probability": 0.0,
                    }
                )
                for values in message["words"]
            ]
            self._ranking, self.finished = Ranking.of(message), True
            changed = self._changed_meanwhile
            self._words = self._ranked(
                lambda word: word.listed and word.key not in self._answers and word.sentence not in changed
            )
            count = sum(map(len, self._words.values()))
        return f"{count} suspicious word{'s' * (count != 1)}"

    def _ranked(self, shown: Callable[[SuspiciousWord], bool]) -> dict[int, list[SuspiciousWord]]:
        """Words of the last search that are to be shown, by sentence, with their present probabilities."""
        assert self._ranking is not None
        answers = {
            at: self._answers[word.key] == "error"
            for at, word in enumerate(self._found)
            if self._answers.get(word.key) in ("error", "correct")
        }
        words: dict[int, list[SuspiciousWord]] = {}
        for word, probability in zip(self._found, self._ranking.probabilities(answers), strict=True):
            if shown(word):
                words.setdefault(word.sentence, []).append(replace(word, probability=probability))
        return words
