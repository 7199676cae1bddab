"""Exponentiated gradient for log-linear models (Globerson et al. 2007; Collins et al. 2008): its steps by
enumeration of all trees, and its optimum beside that of the batch solver."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from arcwise.graph import GraphConfig, GraphParser
from arcwise.graph.trainers import BatchTrainer, ExponentiatedGradientTrainer
from contracts.small_treebank import small_treebank
from graph.small_space import Small, dual_trainer, raise_dual, small, trainer_of, weights_of
from graph.twins import log_sum, twins
from reference.enumerate_trees import TREE_CLASSES, all_trees

Floats = npt.NDArray[np.float64]
CLASSES = pytest.mark.parametrize("projective, single_root", TREE_CLASSES)
LABELLED = pytest.mark.parametrize("labelled", [True, False])


class EntropyTwin:
    """θ of every row of every sentence, and all that follows from it."""

    def __init__(self, case: Small, C: float, beta: float) -> None:
        self.C, self.sentences = C, twins(case)
        self.gold = [twin.expected(np.zeros(len(twin.trees)), twin.agrees) for twin in self.sentences]
        self.theta = [beta * gold for gold in self.gold]

    def values(self, s: int) -> Floats:
        """Σ θ of each tree."""
        return self.theta[s][self.sentences[s].trees].sum(axis=1)

    def marginals(self, s: int) -> Floats:
        return self.sentences[s].expected(self.values(s))

    @property
    def weights(self) -> Floats:
        """w = C Σ_i (f(y_i) - E f)."""
        terms = [(self.gold[s] - self.marginals(s)) @ twin.features for s, twin in enumerate(self.sentences)]
        total: Floats = self.C * np.sum(terms, axis=0)
        return total

    def term(self, s: int) -> float:
        """C times the entropy of the distribution of a sentence."""
        log_p = self.values(s) - log_sum(self.values(s))
        return -self.C * float(np.exp(log_p) @ log_p)

    @property
    def dual(self) -> float:
        terms = sum(self.term(s) for s in range(len(self.sentences)))
        return terms - float(self.weights @ self.weights) / 2

    def primal(self, weights: Floats) -> float:
        """½|w|² - C Σ log P(y_i)."""
        loss = 0.0
        for twin in self.sentences:
            values = twin.values(weights)
            loss += log_sum(values) - values[twin.agrees].item()
        return float(weights @ weights) / 2 + self.C * loss

    def follow(self, s: int, step: float) -> tuple[float, int]:
        """θ' = θ + step (w·f - θ), taken back and shortened until its bound says that the dual rises: the
        step to begin with next time, and how many were taken back."""
        twin, theta, weights, mu = self.sentences[s], self.theta[s], self.weights, self.marginals(s)
        gain, before = twin.features @ weights - theta, self.dual
        for attempt in range(30):
            self.theta[s] = theta + step * gain
            slope = self.C * float((self.marginals(s) - mu) @ gain)
            length = float(np.sum((self.weights - weights) ** 2))
            top = slope / (length + 2 * step * slope)
            if top >= 0.5:
                assert self.dual >= before  # the bound is one
                return min(step * min(top, 2), 1), attempt
            step *= max(top, 0.1)
        raise AssertionError("a step short enough raises the dual")


def tiny(labelled: bool, projective: bool, single_root: bool, **options: object) -> Small:
    bank = "tiny" if single_root else "tiny two roots"
    classes = {"projective": projective, "single_root": single_root, "labelled": labelled}
    return small(bank, **classes, **({"trainer": "eg-log-linear"} | options))


@CLASSES
@LABELLED
@pytest.mark.parametrize("C, beta", [(0.01, 0.0), (0.3, 2.0), (3.0, 9.0)])
def test_every_step_moves_scores_towards_those_of_the_weights(
    labelled: bool, projective: bool, single_root: bool, C: float, beta: float
) -> None:
    case = tiny(labelled, projective, single_root)
    trainer, twin = dual_trainer(case, C=C, beta=beta, log_linear=True), EntropyTwin(case, C, beta)
    assert trainer.dual == pytest.approx(twin.dual, rel=1e-6)
    steps, taken_back = np.ones(len(case.treebank)), 0
    for s in [int(s) for epoch in range(3) for s in case.order(epoch)]:
        steps[s], times = twin.follow(s, steps[s])
        taken_back += times
        term = raise_dual(case, trainer, [s])
        assert term == pytest.approx(twin.term(s), rel=1e-5)
        assert np.allclose(weights_of(trainer), twin.weights, atol=1e-6 * max(C, 1))
        assert trainer.dual == pytest.approx(twin.dual, rel=1e-5)
        assert trainer.mean_step * C == pytest.approx(steps.mean(), rel=1e-4)
    assert trainer.primal() == pytest.approx(twin.primal(weights_of(trainer)), rel=1e-6)
    assert taken_back > 0


@CLASSES
@LABELLED
@pytest.mark.parametrize("C", [0.1, 5.0])
def test_it_reaches_the_optimum_of_the_batch_solver(
    labelled: bool, projective: bool, single_root: bool, C: float
) -> None:
    """The dual never falls and never exceeds the primal; both end at the batch solver's objective."""
    case = tiny(labelled, projective, single_root, C=C)
    batch = trainer_of(BatchTrainer, tiny(labelled, projective, single_root, C=C, trainer="log-linear-batch"))
    for number in range(30):
        batch.epoch(number, case.order(), lambda done: None)
        if batch.finished:
            break
    trainer = trainer_of(ExponentiatedGradientTrainer, case)
    duals = []
    for number in range(60):
        metrics = trainer.epoch(number, case.order(number), lambda done: None)
        assert metrics["dual"] <= metrics["primal"] + 1e-8
        duals.append(metrics["dual"])
    assert np.all(np.diff(duals) >= -1e-8)
    assert duals[0] < 0.9 * duals[-1]
    assert trainer.finished
    assert metrics["gap"] < 1e-6
    assert metrics["primal"] == pytest.approx(batch.objective_value, rel=1e-6)
    assert np.abs(trainer.weights - batch.weights).max() < 1e-3


