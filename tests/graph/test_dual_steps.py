"""Exponentiated gradient (Koo et al. 2007, figure 2) recomputed from scratch: its distributions by enumeration of all trees.

The trainer keeps marginals as float32; numbers are compared as far as that allows.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import pytest

from graph.small_space import Small, dual_trainer, raise_dual, small, weights_of
from graph.twins import Twin, twins
from reference.enumerate_trees import TREE_CLASSES

Floats = npt.NDArray[np.float64]


class DualTwin:
    """θ of every sentence, and all that follows from it."""

    def __init__(self, case: Small, C: float, beta: float) -> None:
        self.C, self.sentences = C, twins(case)
        self.gold = [self._gold(twin) for twin in self.sentences]
        self.theta = [beta * gold for gold in self.gold]

    @staticmethod
    def _gold(twin: Twin) -> Floats:
        """1 for the rows of the gold tree."""
        (tree,) = np.flatnonzero(twin.agrees)
        return np.isin(np.arange(len(twin.rows)), twin.trees[tree]).astype(np.float64)

    def marginals(self, s: int) -> Floats:
        """μ: the probability of each row under θ."""
        return self.sentences[s].expected(self.theta[s][self.sentences[s].trees].sum(axis=1))

    @property
    def weights(self) -> Floats:
        """w = C Σ_i (f(y_i) - E f)."""
        terms = [(self.gold[s] - self.marginals(s)) @ twin.features for s, twin in enumerate(self.sentences)]
        total: Floats = self.C * np.sum(terms, axis=0)
        return total

    def expected_cost(self, s: int) -> float:
        return self.C * float(self.marginals(s) @ self.sentences[s].row_costs)

    @property
    def dual(self) -> float:
        """Σ C E[cost] - ½|w|²."""
        costs = sum(self.expected_cost(s) for s in range(len(self.sentences)))
        return costs - float(self.weights @ self.weights) / 2

    def step(self, s: int, eta: float) -> None:
        """θ' = θ + η C (cost + w·f)."""
        twin = self.sentences[s]
        self.theta[s] = self.theta[s] + eta * self.C * (twin.row_costs + twin.features @ self.weights)

    def primal(self, weights: Floats) -> float:
        """½|w|² + C Σ max_y [cost(y) - w·(f(y_i) - f(y))]."""
        slack = 0.0
        for twin in self.sentences:
            values = twin.values(weights)
            slack += float((values + twin.costs).max() - values[twin.agrees].item())
        return float(weights @ weights) / 2 + self.C * slack


def tiny(labelled: bool, projective: bool, single_root: bool) -> Small:
    bank = "tiny" if single_root else "tiny two roots"
    return small(bank, labelled=labelled, projective=projective, single_root=single_root, trainer="eg")


CLASSES = pytest.mark.parametrize("projective, single_root", TREE_CLASSES)
LABELLED = pytest.mark.parametrize("labelled", [True, False])


@CLASSES
@LABELLED
@pytest.mark.parametrize("beta", [1.0, 4.0])
def test_the_start_gives_gold_arcs_beta_and_others_nothing(
    labelled: bool, projective: bool, single_root: bool, beta: float
) -> None:
    case = tiny(labelled, projective, single_root)
    trainer, twin = dual_trainer(case, C=0.02, beta=beta), DualTwin(case, 0.02, beta)
    assert np.abs(twin.weights).max() > 1e-3
    assert np.allclose(weights_of(trainer), twin.weights, atol=1e-7)


@CLASSES
@LABELLED
def test_every_step_is_the_one_of_the_paper(labelled: bool, projective: bool, single_root: bool) -> None:
    """One sentence at a time. Each has a step η of its own that the trainer changes as it goes: what it was is told by the
    mean over the sentences, of which one changes. Steps that do not lower the dual are taken; with this C all are."""
    C, beta = 0.002, 2.0
    case = tiny(labelled, projective, single_root)
    trainer, twin = dual_trainer(case, C=C, beta=beta), DualTwin(case, C, beta)
    count = len(case.treebank)
    eta = np.full(count, trainer.mean_step)
    assert eta == pytest.approx(1 / C)
    for epoch in range(3):
        costs, values = np.zeros(count), []
        for s in case.order(epoch):
            before = twin.dual
            twin.step(s, eta[s])
            values.append(twin.dual - before)
            costs[s] = raise_dual(case, trainer, [int(s)])
            eta[s] += count * (trainer.mean_step - eta.mean())
            assert costs[s] == pytest.approx(twin.expected_cost(s), rel=1e-4, abs=1e-7)
        assert min(values) > 0
        assert np.allclose(weights_of(trainer), twin.weights, atol=1e-5)
        assert trainer.dual(costs.sum()) == pytest.approx(twin.dual, rel=1e-4)
        assert trainer.primal() == pytest.approx(twin.primal(weights_of(trainer)), rel=1e-6)
        assert trainer.primal() > twin.dual


