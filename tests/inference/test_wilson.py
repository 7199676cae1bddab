"""Samples of non-projective trees against the enumerated distribution."""

import numpy as np
import pytest

from arcwise.errors import InputError, NoTreeError
from arcwise.inference.matrix_tree import matrix_tree_marginals
from arcwise.inference.wilson import wilson_sample, wilson_sample_batch
from reference.enumerate_trees import Enumeration, random_scores

Root = pytest.mark.parametrize("single_root", [True, False])


def fits(draws: np.ndarray, expected: Enumeration) -> bool:
    """A chi-squared test at 0.1 %; trees expected less than five times are taken together."""
    from scipy.stats import chisquare

    places = {tuple(tree): t for t, tree in enumerate(expected.trees.tolist())}
    counts = np.bincount([places[tuple(draw)] for draw in draws.tolist()], minlength=len(places))
    wanted = expected.probabilities * len(draws)
    likely = wanted > 5
    observed = np.append(counts[likely], counts[~likely].sum())
    wanted = np.append(wanted[likely], wanted[~likely].sum())
    if wanted[-1] < 1:
        if observed[-1] > 8:
            return False
        observed, wanted = observed[:-1], wanted[:-1]
    if len(wanted) == 1:
        return True
    return bool(chisquare(observed, wanted * observed.sum() / wanted.sum()).pvalue > 1e-3)


@pytest.mark.slow
@Root
@pytest.mark.parametrize("n", [1, 2, 3, 4])
@pytest.mark.parametrize("holes", [0.0, 0.25])
def test_samples_pass_a_chi_squared_test(single_root: bool, n: int, holes: float) -> None:
    scores = random_scores(np.random.default_rng(n), n, holes=holes)
    expected = Enumeration(scores, projective=False, single_root=single_root)
    if not len(expected.trees):
        with pytest.raises(NoTreeError):
            wilson_sample(scores, count=3, seed=1, single_root=single_root)
        return
    assert fits(wilson_sample(scores, count=20000, seed=5, single_root=single_root), expected)


@Root
@pytest.mark.parametrize("stuck", [8.0, 60.0, 900.0])
def test_words_that_prefer_each_other_do_not_stop_it(single_root: bool, stuck: float) -> None:
    """The walk would leave words 1 and 2 (and 3 and 4) once in exp(stuck) steps; the distribution is the
    same."""
    scores = random_scores(np.random.default_rng(8), 4)
    for one, other in ((1, 2), (3, 4)):
        scores[one, other] += stuck
        scores[other, one] += stuck
    expected = Enumeration(scores, projective=False, single_root=single_root)
    assert fits(wilson_sample(scores, count=8000, seed=6, single_root=single_root), expected)


@Root
@pytest.mark.parametrize("spread", [1.0, 8.0])
def test_frequencies_are_marginals(single_root: bool, spread: float) -> None:
    n, count = 20, 4000
    scores = random_scores(np.random.default_rng(9), n, spread=spread)
    draws = wilson_sample(scores, count=count, seed=3, single_root=single_root)
    frequencies = np.zeros((n + 1, n + 1))
    for m in range(1, n + 1):
        frequencies[:, m] = np.bincount(draws[:, m], minlength=n + 1) / count
    marginals, _ = matrix_tree_marginals(scores, single_root=single_root)
    deviation = np.sqrt(marginals * (1 - marginals) / count)
    assert (np.abs(frequencies - marginals) < 5 * deviation + 3 / count).all()


@Root
def test_elimination_draws_from_the_same_distribution(single_root: bool) -> None:
    """At this spread nearly every draw is by elimination; the marginals tell whether it is right at length
    20."""
    n, count = 20, 1500
    scores = random_scores(np.random.default_rng(10), n)
    for one in range(1, n, 2):
        scores[one, one + 1] += 30
        scores[one + 1, one] += 30
    draws = wilson_sample(scores, count=count, seed=3, single_root=single_root)
    marginals, _ = matrix_tree_marginals(scores, single_root=single_root)
    frequencies = np.zeros((n + 1, n + 1))
    for m in range(1, n + 1):
        frequencies[:, m] = np.bincount(draws[:, m], minlength=n + 1) / count
    deviation = np.sqrt(marginals * (1 - marginals) / count)
    assert (np.abs(frequencies - marginals) < 5 * deviation + 3 / count).all()


@Root
@pytest.mark.parametrize("spread", [1.0, 2000.0])
def test_same_seed_same_trees_at_any_number_of_threads(single_root: bool, spread: float) -> None:
    rng = np.random.default_rng(6)
    sentences = [random_scores(rng, n, spread=spread) for n in (3, 1, 12, 7)]
    alone = wilson_sample_batch(sentences, count=6, seed=2, single_root=single_root)
    for threads in (2, 3):
        again = wilson_sample_batch(sentences, count=6, seed=2, single_root=single_root, threads=threads)
        for one, other in zip(alone, again, strict=True):
            assert np.array_equal(one, other)
    other_seed = wilson_sample_batch(sentences, count=6, seed=3, single_root=single_root)
    assert spread > 1 or not np.array_equal(alone[2], other_seed[2])
    first = wilson_sample(sentences[0], count=6, seed=2, single_root=single_root)
    assert np.array_equal(first, alone[0])


@Root
def test_three_hundred_words(single_root: bool) -> None:
    scores = random_scores(np.random.default_rng(7), 300)
    draws = wilson_sample(scores, count=3, seed=1, single_root=single_root)
    assert draws.shape == (3, 301)
    assert not single_root or (np.count_nonzero(draws == 0, axis=1) == 1).all()


def test_bad_arguments_are_named() -> None:
    with pytest.raises(InputError, match="count: found -1"):
        wilson_sample(np.zeros((3, 3)), count=-1, seed=0, single_root=True)
    with pytest.raises(NoTreeError):
        wilson_sample(np.full((3, 3), -np.inf), count=1, seed=0, single_root=True)
    assert wilson_sample(np.zeros((3, 3)), count=0, seed=0, single_root=True).shape == (0, 3)
