"""What holds for every ``TreeDistribution``, of numpy arrays and of tensors on every device: enumeration,
identities, exact digits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

from arcwise import Constraints, Tree
from arcwise.errors import InputError
from inference.test_constraints import obeys, some_constraints
from inference.trees_in_tests import (
    LABELS,
    check_k_best,
    check_marginals,
    check_operations,
    labelled_trees,
    log_sum,
    plain_trees,
)
from reference.enumerate_trees import TREE_CLASSES, Enumeration, all_trees, random_scores, tree_count
from reference.matrix_tree_digits import precise_matrix_tree
from torch_backend.devices import using
from torch_backend.implementations import NumpyTrees, TensorTrees

Classes = pytest.mark.parametrize("projective, single_root", TREE_CLASSES)
Make = Callable[..., Any]


@pytest.fixture(params=["numpy", "enumeration", "cpu", "emulated", "cuda"])
def make(request: pytest.FixtureRequest) -> Iterator[Make]:
    """How a distribution is made."""
    if request.param == "numpy":
        yield NumpyTrees
        return
    with using(request.param) as device:
        made = partial(TensorTrees, device=device)
        made.lists_trees = request.param == "enumeration"  # type: ignore[attr-defined]
        yield made


def lists_trees(make: Make) -> bool:
    return getattr(make, "lists_trees", False)


def check_against(trees: Any, all_of_them: list[tuple[Tree, float]]) -> None:
    """Every operation against the list of all trees with their scores, best first."""
    probabilities = check_operations(trees, all_of_them)
    if probabilities is None:
        return
    check_k_best(trees, all_of_them)
    check_partial(trees, all_of_them, probabilities)
    check_risk(trees, all_of_them, *check_marginals(trees, all_of_them, probabilities))


def check_partial(trees: Any, all_of_them, probabilities) -> None:
    """Trees of which a head, or a label, is not known: the probability of all that agree."""
    first = all_of_them[0][0]
    heads = first.heads.copy()
    heads[1] = -1
    labels = first.labels and ("", "_", *first.labels[2:])
    wanted = sum(
        p
        for (tree, _), p in zip(all_of_them, probabilities, strict=True)
        if (tree.heads[2:] == heads[2:]).all() and (not labels or tree.labels[2:] == labels[2:])
    )
    assert np.exp(trees.partial_log_prob(Tree(heads, labels))) == pytest.approx(wanted, abs=1e-9)


def check_risk(trees: Any, all_of_them, arcs, labels) -> None:
    words = np.arange(1, len(arcs))
    gains = labels.max(axis=0) if trees.labels else arcs
    for expected, risky in ((arcs, trees.minimum_risk()), (gains, trees.minimum_labelled_risk())):
        best = max(expected[tree.heads[1:], words].sum() for tree, _ in all_of_them)
        assert expected[risky.heads[1:], words].sum() >= best - 1e-9


@pytest.mark.slow
@Classes
@pytest.mark.parametrize(
    "spread, holes", [(0.0, 0.0), (1.0, 0.25), (20.0, 0.6), (500.0, 0.0), (2000.0, 0.25)]
)
def test_every_operation_against_enumeration(make: Make, projective, single_root, spread, holes) -> None:
    for n in (1, 2, 3, 4):
        for seed in range(2):
            scores = random_scores(np.random.default_rng([seed, n]), n, spread=spread, holes=holes)
            expected = Enumeration(scores, projective=projective, single_root=single_root)
            check_against(make(scores, projective=projective, single_root=single_root), plain_trees(expected))


@Classes
@pytest.mark.parametrize("spread, holes", [(0.0, 0.0), (1.0, 0.4), (20.0, 0.0), (2000.0, 0.4)])
@pytest.mark.parametrize("label_dim", [-3, -1])
def test_every_labelled_operation(make: Make, projective, single_root, spread, holes, label_dim) -> None:
    options = {} if make is NumpyTrees else {"label_dim": label_dim}
    for n in (1, 2, 3):
        rng = np.random.default_rng(n)
        scores = np.stack([random_scores(rng, n, spread=spread, holes=holes) for _ in LABELS])
        structures = Enumeration(scores.max(axis=0), projective=projective, single_root=single_root)
        trees = make(scores, projective=projective, single_root=single_root, labels=LABELS, **options)
        check_against(trees, labelled_trees(scores, LABELS, structures))


@Classes
def test_labels_left_open(make: Make, projective, single_root) -> None:
    """A tree without labels stands for all its labellings; the entropy of heads is that of these."""
    scores = np.random.default_rng(3).normal(0, 2, (len(LABELS), 4, 4))
    trees = make(scores, projective=projective, single_root=single_root, labels=LABELS)
    structures = Enumeration(scores.max(axis=0), projective=projective, single_root=single_root)
    probabilities = np.array([trees.prob(Tree(tree.heads)) for tree, _ in plain_trees(structures)])
    assert probabilities.sum() == pytest.approx(1, abs=1e-9)
    assert trees.head_entropy() == pytest.approx(-(probabilities * np.log(probabilities)).sum(), abs=1e-9)
    assert trees.head_entropy() < trees.entropy()


@pytest.mark.slow
@Classes
def test_every_operation_under_constraints(make: Make, projective, single_root) -> None:
    for seed in range(8):
        rng = np.random.default_rng(seed)
        n = 1 + seed % 4
        known = some_constraints(rng, n, projective, single_root)
        scores = random_scores(rng, n, spread=[1.0, 500.0][seed % 2])
        expected = Enumeration(
            scores, projective, single_root, allowed=lambda heads, known=known: obeys(known, heads)
        )
        trees = make(scores, projective=projective, single_root=single_root, constraints=known)
        check_against(trees, plain_trees(expected))
        for heads in all_trees(n, projective=projective, single_root=single_root):
            assert obeys(known, heads) or trees.prob(Tree(heads)) == 0


@Classes
def test_every_labelled_operation_under_constraints(make: Make, projective, single_root) -> None:
    n = 3
    for seed in range(4):
        rng = np.random.default_rng(seed)
        scores = rng.normal(size=(2, n + 1, n + 1), scale=3)
        arcs = some_constraints(rng, n, projective, single_root)
        known = {int(rng.integers(1, n + 1)): "obj"}
        structures = Enumeration(
            scores.max(axis=0), projective, single_root, allowed=lambda heads, arcs=arcs: obeys(arcs, heads)
        )
        expected = [
            (tree, value)
            for tree, value in labelled_trees(scores, LABELS, structures)
            if all(tree.labels[m] == label for m, label in known.items())
        ]
        both = Constraints(**{**vars(arcs), "labels": known})
        trees = make(scores, projective=projective, single_root=single_root, labels=LABELS, constraints=both)
        check_against(trees, expected)


@pytest.mark.slow
@Classes
def test_zero_scores_count_the_trees(make: Make, projective, single_root) -> None:
    for n in [1, 2, 3, 4] if lists_trees(make) else [1, 2, 7, 20, 60]:
        count = tree_count(n, projective=projective, single_root=single_root)
        trees = make(np.zeros((n + 1, n + 1)), projective=projective, single_root=single_root)
        assert trees.log_partition == pytest.approx(np.log(float(count)), rel=1e-12, abs=1e-12)
        assert trees.entropy() == pytest.approx(trees.log_partition, rel=1e-9, abs=1e-9)


@Classes
def test_entropy_and_kl(make: Make, projective, single_root) -> None:
    rng = np.random.default_rng(6)
    one, other = random_scores(rng, 4, spread=2), random_scores(rng, 4, spread=2)
    p, q = (Enumeration(s, projective=projective, single_root=single_root) for s in (one, other))
    q_of_tree = {tuple(t): v - q.log_partition for t, v in zip(q.trees, q.values, strict=True)}
    expected = sum(
        prob * (np.log(prob) - q_of_tree[tuple(tree)])
        for tree, prob in zip(p.trees, p.probabilities, strict=True)
    )
    mine, theirs = (make(s, projective=projective, single_root=single_root) for s in (one, other))
    assert mine.kl(theirs) == pytest.approx(expected)
    assert mine.kl(mine) == pytest.approx(0, abs=1e-12)
    assert mine.entropy() == pytest.approx(p.entropy)
    assert mine.cross_entropy(theirs) == pytest.approx(p.entropy + expected)
    other[tuple(p.trees[0][1:]), (1, 2, 3, 4)] = -np.inf
    assert mine.kl(make(other, projective=projective, single_root=single_root)) == np.inf


@Classes
def test_labelled_kl(make: Make, projective, single_root) -> None:
    rng = np.random.default_rng(7)
    one, other = rng.normal(size=(2, 2, 4, 4))
    structures = Enumeration(one.max(axis=0), projective=projective, single_root=single_root)
    of_p, of_q = (dict(labelled_trees(scores, LABELS, structures)) for scores in (one, other))
    log_p, log_q = (log_sum(np.array([*values.values()])) for values in (of_p, of_q))
    expected = sum(
        np.exp(value - log_p) * (value - log_p - of_q[tree] + log_q) for tree, value in of_p.items()
    )
    mine, theirs = (
        make(s, projective=projective, single_root=single_root, labels=LABELS) for s in (one, other)
    )
    assert mine.kl(theirs) == pytest.approx(expected)
    other[1, :, 2] = -np.inf
    assert mine.kl(make(other, projective=projective, single_root=single_root, labels=LABELS)) == np.inf


def test_kl_between_classes(make: Make) -> None:
    scores = random_scores(np.random.default_rng(7), 4)
    narrow = make(scores, projective=True, single_root=True)
    wide = make(scores, projective=False, single_root=False)
    assert narrow.kl(wide) == pytest.approx(wide.log_partition - narrow.log_partition)
    with pytest.raises(InputError, match="expected a class that holds all trees"):
        wide.kl(narrow)


@Classes
def test_one_word(make: Make, projective, single_root) -> None:
    trees = make(np.array([[0.0, -700.0], [0.0, 0.0]]), projective=projective, single_root=single_root)
    assert trees.best() == trees.minimum_risk() == Tree.from_heads([0])
    assert trees.k_best(5) == trees.sample(1, seed=0) == [Tree.from_heads([0])]
    assert trees.log_partition == -700
    assert trees.entropy() == 0
    assert trees.marginals.tolist() == [[0, 1], [0, 0]]


@Classes
def test_ties(make: Make, projective, single_root) -> None:
    """All scores equal: every tree is best, and all are found once."""
    n = 4
    trees = make(np.full((n + 1, n + 1), 3.0), projective=projective, single_root=single_root)
    count = tree_count(n, projective=projective, single_root=single_root)
    found = trees.k_best(count + 1)
    assert len({*found}) == len(found) == count
    assert {trees.score(tree) for tree in found} == {3.0 * n}


@Classes
def test_holes_that_leave_one_tree(make: Make, projective, single_root) -> None:
    for heads in all_trees(4, projective=projective, single_root=single_root)[::7]:
        scores = np.full((5, 5), -np.inf)
        scores[heads[1:], [1, 2, 3, 4]] = [-500, 500, 3, 0]
        trees = make(scores, projective=projective, single_root=single_root)
        only = Tree(heads)
        assert trees.best() == trees.minimum_risk() == only
        assert trees.k_best(3) == [only]
        assert trees.sample(2, seed=0) == [only, only]
        assert trees.log_partition == pytest.approx(3)
        assert trees.entropy() == pytest.approx(0, abs=1e-12)
        assert trees.marginals.sum() == pytest.approx(4)


@pytest.mark.slow
@Classes
def test_samples_have_the_probabilities_of_trees(make: Make, projective, single_root) -> None:
    """Frequencies of 4,000 draws against probabilities: no further than five standard deviations."""
    scores = np.random.default_rng(8).normal(size=(2, 4, 4))
    trees = make(scores, projective=projective, single_root=single_root, labels=LABELS)
    structures = Enumeration(scores.max(axis=0), projective=projective, single_root=single_root)
    drawn = trees.sample(4000, seed=5)
    assert drawn == trees.sample(4000, seed=5)
    counts: dict[Tree, int] = {}
    for tree in drawn:
        counts[tree] = counts.get(tree, 0) + 1
    every = labelled_trees(scores, LABELS, structures)
    log_z = log_sum(np.array([value for _, value in every]))
    for tree, value in every:
        p = np.exp(value - log_z)
        assert abs(counts.get(tree, 0) / 4000 - p) < 5 * np.sqrt(p * (1 - p) / 4000) + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize("spread", [60.0, 200.0, 2000.0])
def test_marginals_to_twelve_digits_whatever_the_spread(make: Make, single_root, spread) -> None:
    """Against the Matrix-Tree theorem with as many digits as it needs (mpmath)."""
    n = 4 if lists_trees(make) else 7
    scores = np.random.default_rng(9).normal(0, spread, (n + 1, n + 1))
    expected, log_z = precise_matrix_tree(scores, single_root=single_root)
    trees = make(scores, projective=False, single_root=single_root)
    np.testing.assert_allclose(trees.marginals, expected, rtol=0, atol=1e-12)
    assert trees.log_partition == pytest.approx(log_z, rel=1e-12)


@pytest.mark.slow
@Classes
def test_minimum_risk_where_it_is_not_the_best_tree(make: Make, projective, single_root) -> None:
    words = np.arange(1, 5)
    differs = 0
    for seed in range(20):
        scores = random_scores(np.random.default_rng(seed), 4)
        expected = Enumeration(scores, projective=projective, single_root=single_root)
        gains = [expected.marginals[heads[1:], words].sum() for heads in expected.trees]
        trees = make(scores, projective=projective, single_root=single_root)
        found = expected.marginals[trees.minimum_risk().heads[1:], words].sum()
        assert found == pytest.approx(max(gains), abs=1e-9)
        differs += gains[0] < max(gains) - 1e-9
    assert differs


@Classes
def test_a_tree_of_another_class_has_probability_zero(make: Make, projective, single_root) -> None:
    """Every list of heads of three words, tree or not."""
    trees = make(np.zeros((4, 4)), projective=projective, single_root=single_root)
    right = {tuple(heads) for heads in all_trees(3, projective=projective, single_root=single_root).tolist()}
    for heads in all_trees(3, projective=False, single_root=False).tolist():
        wanted = 1 / len(right) if tuple(heads) in right else 0
        assert trees.prob(Tree(np.array(heads, np.int32))) == pytest.approx(wanted)


@pytest.mark.slow
@Classes
def test_long_sentences(make: Make, projective, single_root) -> None:
    if lists_trees(make):
        pytest.skip("lists all trees: short sentences alone")
    scores = random_scores(np.random.default_rng(10), 120, spread=300.0)
    trees = make(scores, projective=projective, single_root=single_root)
    best, second = trees.k_best(2)
    assert best == trees.best()
    assert trees.score(second) <= trees.score(best) <= trees.log_partition + 1e-9
    np.testing.assert_allclose(trees.marginals[:, 1:].sum(axis=0), 1, atol=1e-9)
    assert trees.log_prob(trees.sample(1, seed=1)[0]) > -np.inf
