"""``Worklist``: which sentences to annotate next, scored in the background and again after edits."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from threading import Condition, Thread
from typing import Literal, get_args

from arcwise.annotation.assistant import Assistant
from arcwise.annotation.worklist_scores import (
    NOTHING,
    Value,
    by_disagreement,
    by_entropy,
    by_gain,
    by_least_sure,
    by_repairs,
)
from arcwise.errors import ArcwiseError, OptionError
from arcwise.treebanks import Sentence

By = Literal["entropy", "least-sure", "gain", "repairs", "disagreement", "search"]
BATCH = 32
"""Sentences scored at a time."""

_ORDERS: Mapping[str, Callable[[Assistant, Sequence[Sentence]], list[Value]]] = {
    "entropy": by_entropy,
    "least-sure": by_least_sure,
    "gain": by_gain,
    "repairs": by_repairs,
    "disagreement": by_disagreement,
}


@dataclass(frozen=True)
class Item:
    """A sentence of a worklist."""

    number: int
    value: float
    """The score; higher comes first."""
    word: int | None
    """The word to look at first (1..n); None for the whole sentence."""


class Worklist:
    """Sentences ranked by the value of annotating them. ``items`` has those scored so far.

    sentence: returns the current sentence of a number 0..count-1; called from another thread after ``start``.
    by: ``entropy`` (of the tree), ``least-sure`` (uncertainty of the least certain word), ``gain`` (expected
        information gain of the best answer), ``repairs`` (expected number of errors repaired by a review,
        favouring words that repair others), ``disagreement`` (improbability of the annotation), ``search``
        (hits, in file order).

    >>> from arcwise.treebanks import Treebank
    >>> words = Treebank.from_string("1\\tHi\\t_\\t_\\t_\\t_\\t_\\t_\\t_\\t_\\n\\n" * 3)
    >>> hits = lambda sentence: None if sentence.number == 1 else 1
    >>> worklist = Worklist(words.__getitem__, 3, None, by="search", hits=hits)
    >>> worklist.step(), worklist.ready, [item.number for item in worklist.items()]
    (3, True, [0, 2])
    """

    def __init__(
        self,
        sentence: Callable[[int], Sentence],
        count: int,
        assistant: Assistant | None,
        *,
        by: By,
        hits: Callable[[Sentence], int | None] | None = None,
    ) -> None:
        """``hits`` (for ``search``): returns the first word (1..n) of a hit, or None."""
        if by not in get_args(By):
            raise OptionError("by", f"found {by!r}, expected one of {', '.join(get_args(By))}")
        if by == "search" and hits is None:
            raise OptionError("hits", "found none, expected a function that finds hits")
        if by != "search" and (assistant is None or not assistant.gives_probabilities):
            raise OptionError("by", f"found {by!r}, which needs a parser with probabilities")
        self.by = by
        self._sentence, self._assistant, self._hits = sentence, assistant, hits
        self._values: dict[int, Value] = {}
        self._waiting: OrderedDict[int, None] = OrderedDict.fromkeys(range(count))
        self._count = count
        self._signal = Condition()
        self._thread: Thread | None = None
        self._ordered: list[Item] | None = None

    @property
    def ready(self) -> bool:
        """Whether every current sentence is scored."""
        with self._signal:
            return len(self._values) == self._count and not self._waiting

    @property
    def scored(self) -> int:
        """The number of scored sentences."""
        with self._signal:
            return len(self._values)

    def items(self) -> list[Item]:
        """The sentences scored so far, best first, without those that need no work."""
        with self._signal:
            if self._ordered is None:
                items = [
                    Item(s, value, word) for s, (value, word) in self._values.items() if value > NOTHING[0]
                ]
                self._ordered = sorted(items, key=lambda item: (-item.value, item.number))
            return list(self._ordered)

    def step(self, sentences: int = BATCH) -> int:
        """Score more sentences; returns how many, 0 if none was left."""
        with self._signal:
            numbers = [s for s, _ in zip(self._waiting, range(sentences), strict=False)]
            for s in numbers:  # an edit while they are scored puts them back
                del self._waiting[s]
        if not numbers:
            return 0
        # Outside the lock, so that edits and reads need not wait for inference.
        values = self._valued(numbers)
        with self._signal:
            for s, value in values.items():
                if s < self._count and s not in self._waiting:  # unless it changed while it was being scored
                    self._values[s] = value
            self._ordered = None
        return len(numbers)

    def start(self) -> None:
        """Score all sentences in a daemon thread, and changed ones again."""
        if self._thread is not None:
            return
        self._thread = Thread(target=self._run, name=f"worklist by {self.by}", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread."""
        thread, self._thread = self._thread, None
        with self._signal:
            self._signal.notify_all()
        if thread is not None:
            thread.join()

    def changed(self, numbers: Iterable[int], *, count: int | None = None) -> None:
        """Score changed sentences again.

        count: the new number of sentences, if it changed; all from the first of ``numbers`` on are then
            scored again.
        """
        with self._signal:
            anew = [s for s in numbers if s >= 0]
            if count is not None and count != self._count:
                first = min(anew, default=0)
                anew, self._count = list(range(first, count)), count
                for s in [s for s in {*self._values, *self._waiting} if s >= count]:
                    self._values.pop(s, None)
                    self._waiting.pop(s, None)
            for s in reversed(anew):
                if s < self._count:
                    self._values.pop(s, None)
                    self._waiting[s] = None
                    self._waiting.move_to_end(s, last=False)  # edited sentences come first
            self._ordered = None
            self._signal.notify_all()

    def _run(self) -> None:
        while self._thread is not None:
            if self.step():
                continue
            with self._signal:
                if self._thread is not None and not self._waiting:
                    self._signal.wait(
                        1.0
                    )  # with a timeout, since ``stop`` clears the thread without the lock

    def _valued(self, numbers: Sequence[int]) -> dict[int, Value]:
        """The values of sentences; ``NOTHING`` for one that cannot be read or parsed."""
        sentences: dict[int, Sentence] = {}
        values: dict[int, Value] = {}
        for s in numbers:
            try:
                sentences[s] = self._sentence(s)
            except (ArcwiseError, IndexError):
                # A sentence may be gone or broken by now; the worklist just leaves it out.
                values[s] = NOTHING
        try:
            return values | dict(zip(sentences, self._values_of(list(sentences.values())), strict=True))
        except ArcwiseError:  # one broken sentence fails its whole batch: score them one by one
            for s, sentence in sentences.items():
                try:
                    values[s] = self._values_of([sentence])[0]
                except ArcwiseError:
                    values[s] = NOTHING
            return values

    def _values_of(self, sentences: list[Sentence]) -> list[Value]:
        if not sentences:
            return []
        if self._hits is not None and self.by == "search":
            words = [self._hits(sentence) for sentence in sentences]
            return [NOTHING if word is None else (1.0, word) for word in words]
        assert self._assistant is not None
        return _ORDERS[self.by](self._assistant, sentences)
