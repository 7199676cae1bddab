"""Perceptron and MIRA, one update at a time: against enumerated trees and an independent quadratic
program."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

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
