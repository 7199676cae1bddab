"""A simulated annotator: takes one word at a time and answers from the gold treebank, with parser
suggestions.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arcwise.annotation.assistant import Assistant
from arcwise.annotation.gains import expected_gains
from arcwise.annotation.scored_sentence import Posterior, ScoredSentence
from arcwise.annotation.states import ArcDecisions
from arcwise.annotation.worklist import repair_order
from arcwise.treebanks import Sentence

Floats = npt.NDArray[np.float64]
Order = Callable[[Posterior], Floats]
"""Value of asking for each word of a sentence, shape (n,); the highest comes first."""


def least_sure(inferred: Posterior) -> Floats:
    """1 - the probability of the suggested head."""
    return 1.0 - np.asarray(inferred.result.head_probability, np.float64)


def gain(inferred: Posterior) -> Floats:
    """Expected information gain of the answer, in nats."""
    weights = next(iter(inferred.weights.matrices()))
    return expected_gains(weights, inferred.marginals, inferred.trees, least=0.005).values


ORDERS: dict[str, Order] = {"least sure word": least_sure, "expected gain": gain, "repairs": repair_order}
"""Worklists to compare, by name."""


@dataclass
class Session:
    """One sentence during annotation; heads and labels are answered from the gold tree."""

    scored: ScoredSentence
    gold: ArcDecisions
    looked: set[int]
    """The words (1..n) that the annotator has answered."""
    inferred: Posterior

    @classmethod
    def of(cls, assistant: Assistant, sentence: Sentence) -> Session:
        """Start with nothing decided; the annotator knows the gold tree."""
        gold = ArcDecisions.of(sentence)
        scored = assistant.score(sentence)
        return cls(scored, gold, set(), scored.under(_answered(gold, set())))

    def __len__(self) -> int:
        """Number of words."""
        return len(self.gold)

    @property
    def wrong(self) -> int:
        """Number of wrong heads in the current tree (decided or suggested)."""
        return sum(head != right for head, right in zip(self.inferred.heads, self.gold.heads, strict=True))

    @property
    def open(self) -> list[int]:
        """Words that were not inspected yet."""
        return [m for m in range(1, len(self) + 1) if m not in self.looked]

    @property
    def answers(self) -> ArcDecisions:
        """The annotator's decisions so far."""
        return _answered(self.gold, self.looked)

    def answer(self, word: int) -> bool:
        """Answer the head of a word (1..n); returns whether it differs from the suggestion."""
        decisive = self.inferred.heads[word - 1] != self.gold.heads[word - 1]
        self.looked.add(word)
        self.inferred = self.scored.under(_answered(self.gold, self.looked))
        return decisive


def _answered(gold: ArcDecisions, looked: set[int]) -> ArcDecisions:
    return gold.without([m for m in range(1, len(gold) + 1) if m not in looked])


@dataclass(frozen=True)
class Walk:
    """Effort until the target share of heads was correct."""

    words: int
    looked: int
    """Words that the annotator inspected."""
    decisive: int
    """Answers that differ from the suggested head."""
    errors_before: int
    errors_after: int
    """Wrong heads."""

    @property
    def share(self) -> float:
        """Share of all words that were inspected."""
        return self.looked / self.words

    @property
    def repaired(self) -> float:
        """Errors repaired per decisive answer."""
        return (self.errors_before - self.errors_after) / max(self.decisive, 1)


def walk(sessions: Sequence[Session], order: Order, until: float) -> Walk:
    """Inspect the most valuable word over all sentences until the share ``until`` of all heads is
    correct.
    """
    words = sum(map(len, sessions))
    wrong = before = sum(session.wrong for session in sessions)
    waiting: list[tuple[float, int, int]] = []
    for s, session in enumerate(sessions):
        _push(waiting, s, session, order)
    looked = decisive = 0
    while words - wrong < until * words and waiting:
        _, s, word = heapq.heappop(waiting)
        session = sessions[s]
        wrong -= session.wrong
        decisive += session.answer(word)
        wrong += session.wrong
        looked += 1
        _push(waiting, s, session, order)
    return Walk(words, looked, decisive, before, wrong)


def _push(waiting: list[tuple[float, int, int]], s: int, session: Session, order: Order) -> None:
    """Push the most valuable uninspected word of a sentence."""
    if session.open:
        values = order(session.inferred)
        word = max(session.open, key=lambda m: float(values[m - 1]))
        heapq.heappush(waiting, (-float(values[word - 1]), s, word))
