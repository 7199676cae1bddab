"""Perceptron and MIRA, one update at a time: against enumerated trees and an independent quadratic
program."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from arcwise.errors import OptionError
from arcwise.graph.config import GraphConfig
from graph.quadratic_program import smallest_change
from graph.small_space import Small, learn, margin_trainer, small, weights_of
from graph.twins import Twin, twins
from reference.enumerate_trees import TREE_CLASSES

Floats = npt.NDArray[np.float64]
CLEAR = 1e-3
"""Trees whose values differ by less could be taken one for the other by rounding (weights are float32)."""


def tiny(labelled: bool, projective: bool, single_root: bool) -> Small:
    bank = "tiny" if single_root else "tiny two roots"
    return small(bank, labelled=labelled, projective=projective, single_root=single_root)


def margins(twin: Twin, weights: Floats, others: list[int]) -> tuple[Floats, Floats]:
    """f(gold) - f(tree) and loss(tree) of every other tree that is not the gold one."""
    gold = twin.target(weights)
    kept = [tree for tree in others if tree != gold]
    differences = [twin.vector(gold) - twin.vector(tree) for tree in kept]
    return np.array(differences).reshape(len(kept), len(weights)), twin.costs[kept]


def relative_error(found: Floats, wanted: Floats, start: Floats) -> float:
    """|found - wanted| as a share of the step wanted, less what rounding to float32 takes; 0 where none is
    wanted and none was made."""
    step = np.linalg.norm(wanted - start)
    beyond = np.maximum(np.abs(found - wanted) - np.finfo(np.float32).eps * np.abs(wanted), 0)
    return float(np.linalg.norm(beyond) / step) if step > 1e-9 else float(np.any(found != start))


def starts(case: Small, *, C: float, seeds: int = 3, **options: Any) -> Iterator[tuple[Any, int]]:
    """Trainers that have learned a little already, from different sentences, and the sentence to learn
    next."""
    for seed in range(seeds):
        trainer = margin_trainer(case, C=C, **options)
        random, count = np.random.default_rng(seed), len(case.treebank)
        learn(case, trainer, random.integers(0, count, 1 + seed % 3).tolist())
        for s in random.permutation(count):
            yield trainer, int(s)


def mira_errors(
    labelled: bool, tree_class: tuple[bool, bool], *, k: int, C: float, loss_augmented: bool
) -> tuple[list[float], bool]:
    """How far each update is from the solution of its quadratic program, and whether C held one back."""
    case = tiny(labelled, *tree_class)
    every = twins(case)
    errors, held_back = [], False
    for trainer, s in starts(case, k=k, C=C, loss_augmented=loss_augmented):
        twin, before = every[s], weights_of(trainer)
        values = twin.values(before) + loss_augmented * twin.costs
        chosen, gap = twin.best(values, k)
        loss, _ = learn(case, trainer, [s])
        if gap < CLEAR:
            continue
        assert loss == twin.costs[chosen[0]]
        differences, losses = margins(twin, before, chosen)
        wanted = smallest_change(differences, losses, before, C) if len(losses) else before
        held_back |= bool((differences @ wanted < losses - 1e-3).any())
        errors.append(relative_error(weights_of(trainer), wanted, before))
    assert len(errors) >= 10
    return errors, held_back


@pytest.mark.parametrize("labelled", [True, False])
@pytest.mark.parametrize("projective, single_root", TREE_CLASSES)
@pytest.mark.parametrize("loss_augmented", [True, False])
def test_mira_with_one_tree_makes_the_smallest_change_that_gives_the_margin(
    labelled: bool, projective: bool, single_root: bool, loss_augmented: bool
) -> None:
    for C, binds in ((0.0005, True), (0.003, True), (10.0, False)):
        errors, held_back = mira_errors(
            labelled, (projective, single_root), k=1, C=C, loss_augmented=loss_augmented
        )
        assert max(errors) < 1e-6
        assert held_back == binds


@pytest.mark.parametrize("labelled", [True, False])
@pytest.mark.parametrize("projective, single_root", TREE_CLASSES)
@pytest.mark.parametrize("loss_augmented", [True, False])
def test_mira_with_five_trees_solves_the_quadratic_program(
    labelled: bool, projective: bool, single_root: bool, loss_augmented: bool
) -> None:
    """Hildreth's algorithm goes on until it is there."""
    for C, binds in ((0.0005, True), (0.003, True), (10.0, False)):
        errors, held_back = mira_errors(
            labelled, (projective, single_root), k=5, C=C, loss_augmented=loss_augmented
        )
        assert max(errors) < 1e-6
        assert held_back == binds


