"""A simulated annotator: looks at words one after the other and answers from the gold treebank, while a parser thinks along."""

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
from arcwise.annotation.worklist_scores import repair_order
from arcwise.treebanks import Sentence

Floats = npt.NDArray[np.float64]
Order = Callable[[Posterior], Floats]
"""What is to be had from looking at each word of a sentence, shape (n,): more comes first."""


def least_sure(inferred: Posterior) -> Floats:
    """1 - the probability of the proposed head."""
    return 1.0 - np.asarray(inferred.result.head_probability, np.float64)


def gain(inferred: Posterior) -> Floats:
    """Expected gain: what the answer settles, in nats."""
    weights = next(iter(inferred.weights.matrices()))
    return expected_gains(weights, inferred.marginals, inferred.trees, least=0.005).values


def quick_gain(inferred: Posterior) -> Floats:
    """The same without improbable answers, of which a parser that has learned little sees many."""
    weights = next(iter(inferred.weights.matrices()))
    return expected_gains(weights, inferred.marginals, inferred.trees, least=0.03).values


ORDERS: dict[str, Order] = {"least sure word": least_sure, "expected gain": gain, "repairs": repair_order}
"""The worklists that are compared, by the words that they name."""


@dataclass
class Session:
    """One sentence while it is annotated: heads and labels are answered from the gold tree."""

    scored: ScoredSentence
    gold: ArcDecisions
    looked: set[int]
    """The words (1..n) that the annotator has answered."""
    inferred: Posterior

    @classmethod
    def of(cls, assistant: Assistant, sentence: Sentence) -> Session:
        """Nothing is decided yet. The annotator knows the tree of the sentence."""
        gold = ArcDecisions.of(sentence)
        scored = assistant.score(sentence)
        return cls(scored, gold, set(), scored.under(_answered(gold, set())))

    def __len__(self) -> int:
        """The number of words."""
        return len(self.gold)

    @property
    def wrong(self) -> int:
        """Heads of the tree as it stands (decided or proposed) that are wrong."""
        return sum(head != right for head, right in zip(self.inferred.heads, self.gold.heads, strict=True))

    @property
    def open(self) -> list[int]:
        """The words that nobody has looked at."""
        return [m for m in range(1, len(self) + 1) if m not in self.looked]

    @property
    def answers(self) -> ArcDecisions:
        """What the annotator has said."""
        return _answered(self.gold, self.looked)

    def answer(self, word: int) -> bool:
        """The annotator looks at a word (1..n) and says its head; whether that was another one than the proposed one."""
        decisive = self.inferred.heads[word - 1] != self.gold.heads[word - 1]
        self.looked.add(word)
        self.inferred = self.scored.under(_answered(self.gold, self.looked))
        return decisive


def _answered(gold: ArcDecisions, looked: set[int]) -> ArcDecisions:
    return gold.without([m for m in range(1, len(gold) + 1) if m not in looked])


@dataclass(frozen=True)
class Walk:
    """What happened until so many heads were right."""

    words: int
    looked: int
    """Words that the annotator looked at."""
    decisive: int
    """Answers that were another head than the one proposed."""
    errors_before: int
    errors_after: int
    """Wrong heads."""

    @property
    def share(self) -> float:
        """Of all words, those that were looked at."""
        return self.looked / self.words

    @property
    def repaired(self) -> float:
        """Errors repaired for each decisive answer."""
        return (self.errors_before - self.errors_after) / max(self.decisive, 1)


def walk(sessions: Sequence[Session], order: Order, until: float) -> Walk:
    """Look at the word that promises most, over all sentences, until the share ``until`` of all heads is right."""
    words = sum(map(len, sessions))
    wrong = before = sum(own.wrong for own in sessions)
    waiting: list[tuple[float, int, int]] = []
    for s, own in enumerate(sessions):
        _push(waiting, s, own, order)
    looked = decisive = 0
    while words - wrong < until * words and waiting:
        _, s, word = heapq.heappop(waiting)
        own = sessions[s]
        wrong -= own.wrong
        decisive += own.answer(word)
        wrong += own.wrong
        looked += 1
        _push(waiting, s, own, order)
    return Walk(words, looked, decisive, before, wrong)


def _push(waiting: list[tuple[float, int, int]], s: int, own: Session, order: Order) -> None:
    """The most promising word of a sentence that was not looked at yet."""
    if own.open:
        values = order(own.inferred)
        word = max(own.open, key=lambda m: float(values[m - 1]))
        heapq.heappush(waiting, (-float(values[word - 1]), s, word))


def until_sure(session: Session, order: Order, sure: float) -> None:
    """Look at the words of one sentence, most promising first, until the parser is so sure of every head."""
    while True:
        doubtful = [m for m in session.open if session.inferred.result.head_probability[m - 1] < sure]
        if not doubtful:
            return
        values = order(session.inferred)
        session.answer(max(doubtful, key=lambda m: float(values[m - 1])))
