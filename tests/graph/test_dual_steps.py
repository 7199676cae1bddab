"""Exponentiated gradient (Koo et al. 2007, figure 2) recomputed from scratch: its distributions by
enumeration of all trees.

Without violators the trainer makes the paper's steps alone; with them it also moves probability to single
trees.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest

from arcwise.graph.trainers import ExponentiatedGradientTrainer
from graph.small_space import Small, dual_trainer, raise_dual, small, trainer_of, weights_of
from graph.twins import Twin, twins
from reference.enumerate_trees import TREE_CLASSES

Floats = npt.NDArray[np.float64]
CLEAR = 1e-7
"""Gains that differ by less may be ranked either way."""


class DualTwin:
    """The mixture of every sentence (θ of its smooth part, its trees with their shares), and all that follows
    from it."""

    def __init__(self, case: Small, C: float, beta: float) -> None:
        self.C, self.sentences = C, twins(case)
        self.gold = [self._gold(twin) for twin in self.sentences]
        self.theta = [beta * gold for gold in self.gold]
        self.smooth = np.ones(len(self.sentences))
        self.shares: list[dict[int, float]] = [{} for _ in self.sentences]

    @staticmethod
    def _gold(twin: Twin) -> Floats:
        """1 for the rows of the gold tree."""
        (tree,) = np.flatnonzero(twin.agrees)
        return DualTwin.rows(twin, int(tree))

    @staticmethod
    def rows(twin: Twin, tree: int) -> Floats:
        """1 for the rows of a tree."""
        return np.isin(np.arange(len(twin.rows)), twin.trees[tree]).astype(np.float64)

    def smooth_marginals(self, s: int) -> Floats:
        """The probability of each row under θ."""
        return self.sentences[s].expected(self.theta[s][self.sentences[s].trees].sum(axis=1))

    def marginals(self, s: int) -> Floats:
        """μ: the probability of each row under the mixture."""
        trees = [share * self.rows(self.sentences[s], tree) for tree, share in self.shares[s].items()]
        total: Floats = self.smooth[s] * self.smooth_marginals(s) + np.sum([0 * self.gold[s], *trees], axis=0)
        return total

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

    # ---- moves of shares

    def gains(self, s: int) -> Floats:
        """cost + w·f of every tree."""
        return self.sentences[s].costs + self.sentences[s].values(self.weights)

    def move(self, s: int, giver: int | None, taker: int, difference: float) -> None:
        """From one part of the mixture (None: the smooth one) to a tree, as far as the dual rises."""
        twin = self.sentences[s]
        most = self.smooth[s] if giver is None else self.shares[s][giver]
        source = self.smooth_marginals(s) if giver is None else self.rows(twin, giver)
        change = self.C * most * (self.rows(twin, taker) - source) @ twin.features
        part = min(1.0, self.C * most * difference / float(change @ change))
        if giver is None:
            part = part if most * (1 - part) >= 1e-8 else 1.0  # what is left would be too little to follow
            self.smooth[s] *= 1 - part
        else:
            self.shares[s][giver] *= 1 - part
        self.shares[s][taker] = self.shares[s].get(taker, 0.0) + part * most

    def move_shares(self, s: int) -> bool:
        """To the worst violator, then between trees until they differ ten times less; whether every choice
        was clear."""
        gains = self.gains(s)
        violator, second = np.argsort(-gains)[:2]
        rows = self.sentences[s].row_costs + self.sentences[s].features @ self.weights
        parts: dict[int | None, float] = {tree: float(gains[tree]) for tree in self.shares[s]}
        if self.smooth[s] > 0:
            parts[None] = float(self.smooth_marginals(s) @ rows)
        giver = min(parts, key=lambda part: parts[part])
        difference = float(gains[violator]) - parts[giver]
        others = [value for part, value in parts.items() if part != giver]
        clear = min([gains[violator] - gains[second], *(value - parts[giver] for value in others)]) > CLEAR
        if difference <= CLEAR:
            return True  # there is nothing to move
        self.move(s, giver, int(violator), difference)
        for _ in range(1, 10):
            self.shares[s] = {tree: share for tree, share in self.shares[s].items() if share > 0}
            own = sorted((float(self.gains(s)[tree]), tree) for tree in self.shares[s])
            if len(own) < 2 or own[-1][0] - own[0][0] <= 0.1 * difference:
                break
            neighbours = [own[1][0] - own[0][0], own[-1][0] - own[-2][0]]
            clear &= len(own) == 2 or min(neighbours) > CLEAR
            self.move(s, own[0][1], own[-1][1], own[-1][0] - own[0][0])
        self.shares[s] = {tree: share for tree, share in self.shares[s].items() if share > 0}
        return clear


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
    assert np.allclose(weights_of(trainer), twin.weights, atol=1e-9)
    assert trainer.dual == pytest.approx(twin.dual, rel=1e-7)


def follow(twin: DualTwin, s: int, eta: float) -> tuple[float, int]:
    """A step, taken back and shortened until the dual rises: the step η to begin with next time, and how many
    were taken back.

    On the line from w to w' the dual is a parabola: its slope at w and its curvature |w' - w|² tell how far
    its top is. The next η is as much longer or shorter, within bounds."""
    for attempt in range(30):
        before, weights, theta = twin.dual, twin.weights, twin.theta[s]
        twin.step(s, eta)
        curvature = float(np.sum((twin.weights - weights) ** 2))
        if curvature < 1e-16 * twin.C:
            return min(2 * eta, 16 / twin.C), attempt  # nothing moves: there is no top to look for
        gain = twin.dual - before
        top = (gain + curvature / 2) / curvature
        if gain >= 0:
            return min(eta * min(top, 2), 16 / twin.C), attempt
        eta *= max(top, 0.1)
        twin.theta[s] = theta
    return eta, 30


def epochs(case: Small, count: int) -> list[int]:
    """The sentences of so many epochs, each time in another order."""
    return [int(s) for epoch in range(count) for s in case.order(epoch)]


def followed(case: Small, C: float, beta: float, count: int) -> tuple[list[int], Floats]:
    """Checks every step of so many epochs; how often each was taken back, and the η in the end."""
    trainer, twin = dual_trainer(case, C=C, beta=beta, violators=0), DualTwin(case, C, beta)
    eta, taken_back = np.full(len(case.treebank), 1 / C), []
    assert trainer.mean_step == pytest.approx(1 / C)
    for s in epochs(case, count):
        eta[s], times = follow(twin, s, eta[s])
        taken_back.append(times)
        cost = raise_dual(case, trainer, [s])
        assert cost == pytest.approx(twin.expected_cost(s), rel=1e-5, abs=1e-8)
        assert np.allclose(weights_of(trainer), twin.weights, atol=1e-6 * max(C, 1))
        assert trainer.dual == pytest.approx(twin.dual, rel=1e-5)
        assert trainer.mean_step == pytest.approx(eta.mean(), rel=1e-4)
    assert trainer.primal() == pytest.approx(twin.primal(weights_of(trainer)), rel=1e-6)
    assert trainer.primal() > twin.dual
    return taken_back, eta


@CLASSES
@LABELLED
def test_every_step_is_the_one_of_the_paper(labelled: bool, projective: bool, single_root: bool) -> None:
    """One sentence at a time, each with a step η of its own. Steps that do not lower the dual are taken; with
    this C all are."""
    taken_back, _ = followed(tiny(labelled, projective, single_root), 0.002, 2.0, 3)
    assert max(taken_back) == 0


@CLASSES
@LABELLED
def test_a_step_that_lowers_the_dual_is_taken_back_and_tried_shorter(
    labelled: bool, projective: bool, single_root: bool
) -> None:
    taken_back, _ = followed(tiny(labelled, projective, single_root), 0.3, 2.0, 4)
    assert max(taken_back) > 0


@CLASSES
@LABELLED
def test_steps_grow_up_to_a_bound(labelled: bool, projective: bool, single_root: bool) -> None:
    C = 0.003
    _, eta = followed(tiny(labelled, projective, single_root), C, 2.0, 6)
    assert C * eta.max() == pytest.approx(16)
    assert C * eta.min() < 15


@CLASSES
@LABELLED
@pytest.mark.parametrize("C, beta", [(0.01, 2.0), (0.1, 1.0), (3.0, 9.0)])
def test_moves_go_from_the_worst_part_to_the_worst_violator_as_far_as_the_dual_rises(
    labelled: bool, projective: bool, single_root: bool, C: float, beta: float
) -> None:
    """Every visit followed for as long as no choice is a matter of rounding: then weights, costs and dual are
    the twin's."""
    case = tiny(labelled, projective, single_root)
    trainer, twin = dual_trainer(case, C=C, beta=beta, violators=1), DualTwin(case, C, beta)
    eta, same = np.full(len(case.treebank), 1 / C), 0
    for s in epochs(case, 4):
        if twin.smooth[s] > 0:
            eta[s], _ = follow(twin, s, eta[s])
        if not twin.move_shares(s):
            break
        cost = raise_dual(case, trainer, [s])
        assert cost == pytest.approx(twin.expected_cost(s), rel=1e-4, abs=1e-7)
        assert np.allclose(weights_of(trainer), twin.weights, atol=1e-5 * max(C, 1))
        assert trainer.dual == pytest.approx(twin.dual, rel=1e-4)
        same += 1
    assert same >= 6