def test_a_step_ends_at_the_scores_of_the_weights_at_most() -> None:
    """With a tiny C the weights hardly move and steps grow, but never beyond θ = w·f."""
    case = tiny(False, True, True)
    trainer = dual_trainer(case, C=1e-9, log_linear=True)
    for epoch in range(20):
        trainer.run(sentences=case.order(epoch))
        assert trainer.mean_step * 1e-9 <= 1
    assert trainer.mean_step * 1e-9 > 0.5  # what a step that moves anything has at most


def test_at_the_start_without_beta_the_dual_is_the_entropy_of_all_trees() -> None:
    """θ = 0: every tree is as likely as any other, and the log of their number is their entropy."""
    case = tiny(False, True, True)
    trainer = dual_trainer(case, C=1e-6, beta=0.0, log_linear=True)
    counts = [
        len(list(all_trees(len(sentence), projective=True, single_root=True))) for sentence in case.treebank
    ]
    assert trainer.dual == pytest.approx(1e-6 * np.log(counts).sum(), rel=1e-4)


def test_violators_have_no_place_in_a_log_linear_dual() -> None:
    from arcwise import native

    case = tiny(False, True, True)
    with pytest.raises(ValueError, match="has no violators"):
        native.ExponentiatedGradientTrainer(
            case.table,
            case.data,
            projective=True,
            single_root=True,
            C=1,
            beta=0,
            violators=1,
            log_linear=True,
        )


def test_its_parser_has_probabilities_like_those_of_the_batch_solver() -> None:
    """Trained by the parser, with minimum risk among the decoders to choose from."""
    models = {}
    for trainer in ("eg-log-linear", "log-linear-batch"):
        config = GraphConfig(trainer=trainer, C=1.0, epochs=40, arc_bits=14, row_bits=14, filter_after=10**6)
        assert "mbr" in config.trainer_kind.decoders
        models[trainer] = GraphParser.train(small_treebank(), config=config).model
    assert models["eg-log-linear"].report["history"][-1]["gap"] <= 1e-4
    weights = [np.asarray(model.weights, np.float64) for model in models.values()]
    assert np.linalg.norm(weights[0] - weights[1]) < 0.02 * np.linalg.norm(weights[1])
