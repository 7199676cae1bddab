"""What a greedy parser learns from a teacher's probabilities, against a twin that tries everything."""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt
import pytest

from arcwise import native
from arcwise.distillation.soft_targets import SoftTargets
from reference.transition_search import TwinState
from reference.transition_trainer import Both, LabelledMove, TwinSentence, TwinTrainer
from transition.test_trainer import Toy, learn_both, toy

SYSTEMS = ["arc-eager", "hybrid", "easy-first"]
Arcs = dict[tuple[int, int, int], float]
"""(modifier, head, label) → probability."""


class TaughtSentence(TwinSentence):
    """A sentence whose moves are judged by a teacher: what can be reached is found by trying everything."""

    def __init__(self, plain: TwinSentence, arcs: Arcs) -> None:
        super().__init__(plain.system, plain.scorer, plain.data, plain.number, plain.gold, plain.labels)
        self.arcs = arcs
        self.final_arcs = cache(self._final_arcs)

    def _final_arcs(self, state: TwinState) -> frozenset[tuple[int, int]]:
        """Every arc (head, modifier) of any tree that can still be built."""
        following = [self.twin.after(state, move) for move in self.twin.moves(state)]
        if following:
            return frozenset().union(*map(self.final_arcs, following))
        return frozenset((h, m) for m, h in enumerate(state.heads) if m and h is not None)

    def best_share(self, head: int, modifier: int) -> float:
        return max((self.arcs.get((modifier, head, label), 0.0) for label in range(self.labels)), default=0.0)

    def value(self, state: Both, move: LabelledMove) -> float:
        """The right heads and labels that the teacher expects after a move, each word by itself."""
        after = self.twin.after(state.twin, move.move)
        labels = {
            self.twin.arc(own.move)[1]: own.label for own in (*state.moves, move) if self.is_arc(own.move)
        }
        total = 0.0
        for m in range(1, self.twin.n + 1):
            if (head := after.heads[m]) is not None:
                total += self.arcs.get((m, head, labels[m]), 0.0)
            else:
                total += max(
                    (self.best_share(h, k) for h, k in self.final_arcs(after) if k == m), default=0.0
                )
        return total

    def is_right(self, state: Both, move: LabelledMove) -> bool:
        values = [self.value(state, m) for moves in self.labelled(state) for m in moves]
        return self.value(state, move) >= max(values) - 1e-6


class TaughtTwin(TwinTrainer):
    """A wrong move counts as much as it loses, 1 at most."""

    def update(self, sentence: TwinSentence, good: Both, bad: Both, loss: float, start: Both) -> None:
        assert isinstance(sentence, TaughtSentence)
        right, wrong = (sentence.value(start, state.moves[-1]) for state in (good, bad))
        before = self.weights.copy()
        super().update(sentence, good, bad, loss, start)
        self.weights = before + min(right - wrong, 1.0) * sentence.weight * (self.weights - before)


def teach(
    made: Toy,
    seed: int = 5,
    sharpness: float = 2.0,
    weights: npt.NDArray[np.float64] | None = None,
    many: int = 6,
) -> Toy:
    """The toy with a teacher whose probabilities are by chance."""
    rng = np.random.default_rng(seed)
    rows, sentences, done = [], [], 0
    heavy = np.ones(len(made.sentences)) if weights is None else weights
    for sentence, weight in zip(made.sentences, heavy, strict=True):
        n, arcs = sentence.twin.n, {}
        for m in range(1, n + 1):
            keys = [(m, h, label) for h in range(n + 1) if h != m for label in range(sentence.labels)]
            shares = np.exp(sharpness * rng.normal(size=len(keys)))
            kept = rng.choice(len(keys), many, replace=False)
            for k in kept:
                arcs[keys[k]] = float(shares[k] / shares[kept].sum())
        rows += [(done + m - 1, h, label, p) for (m, h, label), p in arcs.items()]
        sentences.append(TaughtSentence(sentence, arcs))
        sentences[-1].weight = float(weight)
        done += n
    set_taught(made.data, rows, done, heavy)
    made.sentences[:] = sentences
    return made


def set_taught(
    data: native.TransitionData,
    rows: list[tuple[int, int, int, float]],
    words: int,
    weights: npt.NDArray[np.float64],
) -> None:
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    arcs = SoftTargets.from_arcs(*columns, words, ("x", "y"))  # type: ignore[arg-type]
    data.set_taught(arcs.starts, arcs.heads, arcs.labels, arcs.probabilities, weights)


def twin_of(made: Toy, **settings: float) -> TaughtTwin:
    return TaughtTwin(made.weights, made.twin(**settings).settings)


@pytest.mark.slow
@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("step_bound", [0.0, 0.5])
@pytest.mark.parametrize("many", [1, 6])
def test_taught_steps_are_those_of_the_twin(name: str, step_bound: float, many: int) -> None:
    made = teach(toy(name, sentences=5), many=many)
    learn_both(made, made.trainer(step_bound=step_bound), twin_of(made, step_bound=step_bound))


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("many", [1, 6])
def test_after_a_wrong_move_the_teacher_says_what_is_best_now(name: str, many: int) -> None:
    made = teach(toy(name, seed=3, sentences=5), many=many)
    learn_both(made, made.trainer(explore=1.0), twin_of(made, explore=1.0))


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_sentence_counts_as_much_as_it_weighs(name: str) -> None:
    made = teach(toy(name), weights=np.array([0.25, 1.0, 3.0]))
    learn_both(made, made.trainer(), twin_of(made))


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("explore", [0.0, 1.0])
@pytest.mark.parametrize("step_bound", [0.0, 0.5])
def test_a_teacher_who_is_sure_of_the_gold_trees_changes_nothing(
    name: str, explore: float, step_bound: float
) -> None:
    results = []
    for taught in (False, True):
        made = toy(name, sentences=6, words=5)
        if taught:
            rows = [
                (5 * s.number + m, h, label, 1.0)
                for s in made.sentences
                for m, (h, label) in enumerate(zip(s.gold.heads, s.gold.labels, strict=True))
            ]
            set_taught(made.data, rows, 30, np.ones(6))
        trainer = made.trainer(explore=explore, step_bound=step_bound)
        updates = [trainer.learn(epoch, np.arange(6), explore > 0) for epoch in (1, 2, 3)]
        results.append((updates, made.scorer.weights(), trainer.averages(made.scorer)))
    assert results[0][0] == results[1][0]
    assert (results[0][1] == results[1][1]).all()
    assert (results[0][2] == results[1][2]).all()


@pytest.mark.parametrize("rule", ["early", "max-violation"])
def test_a_beam_learns_from_trees_and_weighs_them(rule: str) -> None:
    heavy = teach(toy("arc-eager"), weights=np.full(3, 2.0))
    plain = toy("arc-eager")
    changes = []
    for made in (plain, heavy):
        trainer = made.trainer(rule, beam=4)
        trainer.learn(1, np.array([0]), False)
        changes.append(made.scorer.weights() - made.weights)
    assert np.abs(changes[0]).max() > 0
    np.testing.assert_allclose(changes[1], 2 * changes[0], atol=1e-5)
