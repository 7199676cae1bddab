"""Slow, obvious twin of the transition trainer: all states from exhaustive search, weights as one array,
averages as a mean.

States are those of ``transition_search``: which moves are legal, and how many gold arcs each can still lead
to, is found by trying everything. Of the engine it takes one thing, where the weights of a move are
(``native.transition_weight_places``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from arcwise import native
from arcwise.transition import State, TransitionSystem, derivation, start
from reference.transition_search import Twin, TwinMove, TwinState

GOLD_BEAM = 8


class LabelledMove(NamedTuple):
    move: TwinMove
    label: int


@dataclass(frozen=True)
class Both:
    """A state of the twin, the same of the engine, and the moves that led to it."""

    twin: TwinState
    engine: State
    moves: tuple[LabelledMove, ...] = ()
    score: float = 0.0
    correct: bool = True
    """Whether the gold tree, with its labels, can still be built."""


@dataclass(frozen=True)
class Gold:
    """The tree of one sentence: heads and labels of words 1..n."""

    heads: tuple[int, ...]
    labels: tuple[int, ...]


@dataclass
class TwinSettings:
    rule: Literal["local", "early", "max-violation"] = "local"
    beam: int = 1
    explore: float = 0.0
    step_bound: float = 0.0
    coin: Callable[[], float] = lambda: 0.0
    """A number in [0, 1): below ``explore`` the parser's own wrong move is followed."""


class TwinSentence:
    """One sentence with its gold tree: moves, their features, and which are right."""

    def __init__(
        self,
        system: TransitionSystem,
        scorer: native.TransitionScorer,
        data: native.TransitionData,
        number: int,
        gold: Gold,
        labels: int,
    ) -> None:
        self.system, self.scorer, self.data, self.number, self.gold = system, scorer, data, number, gold
        self.labels = labels
        self.twin = Twin(system, len(gold.heads))
        self.most_gold_arcs = self.twin.most_gold_arcs(gold.heads)

    def start(self) -> Both:
        engine = start(self.system, self.twin.n, single_root=False)
        return Both(self.twin.start(), engine)

    def is_arc(self, move: TwinMove) -> bool:
        return self.system.transitions[move.transition].is_arc

    def is_settled(self, state: Both) -> bool:
        return state.twin.used > self.twin.n and None not in state.twin.heads[1:]

    def labelled(self, state: Both) -> list[list[LabelledMove]]:
        """Each legal move with all its labels."""
        return [
            [LabelledMove(m, label) for label in range(self.labels if self.is_arc(m) else 1)]
            for m in self.twin.moves(state.twin)
        ]

    def places(self, state: Both, move: LabelledMove) -> list[int]:
        return native.transition_weight_places(
            self.scorer, self.data, self.number, state.engine, (*move.move, move.label), []
        )

    def after(self, state: Both, move: LabelledMove, score: float = 0.0, *, correct: bool = True) -> Both:
        return Both(
            self.twin.after(state.twin, move.move),
            state.engine.after((*move.move, move.label)),
            (*state.moves, move),
            score,
            correct,
        )

    def is_right(self, state: Both, move: LabelledMove) -> bool:
        """Of all moves it loses fewest gold arcs (none, on a path to the gold tree); a gold arc has its gold
        label."""
        reached = self.most_gold_arcs(self.twin.after(state.twin, move.move))
        most = max(self.most_gold_arcs(self.twin.after(state.twin, m)) for m in self.twin.moves(state.twin))
        return reached == most and self.has_gold_label(move)

    def has_gold_label(self, move: LabelledMove) -> bool:
        if not self.is_arc(move.move):
            return True
        head, modifier = self.twin.arc(move.move)
        return self.gold.heads[modifier - 1] != head or self.gold.labels[modifier - 1] == move.label

    def keeps_gold(self, state: Both, move: LabelledMove) -> bool:
        reached = self.most_gold_arcs(self.twin.after(state.twin, move.move))
        return reached == self.twin.n and self.has_gold_label(move)

    def ended(self, state: Both) -> bool:
        return not self.twin.moves(state.twin)


class StaticSentence(TwinSentence):
    """One derivation of the gold tree is right, and no other."""

    def derivation(self) -> list[LabelledMove]:
        moves = derivation(self.system, self.gold.heads)
        assert moves is not None
        bare = [TwinMove(*m[:3]) for m in moves]
        return [
            LabelledMove(m, self.gold.labels[self.twin.arc(m)[1] - 1] if self.is_arc(m) else 0) for m in bare
        ]

    def is_right(self, state: Both, move: LabelledMove) -> bool:
        return move == self.derivation()[len(state.moves)]

    def keeps_gold(self, state: Both, move: LabelledMove) -> bool:
        return state.correct and self.is_right(state, move)


def labelled_state(item: Both) -> tuple[TwinState, frozenset[tuple[int, int, int]], bool]:
    """O, U and the labelled arcs, in whatever order they were built; whether they are correct."""
    arcs = frozenset((m.move.left, m.move.right, m.label) for m in item.moves if m.move.right >= 0)
    return item.twin, arcs, item.correct


def best_of(items: Sequence[Both], width: int) -> list[Both]:
    """The best items, best first; of several derivations of a state the best one."""
    best: dict[object, Both] = {}
    for item in sorted(items, key=lambda item: -item.score):
        best.setdefault(labelled_state(item), item)
    return list(best.values())[:width]


class Violation(NamedTuple):
    """How much better the beam's best was than the best correct one, and where: as many moves as each has.

    No update with a negative size is valid (Huang, Fayong & Guo 2012).
    """

    size: float
    good: Both
    bad: Both


