"""A simulated annotator: looks at words one after the other, answers from the gold treebank; the parser thinks along."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arcwise.annotation.assistant import Assistant
from arcwise.annotation.gains import expected_gains
from arcwise.annotation.scored_sentence import Inferred, ScoredSentence
from arcwise.annotation.states import Decisions
from arcwise.treebanks import Sentence

Floats = npt.NDArray[np.float64]
Order = Callable[[Inferred], Floats]
"""What is to be had from looking at each word of a sentence, shape (n,): more comes first."""


def least_sure(inferred: Inferred) -> Floats:
    """1 - the probability of the proposed head."""
    return 1.0 - np.asarray(inferred.result.head_probability, np.float64)


def gain(inferred: Inferred) -> Floats:
    """Expected gain: what the answer settles, in nats."""
    weights = next(iter(inferred.weights.matrices()))
    return expected_gains(weights, inferred.marginals, inferred.trees, least=0.005).values


ORDERS: dict[str, Order] = {"least sure word": least_sure, "expected gain": gain}


@dataclass
class Session:
    """One sentence while it is annotated."""

    scored: ScoredSentence
    gold: tuple[int, ...]
    decided: list[int]
    inferred: Inferred

    @classmethod
    def of(cls, assistant: Assistant, sentence: Sentence) -> Session:
        """Nothing is decided yet."""
        gold = tuple(int(head) for head in sentence.heads[1:])
        scored = assistant.score(sentence)
        return cls(scored, gold, [-1] * len(gold), scored.under(_decisions([-1] * len(gold))))

    @property
    def wrong(self) -> int:
        """Heads of the tree as it stands (decided or proposed) that are wrong."""
        return sum(head != right for head, right in zip(self.inferred.heads, self.gold, strict=True))

    def answer(self, word: int) -> bool:
        """The annotator looks at a word (from 0) and says its head; whether that was another one than the proposed one."""
        decisive = self.inferred.heads[word] != self.gold[word]
        self.decided[word] = self.gold[word]
        self.inferred = self.scored.under(_decisions(self.decided))
        return decisive


def _decisions(heads: Sequence[int]) -> Decisions:
    return Decisions(tuple(heads), ("_",) * len(heads))


@dataclass(frozen=True)
class Walk:
    """What happened until so many heads were right."""

    words: int
    looked: int
    decisive: int
    errors_before: int
    errors_after: int
    """Words that the annotator has to look at, in the order of the worklist, answers that changed the proposal, wrong heads."""

    @property
    def share(self) -> float:
        """Of the words, those that were looked at."""
        return self.looked / self.words

    @property
    def repaired(self) -> float:
        """Errors repaired for each decisive answer."""
        return (self.errors_before - self.errors_after) / max(self.decisive, 1)


def walk(sessions: Sequence[Session], order: Order, until: float) -> Walk:
    """Look at the word that promises most, over all sentences, until the share ``until`` of all heads is right."""
    words = sum(len(own.gold) for own in sessions)
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
    values = np.where(np.array(own.decided) < 0, order(own.inferred), -np.inf)
    word = int(np.argmax(values))
    if values[word] > -np.inf:
        heapq.heappush(waiting, (-float(values[word]), s, word))
