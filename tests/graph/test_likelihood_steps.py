"""Log-linear trainers against enumeration: values, one step of each optimiser, the prior, averages, the noise
at the start."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from arcwise.graph.templates import ARC_TEMPLATES
from arcwise.graph.trainers import BatchTrainer
from arcwise.treebanks import Treebank
from contracts.small_treebank import conllu
from graph.small_space import (
    ONE_SIDED,
    TINY,
    Small,
    averaged_of,
    cells,
    climb,
    feature_places,
    gold,
    likelihood_trainer,
    objective,
    part,
    small,
    states,
    trainer_of,
    weights_of,
)
from graph.twins import Twin, twins
from reference.enumerate_trees import TREE_CLASSES

Floats = npt.NDArray[np.float64]


def tiny(kind: str, labelled: bool, projective: bool, single_root: bool, **options: object) -> Small:
    """Sentences to enumerate; ``kind`` is whole, partial or latent."""
    whole = "tiny" if single_root else "tiny two roots"
    return small(
        "tiny partial" if kind == "partial" else whole,
        labelled=labelled,
        projective=projective,
        single_root=single_root,
        trainer="latent" if kind == "latent" else "log-linear",
        clusters=3 if not labelled else 2,
        **options,
    )


def random_weights(case: Small, seed: int = 7) -> Floats:
    return np.random.default_rng(seed).normal(0, 0.15, cells(case))


KINDS = pytest.mark.parametrize("kind", ["whole", "partial", "latent"])
CLASSES = pytest.mark.parametrize("projective, single_root", TREE_CLASSES)
LABELLED = pytest.mark.parametrize("labelled", [True, False])


def short(case: Small, kind: str) -> list[int]:
    """Sentences whose labelled trees are few enough, clusters included."""
    most = 3 if kind == "latent" else 4
    return [s for s in range(len(case.treebank)) if len(case.treebank[s]) <= most]


# ---- the objective of a whole treebank


@KINDS
@CLASSES
@LABELLED
def test_the_likelihood_is_that_of_all_trees_one_by_one(
    kind: str, labelled: bool, projective: bool, single_root: bool
) -> None:
    whole = tiny(kind, labelled, projective, single_root, arc_templates=(*ARC_TEMPLATES, *ONE_SIDED))
    kept = short(whole, kind)
    case = small(whole.treebank[kept[0] : kept[-1] + 1], **vars(whole.config))
    assert [len(t) for t in case.treebank] == [len(whole.treebank[s]) for s in kept]
    weights = random_weights(case)
    every = twins(case)
    value, gradient = objective(case, weights)
    assert value == pytest.approx(-sum(twin.log_likelihood(weights) for twin in every), rel=1e-9)
    assert np.allclose(gradient, -sum(twin.gradient(weights) for twin in every), atol=1e-9)


@pytest.mark.parametrize("C", [0.3, 7.0])
def test_the_batch_objective_is_C_times_the_losses_and_half_the_squared_weights(C: float) -> None:
    case = small("tiny", trainer="log-linear-batch", C=C)
    weights = random_weights(case)
    every = twins(case)
    trainer = trainer_of(BatchTrainer, case)
    occurring = trainer.places
    elsewhere = np.ones(len(weights), bool)
    elsewhere[occurring] = False
    weights[elsewhere] = 0.0
    value, gradient = trainer.objective(weights[occurring])
    losses = -sum(twin.log_likelihood(weights) for twin in every)
    assert value == pytest.approx(C * losses + weights @ weights / 2, rel=1e-9)
    whole = weights - C * sum(twin.gradient(weights) for twin in every)
    assert np.allclose(gradient, whole[occurring], atol=1e-9)
    assert not whole[elsewhere].any()


def test_the_batch_trainer_ends_where_the_gradient_is_nothing() -> None:
    case = small("tiny", trainer="log-linear-batch", C=2.0)
    trainer = trainer_of(BatchTrainer, case)
    for number in range(30):
        trainer.epoch(number, case.order(), lambda done: None)
        if trainer.finished:
            break
    assert trainer.finished
    weights = trainer.weights.astype(np.float64)
    gradient = weights - 2.0 * sum(twin.gradient(weights) for twin in twins(case))
    assert np.abs(gradient).max() < 1e-2
    assert np.abs(weights).max() > 0.05


def test_the_objective_of_many_sentences_is_the_sum_of_theirs() -> None:
    """More sentences than are done at a time (256), at any number of threads."""
    times = 50
    case = small(Treebank.from_string(conllu(TINY * times)), trainer="log-linear")
    weights = random_weights(case)
    value, gradient = objective(part(case, 0, len(TINY)), weights)
    for threads in (1, 3):
        whole_value, whole_gradient = objective(case, weights, threads)
        assert whole_value == pytest.approx(times * value, rel=1e-9)
        assert np.allclose(whole_gradient, times * gradient, atol=1e-7)


# ---- one step


@KINDS
@CLASSES
@LABELLED
def test_a_step_of_sgd_is_rate_times_the_gradient(
    kind: str, labelled: bool, projective: bool, single_root: bool
) -> None:
    case = tiny(kind, labelled, projective, single_root)
    trainer = likelihood_trainer(case, noise=0.3 if kind == "latent" else 0.0)
    for rate, s in zip((0.05, 0.02, 0.03, 0.01), short(case, kind), strict=False):
        before, twin = weights_of(trainer), Twin(case, s)
        value = climb(case, trainer, [s], rate=rate)
        assert value == pytest.approx(twin.log_likelihood(before), rel=1e-4)
        wanted = rate * twin.gradient(before)
        assert np.abs(wanted).max() > 1e-4
        assert np.allclose(weights_of(trainer) - before, wanted, atol=1e-6)


@pytest.mark.parametrize("kind", ["whole", "latent"])
def test_a_step_of_adagrad_is_divided_by_the_root_of_all_squares(kind: str) -> None:
    case = tiny(kind, True, False, True)
    trainer = likelihood_trainer(case, adagrad=True, noise=0.3 if kind == "latent" else 0.0)
    squares = np.zeros(cells(case))
    sentences = short(case, kind)
    for rate, s in zip(
        (0.1, 0.05, 0.1, 0.2), [sentences[0], sentences[1], sentences[0], sentences[0]], strict=True
    ):
        before = weights_of(trainer)
        gradient = Twin(case, s).gradient(before)
        climb(case, trainer, [s], rate=rate)
        squares += gradient**2
        # Where the gradient is a difference of equal numbers, its sign is rounding.
        told = np.abs(gradient) > 1e-4
        wanted = rate * gradient / (np.sqrt(squares) + 1e-6)
        assert np.allclose((weights_of(trainer) - before)[told], wanted[told], atol=2e-4 * rate)
        assert told.sum() > 50


def test_the_first_step_of_adagrad_has_the_size_of_the_rate_and_later_ones_are_smaller() -> None:
    case = tiny("whole", False, False, True)
    trainer = likelihood_trainer(case, adagrad=True)
    climb(case, trainer, [3], rate=0.5)
    first = weights_of(trainer)
    assert np.abs(first[first != 0]) == pytest.approx(0.5, abs=1e-4)
    climb(case, trainer, [3], rate=0.5)
    assert np.abs(weights_of(trainer) - first).max() < 0.25


@pytest.mark.parametrize("floor", [0.05, 0.2])
def test_arcs_that_hardly_matter_are_left_alone(floor: float) -> None:
    """The floor: an arc counts only if the gradient of one of its states is larger."""
    case, rate = tiny("whole", True, False, True), 0.02
    trainer = likelihood_trainer(case, floor=floor)
    climb(case, trainer, [0, 1, 2, 0, 1, 2], rate=0.02)
    left = 0
    for s in range(6):
        before, twin = weights_of(trainer), Twin(case, s)
        by_row = twin.row_gradient(before)
        kept = by_row.copy()
        for own in twin.rows_of_arcs.values():
            if np.abs(by_row[own]).max() <= floor:
                kept[own] = 0.0
        left += (kept != 0).sum()
        assert (kept != 0).sum() < (by_row != 0).sum()
        climb(case, trainer, [s], rate=rate)
        assert np.allclose(weights_of(trainer) - before, rate * kept @ twin.features, atol=1e-6)
    assert left > 0


# ---- prior and averages


@pytest.mark.parametrize("adagrad", [True, False])
def test_the_prior_shrinks_weights_once_a_run_for_all_its_sentences(adagrad: bool) -> None:
    case = tiny("whole", True, False, True)
    rate, prior = 0.05, 0.8
    plain, shrunk = (likelihood_trainer(case, adagrad=adagrad, prior=p) for p in (0.0, prior))
    for trainer in (plain, shrunk):
        climb(case, trainer, [0, 1, 2, 3], rate=rate)
    factor = np.exp(-rate * prior * 4)
    assert np.abs(weights_of(plain)).max() > 0.01
    assert np.allclose(weights_of(shrunk), factor * weights_of(plain), atol=1e-6)


def test_the_prior_counts_for_the_averages_from_the_next_step_on() -> None:
    """Of the weights as they are after each step, before they shrink."""
    case = tiny("whole", True, False, True)
    rate, prior = 0.1, 0.8
    factor = np.exp(-rate * prior)
    trainer = likelihood_trainer(case, prior=prior)
    seen = [weights_of(trainer)]
    for s in (0, 1, 2, 3):
        climb(case, trainer, [s], rate=rate)
        seen.append(weights_of(trainer) / factor)
        assert np.allclose(averaged_of(trainer), np.mean(seen, axis=0), atol=1e-5)


@pytest.mark.parametrize("noise", [0.0, 0.3])
@pytest.mark.parametrize("adagrad", [True, False])
def test_averaged_weights_are_the_mean_over_all_steps(noise: float, adagrad: bool) -> None:
    """The weights of the start count as one step."""
    case = tiny("latent" if noise else "whole", False, False, True)
    trainer = likelihood_trainer(case, adagrad=adagrad, noise=noise)
    seen = [weights_of(trainer)]
    for s in (0, 1, 2, 3, 0):
        climb(case, trainer, [s], rate=0.1)
        seen.append(weights_of(trainer))
    assert np.allclose(averaged_of(trainer), np.mean(seen, axis=0), atol=1e-5)
    assert np.abs(averaged_of(trainer) - seen[-1]).max() > 1e-3


# ---- the start of latent clusters


def test_the_noise_of_the_start_is_normal_and_on_features_of_gold_arcs_alone() -> None:
    deviation = 0.05
    case = small("whole", trainer="latent", clusters=4, arc_bits=14, row_bits=16)
    start = weights_of(likelihood_trainer(case, noise=deviation))
    expected = set()
    for s in range(len(case.treebank)):
        for m, h in enumerate(gold(case, s)[0], start=1):
            for state in range(len(states(case, s, int(h), m))):
                expected.update(feature_places(case, s, int(h), m, state))
    assert set(np.flatnonzero(start)) == expected
    noise = start[sorted(expected)] / deviation
    count = len(noise)
    assert count > 1000
    assert abs(noise.mean()) < 4 / np.sqrt(count)
    assert abs(noise.std() - 1) < 4 / np.sqrt(2 * count)
    assert abs((np.abs(noise) > 1).mean() - 0.3173) < 4 * np.sqrt(0.3173 * 0.6827 / count)
    assert abs((noise**3).mean()) < 4 * np.sqrt(15 / count)


def test_the_noise_of_the_start_depends_on_the_seed() -> None:
    case = tiny("latent", False, False, True)
    one, again, other = (weights_of(likelihood_trainer(case, noise=0.1, seed=seed)) for seed in (1, 1, 2))
    assert np.array_equal(one, again)
    drawn = one != 0
    assert np.array_equal(drawn, other != 0)
    assert abs(np.corrcoef(one[drawn], other[drawn])[0, 1]) < 4 / np.sqrt(drawn.sum())