class TwinTrainer:
    """Learns as the definitions say. ``weights`` are those of now; ``mean`` is their mean over the start and
    all steps: with single moves those after each move, with a beam those after each sentence."""

    def __init__(self, weights: np.ndarray, settings: TwinSettings) -> None:
        self.weights = weights.astype(np.float64)
        self.settings = settings
        self.sum, self.count = self.weights.copy(), 1
        self.violations: list[Violation] = []

    @property
    def mean(self) -> np.ndarray:
        return self.sum / self.count

    def learn(self, sentence: TwinSentence) -> None:
        if self.settings.rule == "local":
            self.learn_locally(sentence)
        else:
            self.learn_with_beam(sentence)

    def score(self, sentence: TwinSentence, state: Both, move: LabelledMove) -> float:
        return float(self.weights[sentence.places(state, move)].sum())

    def step_is_over(self) -> None:
        self.sum += self.weights
        self.count += 1

    # ---- one move after the other

    def learn_locally(self, sentence: TwinSentence) -> None:
        state = sentence.start()
        while not sentence.is_settled(state):
            state = self.move_on(sentence, state)
            self.step_is_over()

    def move_on(self, sentence: TwinSentence, state: Both) -> Both:
        scores = {m: self.score(sentence, state, m) for ms in sentence.labelled(state) for m in ms}
        right = max((m for m in scores if sentence.is_right(state, m)), key=scores.__getitem__)
        with_margin = self.settings.step_bound > 0
        # Without a margin only the best label of each arc is looked at.
        found = [
            m
            for ms in sentence.labelled(state)
            for m in (ms if with_margin else [max(ms, key=scores.__getitem__)])
        ]
        best = max(found, key=scores.__getitem__)
        best_is_right = sentence.is_right(state, best)
        wrong = max(
            (m for m in found if not sentence.is_right(state, m)), key=scores.__getitem__, default=None
        )
        if wrong is not None:
            loss = scores[wrong] - scores[right] + (1.0 if with_margin else 0.0)
            if loss >= 0:
                self.update(sentence, sentence.after(state, right), sentence.after(state, wrong), loss, state)
        exploring = self.settings.explore > 0
        if exploring and (best_is_right or self.settings.coin() < self.settings.explore):
            return sentence.after(state, best)
        return sentence.after(state, right)

    # ---- a beam

    def learn_with_beam(self, sentence: TwinSentence) -> None:
        violation = self.violation(sentence)
        if violation is not None:
            self.violations.append(violation)
            self.update(sentence, violation.good, violation.bad, violation.size + 1, sentence.start())
        self.step_is_over()

    def violation(self, sentence: TwinSentence) -> Violation | None:
        """Early update: where no correct item is left, or else at the end. Max-violation: where the
        difference is largest.

        The correct side are correct continuations of what is in the beam; when nothing correct is left there,
        of what was last.
        """
        early = self.settings.rule == "early"
        beam, golden = [sentence.start()], [sentence.start()]
        found: list[Violation] = []
        while not all(map(sentence.ended, beam)) or not all(map(sentence.ended, golden)):
            golden = [item for item in beam if item.correct] or golden
            beam = self.next_beam(sentence, beam)
            golden = self.next_golden(sentence, golden)
            lost = not any(item.correct for item in beam)
            at_end = all(map(sentence.ended, beam))
            if not beam[0].correct and (not early or lost or at_end):
                found.append(Violation(beam[0].score - golden[0].score, golden[0], beam[0]))
            if early and lost:
                break
        return max(found, key=lambda v: v.size, default=None)

    def next_beam(self, sentence: TwinSentence, beam: Sequence[Both]) -> list[Both]:
        """The best continuations, each arc with its best label; other labels get the places that are left
        free."""
        first: list[Both] = []
        others: list[Both] = []
        for item in beam:
            if sentence.ended(item):
                first.append(item)
            for moves in sentence.labelled(item):
                ranked = sorted(moves, key=lambda m: -self.score(sentence, item, m))
                continued = [self.continued(sentence, item, m) for m in ranked]
                first.append(continued[0])
                others += continued[1:]
        kept = best_of(first, self.settings.beam)
        states = set(map(labelled_state, kept))
        rest = [item for item in others if labelled_state(item) not in states]
        return best_of(kept + best_of(rest, self.settings.beam - len(kept)), self.settings.beam)

    def next_golden(self, sentence: TwinSentence, beam: Sequence[Both]) -> list[Both]:
        """The best correct continuations."""
        following = [item for item in beam if sentence.ended(item)]
        for item in beam:
            for moves in sentence.labelled(item):
                right = [m for m in moves if sentence.keeps_gold(item, m)]
                following += [self.continued(sentence, item, m) for m in right]
        return best_of(following, min(GOLD_BEAM, self.settings.beam))

    def continued(self, sentence: TwinSentence, item: Both, move: LabelledMove) -> Both:
        score = item.score + self.score(sentence, item, move)
        return sentence.after(item, move, score, correct=item.correct and sentence.keeps_gold(item, move))

    # ---- the step

    def update(self, sentence: TwinSentence, good: Both, bad: Both, loss: float, start: Both) -> None:
        """w + τ (f(good) − f(bad)): τ = 1, or τ = min(C, loss / ‖f(good) − f(bad)‖²)."""
        done = len(start.moves)
        features = self.features(sentence, start, good.moves[done:])
        features -= self.features(sentence, start, bad.moves[done:])
        bound = self.settings.step_bound
        step = min(bound, loss / max(features @ features, 1.0)) if bound > 0 else 1.0
        self.weights += step * features

    def features(self, sentence: TwinSentence, state: Both, moves: Sequence[LabelledMove]) -> np.ndarray:
        """f of moves, from the state on: how often they have each weight."""
        found = np.zeros_like(self.weights)
        for move in moves:
            np.add.at(found, sentence.places(state, move), 1.0)
            state = sentence.after(state, move)
        return found
