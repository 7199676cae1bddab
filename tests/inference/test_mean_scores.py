"""Scores of several scorers made into one: the geometric mean of their distributions over trees, by its
definition."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from arcwise import Tree, native
from arcwise.errors import InputError
from arcwise.inference import Scores, TreeDistributionBatch
from inference.trees_in_tests import labelled_trees, log_sum
from reference.enumerate_trees import Enumeration

Floats = npt.NDArray[np.float64]
LABELS = ("subj", "obj")


def random_arrays(seed: int, *, labels: int, lengths: tuple[int, ...] = (3, 1, 4)) -> list[Floats]:
    """The diagonal and the arcs into the root, which do not count, are missing, as they are in
    ``dense_arrays``."""
    random = np.random.default_rng(seed)
    found = []
    for n in lengths:
        scores = random.normal(0, 2, (labels, n + 1, n + 1) if labels else (n + 1, n + 1))
        scores[..., 0] = -np.inf
        scores[..., np.arange(n + 1), np.arange(n + 1)] = -np.inf
        found.append(scores)
    return found


def softmax_mean(several: list[Floats], heads: float = 1.0, labels: float = 1.0) -> Floats:
    """By the definition: the mean of the logs of the weights of arcs + that of log P(label | arc),
    normalised; with temperatures."""
    with np.errstate(invalid="ignore", divide="ignore"):
        weights = [np.log(np.exp(scores).sum(axis=0)) for scores in several]
        shares = [scores - weight for scores, weight in zip(several, weights, strict=True)]
        log_p = np.mean(shares, axis=0) / labels
        log_p -= np.log(np.exp(log_p).sum(axis=0))
        return np.nan_to_num(np.mean(weights, axis=0) / heads + log_p, nan=-np.inf, neginf=-np.inf)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_labelled_scores_against_the_definition(count: int) -> None:
    several = [random_arrays(seed, labels=2) for seed in range(count)]
    found = Scores.mean([Scores.dense(own, LABELS) for own in several])
    assert found.labels == LABELS
    for place, own in enumerate(found.dense_arrays()):
        np.testing.assert_allclose(own, softmax_mean([one[place] for one in several]), atol=1e-12)


def test_scores_without_labels_are_plain_means() -> None:
    several = [random_arrays(seed, labels=0) for seed in range(3)]
    found = Scores.mean([Scores.dense(own) for own in several])
    for place, own in enumerate(found.dense_arrays()):
        np.testing.assert_allclose(own, np.mean([one[place] for one in several], axis=0), atol=1e-12)


@pytest.mark.parametrize("projective", [True, False])
def test_the_probability_of_heads_is_the_geometric_mean(projective: bool) -> None:
    """P(heads) is that of the arcs: labels given the arcs are averaged for themselves."""
    several = [random_arrays(seed, labels=2, lengths=(3,)) for seed in range(2)]
    trees = {"projective": projective, "single_root": True}
    structures = Enumeration(np.zeros((4, 4)), **trees)
    each = [TreeDistributionBatch(Scores.dense(own, LABELS), **trees)[0] for own in several]
    whole = TreeDistributionBatch(Scores.mean([Scores.dense(own, LABELS) for own in several]), **trees)[0]
    unlabelled = [Tree(heads) for heads in structures.trees]
    logs = np.array([np.mean([one.log_prob(tree) for one in each]) for tree in unlabelled])
    found = np.array([whole.log_prob(tree) for tree in unlabelled])
    np.testing.assert_allclose(found, logs - log_sum(logs), atol=1e-9)


def test_labelled_trees_have_the_product_of_arcs_and_labels() -> None:
    several = [random_arrays(seed, labels=2, lengths=(2,)) for seed in range(2)]
    mean = softmax_mean([own[0] for own in several])
    structures = Enumeration(np.zeros((3, 3)), projective=False, single_root=True)
    every = labelled_trees(mean, list(LABELS), structures)
    total = log_sum(np.array([value for _, value in every]))
    whole = TreeDistributionBatch(
        Scores.mean([Scores.dense(own, LABELS) for own in several]), projective=False, single_root=True
    )[0]
    for tree, value in every:
        assert whole.log_prob(tree) == pytest.approx(value - total, abs=1e-9)


def test_states_of_labels_are_averaged_one_by_one() -> None:
    """Four states of an arc as two labels with two clusters each: the same numbers, summed by label."""
    several = [random_arrays(seed, labels=4) for seed in range(2)]
    clustered = []
    for own in several:
        _, _, _, _, *others, _ = Scores.dense(own, ("a", "b", "c", "d")).batch.parts()
        sets = np.array([0, 2], np.uint32), np.array([0, 1], np.uint16)
        clustered.append(Scores(native.ScoreBatch.of_parts(2, 2, *sets, *others), LABELS))
    for place, own in enumerate(Scores.mean(clustered).dense_arrays()):
        states = softmax_mean([one[place] for one in several])
        with np.errstate(divide="ignore"):
            wanted = np.log(np.exp(states).reshape(2, 2, *states.shape[1:]).sum(axis=1))
        np.testing.assert_allclose(own, wanted, atol=1e-12)


@pytest.mark.parametrize("heads, labels", [(2.0, 1.0), (1.0, 0.5), (0.7, 3.0)])
def test_tempered_scores_against_the_definition(heads: float, labels: float) -> None:
    own = random_arrays(5, labels=2)
    found = Scores.dense(own, LABELS).tempered(heads, labels)
    for scores, wanted in zip(found.dense_arrays(), own, strict=True):
        np.testing.assert_allclose(scores, softmax_mean([wanted], heads, labels), atol=1e-12)
    back = found.tempered(1 / heads, 1 / labels)
    for scores, wanted in zip(back.dense_arrays(), own, strict=True):
        np.testing.assert_allclose(scores, wanted, atol=1e-12)


def test_arcs_that_are_forbidden_stay_so() -> None:
    several = [random_arrays(seed, labels=0, lengths=(3,)) for seed in range(2)]
    for own in several:
        own[0][2, 1] = -np.inf
    found = Scores.mean([Scores.dense(own) for own in several]).dense_arrays()[0]
    assert found[2, 1] == -np.inf
    assert np.isfinite(found[3, 1])


@pytest.mark.parametrize(
    "several, message",
    [
        ([], "several: found none, expected at least one"),
        ([random_arrays(1, labels=0), random_arrays(1, labels=2)], "different labels"),
        ([random_arrays(1, labels=0), random_arrays(1, labels=0, lengths=(3, 1))], "other sentences"),
        ([random_arrays(1, labels=0), random_arrays(1, labels=0, lengths=(3, 2, 4))], "other arcs"),
    ],
)
def test_scores_that_do_not_fit_are_named(several: list[list[Floats]], message: str) -> None:
    given = [Scores.dense(own, LABELS if own[0].ndim == 3 else ()) for own in several]
    with pytest.raises(InputError, match=message):
        Scores.mean(given)


def test_one_word() -> None:
    one, other = (Scores.dense([np.full((2, 2, 2), value)], LABELS) for value in (1.0, 3.0))
    found = Scores.mean([one, other])
    assert TreeDistributionBatch(found, projective=True, single_root=True)[0].best().heads.tolist() == [-1, 0]
