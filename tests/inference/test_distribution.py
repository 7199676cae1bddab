"""``TreeDistribution`` against enumeration and identities, for all four classes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arcwise import Tree, TreeDistribution, TreeDistributionBatch
from arcwise.errors import InputError
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

Classes = pytest.mark.parametrize("projective, single_root", TREE_CLASSES)
SPREADS = [0.0, 1.0, 20.0, 500.0, 2000.0]


def distribution(scores, projective, single_root, **options) -> TreeDistribution | TreeDistributionBatch:
    several = isinstance(scores, list) and scores and isinstance(scores[0], np.ndarray)
    kind = TreeDistributionBatch if several else TreeDistribution
    return kind(scores, projective=projective, single_root=single_root, **options)


def check_against(trees: TreeDistribution, all_of_them: list[tuple[Tree, float]]) -> None:
    """Every operation against the list of all trees with their scores, best first."""
    probabilities = check_operations(trees, all_of_them)
    if probabilities is None:
        return
    k_best = trees.k_best_labelled(len(all_of_them) + 3)
    assert {*k_best} == {tree for tree, _ in all_of_them}
    assert len(k_best) == len(all_of_them)
    values = [value for _, value in all_of_them]
    np.testing.assert_allclose([trees.score(tree) for tree in k_best], values, rtol=1e-11, atol=1e-9)
    check_k_best(trees, all_of_them, asked=len(all_of_them) + 3)
    assert trees.score(trees.k_best(1)[0]) == pytest.approx(all_of_them[0][1], abs=1e-9, rel=1e-11)
    check_expectations(trees, all_of_them, *check_marginals(trees, all_of_them, probabilities))


def check_expectations(trees: TreeDistribution, all_of_them, arcs, labels) -> None:
    words = np.arange(1, len(arcs))
    gains = labels if trees.labels else arcs
    lesson = np.random.default_rng(0).normal(size=gains.shape)
    assert trees.expected(lesson) == pytest.approx((gains * lesson).sum(), abs=1e-8)
    first = all_of_them[0][0]
    assert trees.expected_attachment(first) == pytest.approx(arcs[first.heads[1:], words].mean(), abs=1e-9)
    for labelled, risky in ((False, trees.minimum_risk()), (True, trees.minimum_labelled_risk())):
        gains = [trees.expected_attachment(tree, labelled=labelled) for tree, _ in all_of_them[:300]]
        assert trees.expected_attachment(risky, labelled=labelled) >= max(gains) - 1e-9


@Classes
def test_labels_left_open_against_enumeration(projective: bool, single_root: bool) -> None:
    scores = np.random.default_rng(3).normal(0, 2, (len(LABELS), 4, 4))
    trees = distribution(scores, projective, single_root, labels=LABELS)
    structures = Enumeration(scores.max(axis=0), projective=projective, single_root=single_root)
    labelled = labelled_trees(scores, LABELS, structures)
    for bare in {Tree(tree.heads) for tree, _ in labelled}:
        values = [value for tree, value in labelled if Tree(tree.heads) == bare]
        assert trees.score(bare) == pytest.approx(log_sum(np.array(values)), abs=1e-9)
    probabilities = np.array([trees.prob(Tree(tree.heads)) for tree, _ in plain_trees(structures)])
    assert probabilities.sum() == pytest.approx(1, abs=1e-9)
    entropy = -(probabilities * np.log(probabilities)).sum()
    assert trees.head_entropy() == pytest.approx(entropy, abs=1e-9)
    assert trees.head_entropy() < trees.entropy()


@Classes
def test_temperatures_change_probabilities_as_they_are_defined(projective: bool, single_root: bool) -> None:
    """P(tree, labels) = P(tree) Π P(label | arc), each with a temperature of its own, by enumeration."""
    scores = np.random.default_rng(4).normal(0, 2, (len(LABELS), 4, 4))
    T, U = 1.7, 0.6
    trees = distribution(scores, projective, single_root, labels=LABELS, temperature=T, label_temperature=U)
    plain = distribution(scores, projective, single_root, labels=LABELS)
    arcs = np.logaddexp.reduce(scores / T)
    given = scores / U - np.logaddexp.reduce(scores / U)
    expected = labelled_trees(
        arcs + given, LABELS, Enumeration(arcs, projective=projective, single_root=single_root)
    )
    log_z = log_sum(np.array([value for _, value in expected]))
    for tree, value in expected:
        assert trees.log_prob(tree) == pytest.approx(value - log_z, abs=1e-9)
    probabilities = np.exp([value - log_z for _, value in expected])
    check_marginals(trees, expected, probabilities)
    assert trees.entropy() == pytest.approx(-(probabilities * np.log(probabilities)).sum(), abs=1e-9)
    # What goes by score alone does not look at temperatures.
    assert trees.best() == plain.best()
    assert trees.k_best(5) == plain.k_best(5)
    assert trees.k_best_labelled(9) == plain.k_best_labelled(9)
    assert trees.greedy_heads().tolist() == plain.greedy_heads().tolist()


@Classes
def test_zero_scores_count_the_trees(projective: bool, single_root: bool) -> None:
    for n in [*range(1, 8), 20, 60]:
        count = tree_count(n, projective=projective, single_root=single_root)
        trees = distribution(np.zeros((n + 1, n + 1)), projective, single_root)
        assert trees.log_partition == pytest.approx(np.log(float(count)), rel=1e-12, abs=1e-12)
        assert trees.entropy() == pytest.approx(trees.log_partition, rel=1e-9, abs=1e-9)


@Classes
@given(
    n=st.integers(1, 4),
    seed=st.integers(0, 10**6),
    spread=st.sampled_from(SPREADS),
    holes=st.sampled_from([0.0, 0.25, 0.6]),
)
@settings(max_examples=40, deadline=None)
def test_every_operation_against_enumeration(projective, single_root, n, seed, spread, holes) -> None:
    scores = random_scores(np.random.default_rng(seed), n, spread=spread, holes=holes)
    expected = Enumeration(scores, projective=projective, single_root=single_root)
    check_against(distribution(scores, projective, single_root), plain_trees(expected))


@pytest.mark.slow
@Classes
@given(
    n=st.integers(1, 3),
    seed=st.integers(0, 10**6),
    spread=st.sampled_from(SPREADS),
    holes=st.sampled_from([0.0, 0.4]),
)
@settings(max_examples=30, deadline=None)
def test_every_labelled_operation_against_enumeration(
    projective, single_root, n, seed, spread, holes
) -> None:
    rng = np.random.default_rng(seed)
    scores = np.stack([random_scores(rng, n, spread=spread, holes=holes) for _ in LABELS])
    structures = Enumeration(scores.max(axis=0), projective=projective, single_root=single_root)
    trees = distribution(scores, projective, single_root, labels=LABELS)
    check_against(trees, labelled_trees(scores, LABELS, structures))


@Classes
def test_a_tree_without_labels_stands_for_all_its_labellings(projective: bool, single_root: bool) -> None:
    scores = np.random.default_rng(1).normal(size=(2, 4, 4))
    trees = distribution(scores, projective, single_root, labels=LABELS)
    structures = Enumeration(scores.max(axis=0), projective=projective, single_root=single_root)
    total = sum(trees.prob(Tree(heads)) for heads in structures.trees)
    assert total == pytest.approx(1)


@Classes
def test_identities(projective: bool, single_root: bool) -> None:
    scores = random_scores(np.random.default_rng(2), 7, spread=3, holes=0.1)
    log_partition = distribution(scores, projective, single_root).log_partition
    shifted = scores.copy()
    shifted[:, 3] += 2.5
    assert distribution(shifted, projective, single_root).log_partition == pytest.approx(log_partition + 2.5)
    bonus = scores.copy()
    bonus[0] += 1.5
    gained = distribution(bonus, projective, single_root).log_partition - log_partition
    assert gained == pytest.approx(1.5) if single_root else gained > 1.5
    order = np.r_[0, 7:0:-1]  # reversal keeps projectivity
    assert distribution(scores[np.ix_(order, order)], projective, single_root).log_partition == pytest.approx(
        log_partition
    )
    if not projective:
        order = np.r_[0, np.random.default_rng(3).permutation(7) + 1]
        assert distribution(
            scores[np.ix_(order, order)], projective, single_root
        ).log_partition == pytest.approx(log_partition)
    for wider in [(p, s) for p, s in TREE_CLASSES if p <= projective and s <= single_root]:
        assert distribution(scores, *wider).log_partition >= log_partition - 1e-9
        assert (
            distribution(scores, *wider).score(distribution(scores, *wider).best())
            >= distribution(scores, projective, single_root).score(
                distribution(scores, projective, single_root).best()
            )
            - 1e-9
        )


@Classes
@pytest.mark.parametrize("n", [6, 20])
def test_marginals_are_the_gradient_of_log_z(projective: bool, single_root: bool, n: int) -> None:
    scores = random_scores(np.random.default_rng(4), n, spread=2)
    marginals = distribution(scores, projective, single_root).marginals
    np.testing.assert_allclose(marginals[:, 1:].sum(axis=0), 1, atol=1e-12)
    rng = np.random.default_rng(5)
    for _ in range(10):
        h, m = int(rng.integers(0, n + 1)), int(rng.integers(1, n + 1))
        if h == m:
            continue
        step = np.zeros_like(scores)
        step[h, m] = 1e-5
        up, down = (
            distribution(scores + sign * step, projective, single_root).log_partition for sign in (1, -1)
        )
        assert (up - down) / 2e-5 == pytest.approx(marginals[h, m], abs=1e-6)


@Classes
def test_entropy_and_kl(projective: bool, single_root: bool) -> None:
    rng = np.random.default_rng(6)
    one, other = random_scores(rng, 4, spread=2), random_scores(rng, 4, spread=2)
    p, q = (Enumeration(s, projective=projective, single_root=single_root) for s in (one, other))
    q_of_tree = {tuple(t): v - q.log_partition for t, v in zip(q.trees, q.values, strict=True)}
    expected = sum(
        prob * (np.log(prob) - q_of_tree[tuple(tree)])
        for tree, prob in zip(p.trees, p.probabilities, strict=True)
    )
    mine, theirs = distribution(one, projective, single_root), distribution(other, projective, single_root)
    assert mine.kl(theirs) == pytest.approx(expected)
    assert mine.kl(mine) == pytest.approx(0, abs=1e-12)
    assert mine.entropy() == pytest.approx(p.entropy)
    forbidding = other.copy()
    forbidding[tuple(p.trees[0][1:]), (1, 2, 3, 4)] = -np.inf
    assert mine.kl(distribution(forbidding - 0.0, projective, single_root)) == np.inf


def test_kl_between_classes() -> None:
    scores = random_scores(np.random.default_rng(7), 4)
    narrow, wide = distribution(scores, True, True), distribution(scores, False, False)
    assert narrow.kl(wide) == pytest.approx(wide.log_partition - narrow.log_partition)
    with pytest.raises(InputError, match="expected a class that holds all trees"):
        wide.kl(narrow)
    with pytest.raises(InputError, match="other sentence lengths"):
        narrow.kl(distribution(np.zeros((3, 3)), True, True))


@Classes
@pytest.mark.parametrize("labels", [None, LABELS])
def test_batch_equals_loop_at_any_number_of_threads(projective, single_root, labels) -> None:
    rng = np.random.default_rng(8)
    shape = (2,) if labels else ()
    sentences = [
        rng.normal(size=(*shape, n + 1, n + 1), scale=scale)
        for n, scale in ((4, 1), (1, 1), (9, 400), (6, 3))
    ]
    gold = [distribution(s, projective, single_root, labels=labels).best() for s in sentences]
    for threads in (1, 3):
        batch = distribution(sentences, projective, single_root, labels=labels, threads=threads)
        assert len(batch) == 4
        alone = list(batch)
        assert batch.best() == [one.best() for one in alone] == gold
        assert batch.k_best(3) == [one.k_best(3) for one in alone]
        assert batch.minimum_risk() == [one.minimum_risk() for one in alone]
        assert batch.log_partition.tolist() == [one.log_partition for one in alone]
        assert batch.entropy().tolist() == [one.entropy() for one in alone]
        assert batch.log_prob(gold).tolist() == [one.log_prob(g) for one, g in zip(alone, gold, strict=True)]
        assert batch.expected_attachment(gold).tolist() == [
            one.expected_attachment(g) for one, g in zip(alone, gold, strict=True)
        ]
        for mine, one in zip(batch.marginals, alone, strict=True):
            assert np.array_equal(mine, one.marginals)
        for mine, one in zip(batch.greedy_heads(), alone, strict=True):
            assert np.array_equal(mine, one.greedy_heads())
        draws = batch.sample(4, seed=9)
        assert draws[0] == alone[0].sample(4, seed=9)
        assert draws == distribution(sentences, projective, single_root, labels=labels).sample(4, seed=9)


@Classes
def test_one_word(projective: bool, single_root: bool) -> None:
    trees = distribution([[0.0, -700.0], [0.0, 0.0]], projective, single_root)
    assert trees.best() == trees.minimum_risk() == Tree.from_heads([0])
    assert trees.k_best(5) == trees.sample(1, seed=0) == [Tree.from_heads([0])]
    assert trees.log_partition == -700
    assert trees.entropy() == 0
    assert trees.marginals.tolist() == [[0, 1], [0, 0]]


@Classes
def test_no_word_is_an_error(projective: bool, single_root: bool) -> None:
    with pytest.raises(
        InputError, match=r"scores: found shape \(1, 1\), expected \(n\+1, n\+1\) for n >= 1 words"
    ):
        distribution(np.zeros((1, 1)), projective, single_root)
    with pytest.raises(InputError, match="empty list"):
        distribution([], projective, single_root)


@pytest.mark.slow
@Classes
@pytest.mark.parametrize("spread", [1.0, 300.0])
def test_three_hundred_words(projective: bool, single_root: bool, spread: float) -> None:
    scores = random_scores(np.random.default_rng(10), 300, spread=spread)
    trees = distribution(scores, projective, single_root)
    best, second = trees.k_best(2)
    assert best == trees.best()
    assert trees.score(second) <= trees.score(best) <= trees.log_partition + 1e-9
    np.testing.assert_allclose(trees.marginals[:, 1:].sum(axis=0), 1, atol=1e-9)
    assert trees.log_prob(trees.sample(1, seed=1)[0]) > -np.inf


@Classes
def test_ties(projective: bool, single_root: bool) -> None:
    """All scores equal: every tree is best, and all are found once."""
    scores = np.full((6, 6), 3.0)
    trees = distribution(scores, projective, single_root)
    count = tree_count(5, projective=projective, single_root=single_root)
    found = trees.k_best(count + 1)
    assert len({*found}) == len(found) == count
    assert {trees.score(tree) for tree in found} == {15.0}


@Classes
def test_holes_that_leave_one_tree(projective: bool, single_root: bool) -> None:
    for heads in all_trees(4, projective=projective, single_root=single_root)[::7]:
        scores = np.full((5, 5), -np.inf)
        scores[heads[1:], [1, 2, 3, 4]] = [-500, 500, 3, 0]
        trees = distribution(scores, projective, single_root)
        only = Tree(heads)
        assert trees.best() == trees.minimum_risk() == only
        assert trees.k_best(3) == [only]
        assert trees.sample(2, seed=0) == [only, only]
        assert trees.sample(1, seed=0, replace=False) == [only]
        assert trees.log_partition == pytest.approx(3)
        assert trees.entropy() == pytest.approx(0, abs=1e-12)
        assert trees.marginals.sum() == pytest.approx(4)


@Classes
def test_float32(projective: bool, single_root: bool) -> None:
    scores = random_scores(np.random.default_rng(11), 6).astype(np.float32)
    assert (
        distribution(scores, projective, single_root).log_partition
        == distribution(scores.astype(np.float64), projective, single_root).log_partition
    )


def test_greedy_heads_need_not_be_a_tree() -> None:
    scores = np.array([[0, 0, 0], [0, 0, 5], [0, 5, 0.0]])
    trees = distribution(scores, False, True)
    assert trees.greedy_heads().tolist() == [-1, 2, 1]


def test_scores_are_copied() -> None:
    scores = np.zeros((3, 3))
    trees = distribution(scores, True, True)
    scores[:] = -np.inf
    assert trees.log_partition == pytest.approx(np.log(2))


def test_a_tree_of_another_class_has_probability_zero() -> None:
    trees = distribution(np.zeros((5, 5)), True, True)
    assert trees.prob(Tree.from_heads([3, 0, 2, 2])) == 0  # 3 → 1 crosses the root 2
    assert trees.prob(Tree.from_heads([0, 0, 2, 2])) == 0


@pytest.mark.parametrize(
    "ask, message",
    [
        (lambda trees: trees.k_best(0), "k: found 0, expected a whole number from 1"),
        (lambda trees: trees.sample(-1, seed=0), "count: found -1"),
        (lambda trees: trees.sample(1, seed=-1), "seed: found -1"),
        (lambda trees: trees.sample(4, seed=0, replace=False), "count: found 4, but there are only 2 trees"),
        (lambda trees: trees.log_prob(Tree.from_heads([0])), "tree: found 1 words, expected 2"),
        (lambda trees: trees.log_prob(Tree.from_heads([0, -1])), "some heads are unknown"),
        (lambda trees: trees.label_marginals, "has no labels"),
        (lambda trees: trees.expected(np.zeros(2)), r"values: found shape \(2,\), expected \(3, 3\)"),
    ],
)
def test_bad_questions(ask, message: str) -> None:
    with pytest.raises(InputError, match=message):
        ask(distribution(np.zeros((3, 3)), True, True))


def test_bad_labels() -> None:
    with pytest.raises(
        InputError, match=r"scores: found shape \(3, 3\), expected \(2, n\+1, n\+1\) for 2 labels"
    ):
        distribution(np.zeros((3, 3)), True, True, labels=LABELS)
    with pytest.raises(InputError, match="all different"):
        distribution(np.zeros((2, 3, 3)), True, True, labels=["a", "a"])
    labelled = distribution(np.zeros((2, 3, 3)), True, True, labels=LABELS)
    with pytest.raises(InputError, match="found the label 'amod', expected one of subj, obj"):
        labelled.log_prob(Tree.from_heads([0, 1], ["amod", "obj"]))
