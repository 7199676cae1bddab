"""Slow, obvious twins of the learners under tokenizer and tagger: choices and chains by enumeration,
gradients by finite differences.

Weights are dictionaries (feature, output) → number. A pair of feature and output has a weight if training has
it often enough.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Generic, TypeVar

import numpy as np

from reference.random_numbers import TwinRandom, shuffled

NEGLIGIBLE = 1e-4
"""Gradients of an output smaller than this are left out."""
Weights = dict[tuple[int, int], float]
Pair = tuple[int, int]
Key = TypeVar("Key")


@dataclass(frozen=True)
class Options:
    epochs: int = 1
    rate: float = 0.1
    damping: float = 0.0
    l2: float = 0.0
    min_count: int = 1
    prune: float = 0.0
    dropout: float = 0.0
    seed: int = 1

    def as_tuple(self) -> tuple[int, float, float, float, int, float, float, int]:
        return (
            self.epochs, self.rate, self.damping, self.l2, self.min_count, self.prune, self.dropout, self.seed
        )  # fmt: skip


class TwinAdaGrad(Generic[Key]):
    """Duchi, Hazan & Singer (2011): w − rate · g / √(damping + Σ g²), g with the gradient of l2/2 · w²."""

    def __init__(self, keys: Sequence[Key], options: Options) -> None:
        self.options = options
        self.weights = dict.fromkeys(keys, 0.0)
        self.squares = dict.fromkeys(keys, options.damping)
        self.ends: list[dict[Key, float]] = []

    def step(self, key: Key, gradient: float) -> None:
        if key not in self.weights:
            return
        gradient += self.options.l2 * self.weights[key]
        self.squares[key] += gradient**2
        self.weights[key] -= self.options.rate * gradient / (self.squares[key] ** 0.5 + 1e-6)

    def end_epoch(self, epoch: int) -> None:
        """After half of the epochs small weights are dropped for good; the ends of the others are
        averaged."""
        half = self.options.epochs // 2
        if epoch + 1 == half:
            for key, weight in self.weights.items():
                if abs(weight) < self.options.prune:
                    self.weights[key], self.squares[key] = 0.0, float("inf")
        if epoch >= half:
            self.ends.append(dict(self.weights))

    def average(self) -> dict[Key, float]:
        return {key: sum(end[key] for end in self.ends) / len(self.ends) for key in self.weights}


def supported(
    features: Sequence[Sequence[int]], outputs: Sequence[Sequence[int]], min_count: int
) -> list[Pair]:
    """The pairs of feature and output that occur often enough."""
    pairs = Counter((f, o) for fs, os in zip(features, outputs, strict=True) for f in fs for o in os)
    return [pair for pair, count in pairs.items() if count >= min_count]


def slope(loss: Callable[[np.ndarray], float], at: np.ndarray, *, by: float = 1e-5) -> np.ndarray:
    """The gradient of a function, by differences to both sides."""
    gradient = np.zeros_like(at)
    for place in np.ndindex(at.shape):
        step = np.zeros_like(at)
        step[place] = by
        gradient[place] = (loss(at + step) - loss(at - step)) / (2 * by)
    return gradient


# ---- one choice


@dataclass(frozen=True)
class Task:
    """Candidates are lists of outputs; sets are lists of candidates."""

    outputs_of_candidate: list[list[int]]
    candidates_of_set: list[list[int]]
    output_count: int


@dataclass(frozen=True)
class Item:
    features: list[int]
    set: int
    gold: int


def choice_loss(task: Task, item: Item, scores: np.ndarray) -> float:
    """−log p(gold): candidates are scored by the sum of their outputs."""
    totals = {c: scores[task.outputs_of_candidate[c]].sum() for c in task.candidates_of_set[item.set]}
    return float(np.log(sum(np.exp(t) for t in totals.values())) - totals[item.gold])


def softmax_twin(task: Task, items: Sequence[Item], options: Options) -> Weights:
    features = [item.features for item in items]
    pairs = supported(features, [task.outputs_of_candidate[i.gold] for i in items], options.min_count)
    learner = TwinAdaGrad(pairs, options)
    known = {feature for feature, _ in pairs}
    for epoch in range(options.epochs):
        random = TwinRandom(options.seed, options.epochs + epoch)
        for number in shuffled(len(items), options.seed, epoch):
            item = items[number]
            if len(task.candidates_of_set[item.set]) < 2:
                continue
            kept = [f for f in item.features if f in known]
            if options.dropout:
                kept = [f for f in kept if random.uniform() >= options.dropout]
            scores = np.array(
                [sum(learner.weights.get((f, o), 0.0) for f in kept) for o in range(task.output_count)]
            )
            gradient = slope(lambda s: choice_loss(task, item, s), scores)  # noqa: B023
            for f in kept:
                for o in np.flatnonzero(abs(gradient) > NEGLIGIBLE):
                    learner.step((f, int(o)), gradient[o])
        learner.end_epoch(epoch)
    return learner.average()


# ---- chains


@dataclass(frozen=True)
class Word:
    features: list[int]
    candidates: list[int]
    gold: int


class TwinChain:
    """All paths of one sentence. ``emissions[i, s]``; ``transitions[a, b]``, whose last row and column are
    the boundary."""

    def __init__(self, candidates: Sequence[Sequence[int]], states: int) -> None:
        self.boundary = states
        # Ties go to the path whose last state comes first among its candidates, then the last but one, and so
        # on.
        backwards = product(*reversed(candidates))
        self.paths = [tuple(reversed(path)) for path in backwards]

    def pairs(self, path: Sequence[int]) -> list[Pair]:
        return list(zip((self.boundary, *path), (*path, self.boundary), strict=True))

    def score(self, path: Sequence[int], emissions: np.ndarray, transitions: np.ndarray) -> float:
        return float(
            sum(emissions[i, s] for i, s in enumerate(path)) + sum(transitions[p] for p in self.pairs(path))
        )

    def log_z(self, emissions: np.ndarray, transitions: np.ndarray) -> float:
        return float(np.logaddexp.reduce([self.score(p, emissions, transitions) for p in self.paths]))

    def best(self, emissions: np.ndarray, transitions: np.ndarray) -> tuple[int, ...]:
        return max(self.paths, key=lambda path: self.score(path, emissions, transitions))


class ChainTwin:
    """Learns a chain from sentences of words; ``emissions`` and ``transitions`` are what it learned."""

    def __init__(self, sentences: Sequence[Sequence[Word]], states: int, options: Options) -> None:
        self.sentences, self.states, self.options = sentences, states, options
        words = [word for sentence in sentences for word in sentence]
        self.pairs = supported([w.features for w in words], [[w.gold] for w in words], options.min_count)
        self.pairs_of_states = [(a, b) for a in range(states + 1) for b in range(states + 1)]

    def chain(self, sentence: Sequence[Word]) -> TwinChain:
        """A gold state that is no candidate becomes one, the last."""
        return TwinChain([list(dict.fromkeys([*w.candidates, w.gold])) for w in sentence], self.states)

    def emission_table(self, sentence: Sequence[Word], weights: Weights) -> np.ndarray:
        return np.array(
            [
                [sum(weights.get((f, s), 0.0) for f in word.features) for s in range(self.states)]
                for word in sentence
            ]
        )

    def transition_table(self, weights: dict[Pair, float]) -> np.ndarray:
        return np.array([weights[p] for p in self.pairs_of_states]).reshape(self.states + 1, self.states + 1)

    def likelihood(self) -> tuple[Weights, np.ndarray]:
        """AdaGrad on −log p(gold path): a step for each feature of each word, then one for each pair of
        states."""
        emissions = TwinAdaGrad(self.pairs, self.options)
        unpruned = Options(**{**vars(self.options), "prune": 0.0})
        transitions = TwinAdaGrad(self.pairs_of_states, unpruned)
        for epoch in range(self.options.epochs):
            for number in shuffled(len(self.sentences), self.options.seed, epoch):
                sentence = self.sentences[number]
                chain = self.chain(sentence)
                e, t = (
                    self.emission_table(sentence, emissions.weights),
                    self.transition_table(transitions.weights),
                )
                gold = tuple(word.gold for word in sentence)

                def loss(
                    e: np.ndarray, t: np.ndarray, chain: TwinChain = chain, gold: tuple[int, ...] = gold
                ) -> float:
                    return chain.log_z(e, t) - chain.score(gold, e, t)

                by_emission = slope(lambda e, t=t, loss=loss: loss(e, t), e)  # type: ignore[misc]
                by_pair = slope(lambda t, e=e, loss=loss: loss(e, t), t)  # type: ignore[misc]
                for i, word in enumerate(sentence):
                    for f in word.features:
                        for s in np.flatnonzero(abs(by_emission[i]) > NEGLIGIBLE):
                            emissions.step((f, int(s)), by_emission[i, s])
                used = {pair for path in chain.paths for pair in chain.pairs(path)}
                for pair in used:
                    transitions.step(pair, by_pair[pair])
            emissions.end_epoch(epoch)
            transitions.end_epoch(epoch)
        return emissions.average(), self.transition_table(transitions.average())

    def perceptron(self) -> tuple[Weights, np.ndarray]:
        """Collins (2002): the gold path up, the best path down; the mean of the weights at the start and
        after each sentence."""
        weights: Weights = dict.fromkeys(self.pairs, 0.0)
        table = np.zeros((self.states + 1, self.states + 1))
        sum_of_weights, sum_of_tables, count = dict(weights), table.copy(), 1
        for epoch in range(self.options.epochs):
            for number in shuffled(len(self.sentences), self.options.seed, epoch):
                sentence = self.sentences[number]
                chain = self.chain(sentence)
                found = chain.best(self.emission_table(sentence, weights), table)
                gold = tuple(word.gold for word in sentence)
                for path, by in ((gold, 1.0), (found, -1.0)):
                    for word, state in zip(sentence, path, strict=True):
                        for f in word.features:
                            if (f, state) in weights:
                                weights[f, state] += by
                    for pair in chain.pairs(path):
                        table[pair] += by
                for key, weight in weights.items():
                    sum_of_weights[key] += weight
                sum_of_tables += table
                count += 1
        return {key: total / count for key, total in sum_of_weights.items()}, sum_of_tables / count