@CLASSES
@LABELLED
@pytest.mark.parametrize("C", [0.01, 1.0])
def test_the_primal_is_that_of_the_worst_trees_and_never_below_the_dual(
    labelled: bool, projective: bool, single_root: bool, C: float
) -> None:
    case = tiny(labelled, projective, single_root)
    trainer, twin = dual_trainer(case, C=C), DualTwin(case, C, 9.0)
    duals = []
    for epoch in range(12):
        costs = raise_dual(case, trainer, case.order(epoch).tolist())
        weights = weights_of(trainer)
        primal = trainer.primal()
        assert primal == pytest.approx(twin.primal(weights), rel=1e-6)
        duals.append(trainer.dual)
        assert duals[-1] <= primal + 1e-9
        # The dual says what it is: the costs of the last pass, less half the squared weights.
        assert duals[-1] == pytest.approx(costs - weights @ weights / 2, rel=1e-9)
    assert np.all(np.diff(duals) >= -1e-9)


def test_a_start_too_sure_of_gold_is_left_by_the_steps_alone() -> None:
    """At β = 30 other trees have a probability of exp(-30) at most: w cannot follow such changes, θ must."""
    trainer = dual_trainer(case := tiny(False, False, True), C=0.1, beta=30.0, violators=0)
    start = trainer.dual
    for epoch in range(40):
        raise_dual(case, trainer, case.order(epoch).tolist())
    assert start < 1e-8
    assert trainer.dual > 0.05