@pytest.mark.parametrize("k", [1, 5])
@pytest.mark.parametrize("projective", [True, False])
def test_with_a_hard_margin_every_update_gives_every_margin(projective: bool, k: int) -> None:
    """C = infinity, the program of McDonald et al. 2005: no slack."""
    case = small("tiny", labelled=False, projective=projective, single_root=True)
    every, updates = twins(case), 0
    config = GraphConfig(
        trainer="mira", k=k, hard_margin=True, loss_augmented=False, labelled=False, projective=projective
    )
    config.refuse_unread()
    assert config.effective_C == np.inf
    for trainer, s in starts(case, k=k, C=config.effective_C, loss_augmented=False):
        twin, before = every[s], weights_of(trainer)
        chosen, gap = twin.best(twin.values(before), k)
        learn(case, trainer, [s])
        if gap < CLEAR:
            continue
        after = weights_of(trainer)
        differences, losses = margins(twin, before, chosen)
        assert (differences @ after >= losses - 1e-4).all()
        wanted = smallest_change(differences, losses, before, 1e3) if len(losses) else before
        assert relative_error(after, wanted, before) < 1e-5
        updates += bool((differences @ before < losses - 1e-3).any())
    assert updates >= 5


def test_a_hard_margin_leaves_no_room_for_C() -> None:
    with pytest.raises(OptionError, match="hard_margin"):
        GraphConfig(trainer="mira", hard_margin=True, C=0.1).refuse_unread()


@pytest.mark.parametrize("labelled", [True, False])
@pytest.mark.parametrize("projective", [True, False])
def test_loss_augmentation_chooses_the_tree_that_is_best_with_its_costs(
    labelled: bool, projective: bool
) -> None:
    case = tiny(labelled, projective, True)
    every = twins(case)
    differ = 0
    for augmented in (True, False):
        for trainer, s in starts(case, C=0.01, loss_augmented=augmented):
            twin, before = every[s], weights_of(trainer)
            values = twin.values(before)
            (plain,), plain_gap = twin.best(values)
            (costly,), costly_gap = twin.best(values + twin.costs)
            loss, _ = learn(case, trainer, [s])
            if min(plain_gap, costly_gap) < CLEAR or twin.costs[plain] == twin.costs[costly]:
                continue
            assert loss == twin.costs[costly if augmented else plain]
            differ += 1
    assert differ >= 5


def minimum_risk_tree(twin: Twin, values: Floats) -> tuple[int, float]:
    """The tree whose arcs have the highest summed probability when trees have probability ∝ exp(value), in
    its best states; and how clear both choices are."""
    by_row, by_arc = twin.expected(values), np.zeros(len(twin.rows))
    for rows in twin.rows_of_arcs.values():
        by_arc[rows] = by_row[rows].sum()
    right_heads = by_arc[twin.trees].sum(axis=1)
    same = (twin.heads == twin.heads[np.argmax(right_heads)]).all(axis=1)
    best, *rest = sorted(np.flatnonzero(same), key=lambda tree: -values[tree])
    heads_gap = right_heads[best] - max(right_heads[~same], default=-np.inf)
    return int(best), float(min([heads_gap, *(values[best] - values[tree] for tree in rest)]))


@pytest.mark.parametrize("risk_augmented", [False, True])
@pytest.mark.parametrize("labelled", [True, False])
@pytest.mark.parametrize("projective, single_root", TREE_CLASSES)
def test_minimum_risk_is_that_of_the_weights_even_with_loss_augmentation(
    labelled: bool, projective: bool, single_root: bool, risk_augmented: bool
) -> None:
    """The margin is wanted against the minimum-risk tree under w; only ``risk_augmented`` adds costs to the
    scores whose marginals are taken."""
    case = tiny(labelled, projective, single_root)
    every, differ, C = twins(case), 0, 0.01
    options = {"minimum_risk": True, "loss_augmented": True, "risk_augmented": risk_augmented}
    for trainer, s in starts(case, C=C, seeds=8, **options):
        twin, before = every[s], weights_of(trainer)
        values = twin.values(before)
        plain, plain_gap = minimum_risk_tree(twin, values)
        costly, costly_gap = minimum_risk_tree(twin, values + twin.costs)
        chosen = costly if risk_augmented else plain
        loss, _ = learn(case, trainer, [s])
        if min(plain_gap, costly_gap) < CLEAR:
            continue
        assert loss == twin.costs[chosen]
        differences, losses = margins(twin, before, [chosen])
        wanted = smallest_change(differences, losses, before, C) if len(losses) else before
        assert relative_error(weights_of(trainer), wanted, before) < 1e-6
        differ += bool(twin.costs[plain] != twin.costs[costly])
    assert differ >= 5