def follow(twin: DualTwin, s: int, eta: float) -> tuple[float, int]:
    """A step that may be taken back, up to four times: the step η to begin with next time, and how many were taken back.

    On the line from w to w' the dual is a parabola: its slope at w and its curvature |w' - w|² tell how far its top is. The
    next η is as much longer or shorter, within bounds."""
    for attempt in range(4):
        before, weights, theta = twin.dual, twin.weights, twin.theta[s]
        twin.step(s, eta)
        curvature = float(np.sum((twin.weights - weights) ** 2))
        gain = twin.dual - before
        eta = min(eta * np.clip((gain + curvature / 2) / curvature, 0.1, 2), 16 / twin.C)
        if gain >= 0:
            return eta, attempt
        twin.theta[s] = theta
    return eta, 4


def epochs(case: Small, count: int) -> list[int]:
    """The sentences of so many epochs, each time in another order."""
    return [int(s) for epoch in range(count) for s in case.order(epoch)]


def steps_taken_back(case: Small, C: float, sentences: Iterable[int]) -> tuple[list[int], Floats]:
    """Checks every step; how often each was taken back, and the η in the end."""
    trainer, twin = dual_trainer(case, C=C, beta=2.0), DualTwin(case, C, 2.0)
    eta, taken_back = np.full(len(case.treebank), 1 / C), []
    for s in sentences:
        eta[s], times = follow(twin, s, eta[s])
        taken_back.append(times)
        cost = raise_dual(case, trainer, [s])
        assert cost == pytest.approx(twin.expected_cost(s), rel=1e-3, abs=1e-6)
        assert np.allclose(weights_of(trainer), twin.weights, atol=1e-4 * max(C, 1))
        assert trainer.mean_step == pytest.approx(eta.mean(), rel=1e-3)
    return taken_back, eta


@CLASSES
@LABELLED
def test_a_step_that_lowers_the_dual_is_taken_back_and_tried_shorter(
    labelled: bool, projective: bool, single_root: bool
) -> None:
    case = tiny(labelled, projective, single_root)
    taken_back, _ = steps_taken_back(case, 0.3, epochs(case, 4))
    assert max(taken_back) > 0


@CLASSES
@LABELLED
def test_steps_grow_up_to_a_bound(labelled: bool, projective: bool, single_root: bool) -> None:
    case, C = tiny(labelled, projective, single_root), 0.003
    _, eta = steps_taken_back(case, C, epochs(case, 6))
    assert C * eta.max() == pytest.approx(16)
    assert C * eta.min() < 15


@pytest.mark.parametrize("single_root", [True, False])
def test_a_sentence_without_a_step_in_four_attempts_stays_as_it_was(single_root: bool) -> None:
    """A large C makes weights large, and with them steps too long."""
    taken_back, _ = steps_taken_back(tiny(True, False, single_root), 300.0, [2, 2, 2])
    assert taken_back[0] == 4


@CLASSES
@LABELLED
@pytest.mark.parametrize("C", [0.01, 1.0])
def test_the_primal_is_that_of_the_worst_trees_and_never_below_the_dual(
    labelled: bool, projective: bool, single_root: bool, C: float
) -> None:
    case = tiny(labelled, projective, single_root)
    trainer, twin = dual_trainer(case, C=C), DualTwin(case, C, 9.0)
    for epoch in range(12):
        costs = raise_dual(case, trainer, case.order(epoch).tolist())
        weights = weights_of(trainer)
        primal = trainer.primal()
        assert primal == pytest.approx(twin.primal(weights), rel=1e-6)
        dual = trainer.dual(costs)
        assert dual <= primal + 1e-9
    # The dual says what it is: the costs of the last pass, less half the squared weights.
    assert dual == pytest.approx(costs - weights @ weights / 2, rel=1e-9)