def test_whole_trees_are_needed() -> None:
    bank = small("tiny").treebank
    unlabelled = bank.annotate(deprel=["_", *bank.column("deprel")[1:]])
    with pytest.raises(ValueError, match="needs every head and label"):
        dual_trainer(small(unlabelled, trainer="eg"), C=0.1)
    assert dual_trainer(small(unlabelled, labelled=False, trainer="eg"), C=0.1).skipped == 0
    for labelled in (True, False):
        case = small("tiny partial", labelled=labelled, trainer="eg")
        with pytest.raises(ValueError, match="needs every head and label"):
            dual_trainer(case, C=0.1)


def test_sentences_that_are_no_trees_of_the_class_are_left_out_and_counted() -> None:
    """Two roots where one is allowed: the others are learned as if it were not there."""
    whole, two = tiny(True, False, False), tiny(True, False, True)
    with_two = Small(two.config, whole.treebank, whole.alphabets, whole.table, whole.data)
    trainer = dual_trainer(with_two, C=0.1)
    assert trainer.skipped == 1
    order = np.arange(len(whole.treebank))
    for _ in range(5):
        trainer.run(sentences=order)
    assert 0 < trainer.dual <= trainer.primal()
    alone = dual_trainer(with_two, C=0.1)
    for _ in range(5):
        alone.run(sentences=order[:-1])
    assert alone.dual == pytest.approx(trainer.dual, rel=1e-12)


def test_the_configuration_asks_for_the_steps_of_the_paper_alone() -> None:
    """``violators = 0`` takes the multiplicative steps of figure 2 and no others; the default takes both."""
    case, order = small("projective", labelled=False, trainer="eg", C=0.1), np.arange(3)
    for violators in (0, 3):
        expected = dual_trainer(case, C=0.1, violators=violators)
        config = replace(case.config, violators=violators)
        trainer = trainer_of(ExponentiatedGradientTrainer, case, config=config)
        for epoch in range(3):
            expected.run(sentences=order)
            trainer.epoch(epoch, order, lambda done: None)
        assert (trainer.weights == expected.weights.astype(np.float32)).all()
    assert (trainer.weights != 0).any()