@pytest.mark.parametrize("labelled", [True, False])
@pytest.mark.parametrize("projective, single_root", TREE_CLASSES)
def test_factored_mira_wants_a_margin_for_every_arc(
    labelled: bool, projective: bool, single_root: bool
) -> None:
    """One constraint for each arc that violates its own, in its most violated state."""
    case = tiny(labelled, projective, single_root)
    every = twins(case)
    for C in (0.002, 10.0):
        errors = []
        for trainer, s in starts(case, update="mira-factored", C=C, seeds=2):
            twin, before = every[s], weights_of(trainer)
            differences, losses, gap = factored(twin, before)
            loss, _ = learn(case, trainer, [s])
            if gap < CLEAR:
                continue
            assert loss == len(losses)
            wanted = smallest_change(differences, losses, before, C) if len(losses) else before
            errors.append(relative_error(weights_of(trainer), wanted, before))
        assert len(errors) >= 8
        assert max(errors) < 1e-6


def factored(twin: Twin, weights: Floats) -> tuple[Floats, Floats, float]:
    """The constraints of factored MIRA, and how clear the choice among states is."""
    scores = twin.features @ weights
    gold = twin.trees[twin.target(weights)]
    differences, losses, gap = [], [], np.inf
    for own in twin.rows_of_arcs.values():
        m = twin.rows[own[0]][1]
        wrong = [row for row in own if twin.row_costs[row] > 0]
        violations = [twin.row_costs[row] - (scores[gold[m - 1]] - scores[row]) for row in wrong]
        ranked = sorted(violations, reverse=True)
        gap = min([gap, *(ranked[0] - other for other in ranked[1:2]), *np.abs(ranked[:1])])
        if not violations or ranked[0] <= 0:
            continue
        worst = wrong[int(np.argmax(violations))]
        differences.append(twin.features[gold[m - 1]] - twin.features[worst])
        losses.append(twin.row_costs[worst])
    return np.array(differences).reshape(len(losses), len(weights)), np.array(losses), gap


@pytest.mark.parametrize("labelled", [True, False])
@pytest.mark.parametrize("projective, single_root", TREE_CLASSES)
def test_a_step_of_the_perceptron_is_gold_minus_best(
    labelled: bool, projective: bool, single_root: bool
) -> None:
    case = tiny(labelled, projective, single_root)
    assert perceptron_steps(case, partial=False) >= 5


@pytest.mark.parametrize("labelled", [True, False])
@pytest.mark.parametrize("projective, single_root", TREE_CLASSES)
def test_the_perceptron_fills_unknown_heads_with_the_best_tree_around_the_known_ones(
    labelled: bool, projective: bool, single_root: bool
) -> None:
    case = small("tiny partial", labelled=labelled, projective=projective, single_root=single_root)
    assert perceptron_steps(case, partial=True) >= 3


def perceptron_steps(case: Small, *, partial: bool) -> int:
    """Checks steps one by one against w + f(gold) - f(best); how many changed the weights (partial: of
    sentences in which a head is unknown)."""
    every, changed = twins(case), 0
    for trainer, s in starts(case, update="perceptron", C=1.0, seeds=15):
        twin, before = every[s], weights_of(trainer)
        values = twin.values(before)
        (best,), gap = twin.best(values)
        around = np.where(twin.agrees, values, -np.inf)
        (gold,), gold_gap = twin.best(around)
        learn(case, trainer, [s])
        if min(gap, gold_gap) < CLEAR:
            continue
        wanted = before + twin.vector(gold) - twin.vector(best)
        assert np.allclose(weights_of(trainer), wanted, atol=1e-4)
        changed += bool(np.abs(wanted - before).max() > 0.5 and (twin.gold_heads < 0).any() == partial)
    return changed
