"""Factors against all labelled trees, one by one, whose scores come from definitions that stand here."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from arcwise.errors import ArcwiseError, NoTreeError
from arcwise.factors import FactoredTreeDistribution, FactoredTreeDistributionBatch, HeadAutomaton, Siblings
from arcwise.factors.combination import Factor
from arcwise.inference import Constraints, TreeDistribution
from arcwise.trees import Tree
from reference.enumerate_trees import all_trees

LABELS = ["subj", "obj"]
KINDS = ["ordinary", "spread", "holes", "ties"]


def numbers(rng: np.random.Generator, shape: tuple[int, ...], kind: str) -> np.ndarray:
    if kind == "ties":
        return rng.integers(0, 2, shape).astype(float)
    values = rng.normal(size=shape) if kind == "ordinary" else rng.uniform(-1000, 1000, shape)
    return np.where(rng.random(shape) < 0.15, -np.inf, values) if kind == "holes" else values


def sides_by_definition(heads: np.ndarray) -> list[tuple[int, list[int]]]:
    """(head, its dependents outward) of the left and the right side; the root has a right side alone."""
    n = len(heads) - 1
    sides = [(0, [m for m in range(1, n + 1) if heads[m] == 0])]
    for h in range(1, n + 1):
        dependents = [m for m in range(1, n + 1) if heads[m] == h]
        sides += [(h, [m for m in dependents if m < h][::-1]), (h, [m for m in dependents if m > h])]
    return sides


def sibling_parts(heads: np.ndarray) -> list[tuple[int, int, int]]:
    return [
        (h, dependents[i - 1] if i else h, m)
        for h, dependents in sides_by_definition(heads)
        for i, m in enumerate(dependents)
    ]


def automaton_value(
    heads: np.ndarray, codes: tuple[int, ...], automaton: HeadAutomaton
) -> tuple[list[tuple[int, int]], float]:
    """The transitions that a tree takes, and the sum of all weights."""
    transitions, value = [], 0.0
    ends: dict[int, list[int]] = {}
    for head, dependents in sides_by_definition(heads):
        state = automaton.start
        for m in dependents:
            transitions.append((state, codes[m]))
            value += automaton.weights[state, codes[m]]
            state = automaton.next_states[state, codes[m]]
        value += automaton.final_weights[state]
        ends.setdefault(head, []).append(state)
    if automaton.joint_weights is not None:
        for word in range(1, len(heads)):
            left, right = ends[word]
            pair = (left, right) if heads[word] < word else (right, left)
            value += automaton.joint_weights[pair]
    return transitions, value


def make_automaton(
    rng: np.random.Generator, kind: str, count: int, states: int, joint: bool
) -> HeadAutomaton:
    return HeadAutomaton(
        rng.integers(0, states, (states, count)),
        numbers(rng, (states, count), kind),
        numbers(rng, (states,), kind),
        start=states - 1,
        joint_weights=numbers(rng, (states, states), kind) if joint else None,
    )


def make(
    rng: np.random.Generator, kind: str, factor_kind: str, n: int, labels: list[str] | None
) -> tuple[np.ndarray, list[Factor]]:
    count = len(labels or [""])
    scores = numbers(rng, (count, n + 1, n + 1), kind)
    siblings = Siblings(numbers(rng, (n + 1,) * 3, kind))
    one, two = (make_automaton(rng, kind, count, states, joint) for states, joint in ((3, False), (2, True)))
    factors: dict[str, list[Factor]] = {
        "none": [],
        "siblings": [siblings],
        "automaton": [one],
        "joint": [two],
        "siblings and automaton": [siblings, one],
        "automata": [one, two],
        "all": [two, siblings, one, Siblings(numbers(rng, (n + 1,) * 3, kind))],
        "one joint state": [make_automaton(rng, kind, count, 1, True)],
    }
    return scores, factors[factor_kind]


FACTOR_KINDS = [
    "none", "siblings", "automaton", "joint", "siblings and automaton", "automata", "all", "one joint state"
]  # fmt: skip


def enumerated(
    scores: np.ndarray, factors: list[Factor], n: int, single_root: bool
) -> list[tuple[np.ndarray, tuple[int, ...], list[list[tuple[int, ...]]], float]]:
    """(heads, label codes, parts of each factor, score) of every labelled tree with a finite score."""
    rows = []
    for heads in all_trees(n, projective=True, single_root=single_root):
        for chosen in product(range(len(scores)), repeat=n):
            codes = (-1, *chosen)
            value = float(sum(scores[codes[m], heads[m], m] for m in range(1, n + 1)))
            parts: list[list[tuple[int, ...]]] = []
            for factor in factors:
                if isinstance(factor, Siblings):
                    parts.append([*sibling_parts(heads)])
                    value += float(sum(factor.scores[part] for part in parts[-1]))
                else:
                    transitions, weight = automaton_value(heads, codes, factor)
                    parts.append([*transitions])
                    value += float(weight)
            if value > -np.inf:
                rows.append((heads, codes, parts, value))
    return sorted(rows, key=lambda row: -row[-1])


@pytest.mark.parametrize("labels", [None, LABELS], ids=["plain", "labelled"])
@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("factor_kind", FACTOR_KINDS)
def test_every_operation_is_that_of_the_enumeration(
    factor_kind: str, kind: str, single_root: bool, labels: list[str] | None
) -> None:
    rng = np.random.default_rng(KINDS.index(kind))
    for n in (1, 2, 3, 4) if labels else (1, 2, 3, 4, 5):
        scores, factors = make(rng, kind, factor_kind, n, labels)
        compare(scores, factors, n, single_root, labels)


def compare(
    scores: np.ndarray, factors: list[Factor], n: int, single_root: bool, labels: list[str] | None
) -> None:
    """Compare every operation with the enumeration of all trees."""
    rows = enumerated(scores, factors, n, single_root)
    trees = FactoredTreeDistribution(
        scores if labels else scores[0],
        factors=factors,
        projective=True,
        single_root=single_root,
        labels=labels,
    )
    if not rows:
        with pytest.raises(NoTreeError):
            trees.best()
        return
    values = np.array([row[-1] for row in rows])
    log_partition = values[0] + np.log(np.exp(values - values[0]).sum())
    probabilities = np.exp(values - log_partition)
    assert trees.log_partition == pytest.approx(log_partition, abs=1e-9, rel=1e-12)
    assert trees.score(trees.best()) == pytest.approx(values[0], abs=1e-9, rel=1e-12)
    listed = trees.k_best_labelled(len(rows) + 3)
    assert len({(tree.heads.tobytes(), tree.labels) for tree in listed}) == len(rows)
    np.testing.assert_allclose([trees.score(tree) for tree in listed], values, rtol=1e-11, atol=1e-9)
    arcs, parts = np.zeros_like(scores), [np.zeros_like(factor.part_scores) for factor in factors]
    for (heads, codes, used, _), probability in zip(rows, probabilities, strict=True):
        for m in range(1, n + 1):
            arcs[codes[m], heads[m], m] += probability
        for counts, own in zip(parts, used, strict=True):
            for part in own:
                counts[part] += probability
    np.testing.assert_allclose(trees.marginals, arcs.sum(axis=0), atol=1e-9)
    for found, counts in zip(trees.factor_marginals, parts, strict=True):
        np.testing.assert_allclose(found, counts, atol=1e-9)
    if labels:
        np.testing.assert_allclose(trees.label_marginals, arcs, atol=1e-9)
    entropy = -(probabilities * (values - log_partition)).sum()
    assert trees.entropy() == pytest.approx(entropy, abs=1e-6)
    for tree in trees.sample(3, seed=1):
        assert trees.score(tree) > -np.inf
    risk = arcs.sum(axis=0)[trees.minimum_risk().heads[1:], np.arange(1, n + 1)].sum()
    candidates = all_trees(n, projective=True, single_root=single_root)
    best = max(arcs.sum(axis=0)[heads[1:], np.arange(1, n + 1)].sum() for heads in candidates)
    assert risk == pytest.approx(best, abs=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize("kind", ["spread", "holes"])
@pytest.mark.parametrize("factor_kind", FACTOR_KINDS)
def test_five_labelled_words_are_those_of_the_enumeration(
    factor_kind: str, kind: str, single_root: bool
) -> None:
    rng, n = np.random.default_rng(31), 5
    scores, factors = make(rng, kind, factor_kind, n, LABELS)
    compare(scores, factors, n, single_root, LABELS)


@pytest.mark.parametrize("labels", [None, LABELS], ids=["plain", "labelled"])
@pytest.mark.parametrize("single_root", [True, False])
def test_an_automaton_with_one_state_gives_the_arc_factored_answers_bit_for_bit(
    single_root: bool, labels: list[str] | None
) -> None:
    rng = np.random.default_rng(0)
    count = len(labels or [""])
    options: dict[str, Any] = {"projective": True, "single_root": single_root, "labels": labels}
    for n in (1, 7, 20):
        scores = rng.normal(size=(count, n + 1, n + 1))
        weights = rng.normal(size=count)
        constraints = Constraints(subtrees=[(2, 4)]) if n > 1 else None
        for factors, moved in (
            ([], scores),
            ([HeadAutomaton([[0] * count])], scores),
            ([HeadAutomaton([[0] * count], [weights])], scores + weights[:, None, None]),
        ):
            trees, expected = (
                kind(array if labels else array[0], constraints=constraints, **options, **more)
                for kind, array, more in (
                    (FactoredTreeDistribution, scores, {"factors": factors}),
                    (TreeDistribution, moved, {}),
                )
            )
            assert trees.log_partition == expected.log_partition
            # With labels, the probability of an arc is the sum of those of its labels.
            np.testing.assert_allclose(trees.marginals, expected.marginals, rtol=0, atol=1e-15 * bool(labels))
            if labels:
                np.testing.assert_array_equal(trees.label_marginals, expected.label_marginals)
                assert trees.k_best_labelled(5) == expected.k_best_labelled(5)
            else:
                assert trees.k_best_labelled(5) == expected.k_best(5)
            assert trees.best() == expected.best()
            assert trees.minimum_risk().heads.tolist() == expected.minimum_risk().heads.tolist()
            assert trees.sample(4, seed=1) == expected.sample(4, seed=1)
            assert trees.entropy() == pytest.approx(expected.entropy(), abs=1e-10)


@pytest.mark.parametrize("single_root", [True, False])
def test_factors_that_add_nothing_give_the_arc_factored_answers(single_root: bool) -> None:
    # To 1e-12 and not bit for bit: other charts add in another order.
    rng = np.random.default_rng(0)
    for n in (1, 7, 20):
        scores = rng.normal(size=(2, n + 1, n + 1))
        options: dict[str, Any] = {"projective": True, "single_root": single_root, "labels": LABELS}
        expected = TreeDistribution(scores, **options)
        for factor in (HeadAutomaton([[1, 0], [0, 1]]), Siblings(np.zeros((n + 1,) * 3))):
            trees = FactoredTreeDistribution(scores, factors=[factor], **options)
            assert trees.log_partition == pytest.approx(expected.log_partition, rel=1e-12)
            np.testing.assert_allclose(trees.label_marginals, expected.label_marginals, atol=1e-12)
            assert trees.best() == expected.best()
            assert trees.entropy() == pytest.approx(expected.entropy(), abs=1e-10)


@pytest.mark.parametrize("factor_kind", ["siblings", "automaton"])
def test_factor_marginals_are_the_slopes_of_log_z(factor_kind: str) -> None:
    rng, n, step = np.random.default_rng(3), 6, 1e-5
    scores, (factor,) = make(rng, "ordinary", factor_kind, n, LABELS)
    options = {"projective": True, "single_root": True, "labels": LABELS}

    def moved(by: np.ndarray) -> float:
        if isinstance(factor, Siblings):
            changed: HeadAutomaton | Siblings = Siblings(factor.scores + by)
        else:
            changed = HeadAutomaton(
                factor.next_states, factor.weights + by, factor.final_weights, start=factor.start
            )
        return FactoredTreeDistribution(scores, factors=[changed], **options).log_partition

    marginals = FactoredTreeDistribution(scores, factors=[factor], **options).factor_marginals[0]
    places = np.argwhere(marginals > 0)
    for place in map(tuple, rng.permutation(places)[:12]):
        direction = np.zeros_like(marginals)
        direction[place] = step
        assert (moved(direction) - moved(-direction)) / (2 * step) == pytest.approx(
            marginals[place], abs=1e-8
        )


@pytest.mark.parametrize("factor_kind", ["siblings", "automaton"])
def test_samples_follow_the_distribution(factor_kind: str) -> None:
    rng, n, draws = np.random.default_rng(5), 3, 4000
    scores, (factor,) = make(rng, "ordinary", factor_kind, n, LABELS)
    trees = FactoredTreeDistribution(
        scores, factors=[factor], projective=True, single_root=False, labels=LABELS
    )
    counts: dict[tuple[bytes, tuple[str, ...] | None], int] = {}
    for tree in trees.sample(draws, seed=7):
        key = tree.heads.tobytes(), tree.labels
        counts[key] = counts.get(key, 0) + 1
    everything = trees.k_best_labelled(10_000)
    expected = np.array([draws * trees.prob(tree) for tree in everything])
    drawn = np.array([counts.get((tree.heads.tobytes(), tree.labels), 0) for tree in everything])
    assert drawn.sum() == draws
    often = expected >= 5
    expected = np.append(expected[often], expected[~often].sum())
    drawn = np.append(drawn[often], drawn[~often].sum())
    statistic = ((drawn - expected) ** 2 / np.maximum(expected, 1e-9)).sum()
    degrees = len(expected) - 1
    assert statistic < degrees + 5 * np.sqrt(2 * degrees)
    assert trees.sample(5, seed=1) == trees.sample(5, seed=1)


@pytest.mark.parametrize("factor_kind", ["siblings", "automaton"])
def test_constraints_hold(factor_kind: str) -> None:
    rng, n = np.random.default_rng(2), 4
    scores, (factor,) = make(rng, "ordinary", factor_kind, n, None)
    trees = FactoredTreeDistribution(scores[0], factors=[factor], projective=True, single_root=True)
    conditional = trees.given(Constraints(subtrees=[(2, 3)], forbidden=[(4, 3)]))

    def obeys(tree: Tree) -> bool:
        heads = tree.heads
        outside = [m for m in (2, 3) if heads[m] not in (2, 3)]
        leaves = any(heads[m] in (2, 3) for m in (1, 4))
        return len(outside) == 1 and not leaves and heads[3] != 4

    allowed = [tree for tree in trees.k_best_labelled(1000) if obeys(tree)]
    assert conditional.k_best_labelled(1000) == allowed
    assert conditional.best() == allowed[0]
    mass = sum(trees.prob(tree) for tree in allowed)
    assert np.exp(conditional.log_partition - trees.log_partition) == pytest.approx(mass, rel=1e-10)
    expected = np.zeros_like(conditional.marginals)
    for tree in allowed:
        expected[tree.heads[1:], np.arange(1, n + 1)] += trees.prob(tree) / mass
    np.testing.assert_allclose(conditional.marginals, expected, atol=1e-10)


@pytest.mark.parametrize("both_sides", [False, True])
def test_at_most_one_subject(both_sides: bool) -> None:
    scores = np.zeros((2, 5, 5))
    scores[0] = 3
    automaton = HeadAutomaton.at_most_one(["subj"], labels=LABELS, both_sides=both_sides)
    trees = FactoredTreeDistribution(
        scores, factors=[automaton], projective=True, single_root=True, labels=LABELS
    )
    for tree in trees.k_best_labelled(2000):
        for _, dependents in sides_by_definition(tree.heads):
            assert sum(tree.labels[m] == "subj" for m in dependents) <= 1
        subjects = [h for h, label in zip(tree.heads, tree.labels, strict=True) if label == "subj" and h > 0]
        assert not both_sides or len(subjects) == len(set(subjects))


def test_a_batch_is_its_sentences_at_any_number_of_threads() -> None:
    rng = np.random.default_rng(11)
    sentences = []
    for factor_kind, n in zip(FACTOR_KINDS, (1, 2, 3, 4, 5, 6, 7, 8), strict=True):
        scores, factors = make(rng, "ordinary", factor_kind, n, LABELS)
        options = {"projective": True, "single_root": True, "labels": LABELS}
        sentences.append(FactoredTreeDistribution(scores, factors=factors, **options))  # type: ignore[arg-type]
    batch = FactoredTreeDistributionBatch(sentences, threads=3)
    alone = FactoredTreeDistributionBatch(sentences)
    assert len(batch) == len(sentences)
    assert batch[1] is sentences[1]
    assert batch.best() == [trees.best() for trees in sentences]
    assert batch.k_best_labelled(3) == [trees.k_best_labelled(3) for trees in sentences]
    assert batch.minimum_risk() == [trees.minimum_risk() for trees in sentences]
    assert batch.log_partition.tolist() == [trees.log_partition for trees in sentences]
    assert batch.entropy().tolist() == [trees.entropy() for trees in sentences]
    assert batch.sample(2, seed=5) == alone.sample(2, seed=5)
    for found, trees in zip(batch.marginals, sentences, strict=True):
        np.testing.assert_array_equal(found, trees.marginals)
    for found, trees in zip(batch.label_marginals, sentences, strict=True):
        np.testing.assert_array_equal(found, trees.label_marginals)
    for parts, trees in zip(batch.factor_marginals, sentences, strict=True):
        for found, expected in zip(parts, trees.factor_marginals, strict=True):
            np.testing.assert_array_equal(found, expected)
    assert FactoredTreeDistributionBatch([]).best() == []


@pytest.mark.slow
@pytest.mark.parametrize("factor_kind", ["siblings", "automaton"])
def test_a_long_sentence(factor_kind: str) -> None:
    rng, n = np.random.default_rng(1), 500
    factor = Siblings(np.zeros((n + 1,) * 3)) if factor_kind == "siblings" else HeadAutomaton([[1], [0]])
    scores = rng.normal(size=(n + 1, n + 1))
    trees = FactoredTreeDistribution(scores, factors=[factor], projective=True, single_root=True)
    expected = TreeDistribution(scores, projective=True, single_root=True)
    assert trees.log_partition == pytest.approx(expected.log_partition, rel=1e-12)
    assert expected.score(trees.best()) == pytest.approx(expected.score(expected.best()))


def many_states() -> list[HeadAutomaton]:
    """Automata that count modulo different primes."""
    return [HeadAutomaton([[(state + 1) % size] for state in range(size)]) for size in (5, 7, 11, 13)]


@pytest.mark.parametrize(
    ("make_it", "message"),
    [
        (lambda: Siblings(np.zeros((3, 3))), "expected \\(n\\+1, n\\+1, n\\+1\\)"),
        (lambda: Siblings(np.full((3, 3, 3), np.nan)), "found nan at"),
        (lambda: HeadAutomaton([[0.5]]), "expected integers"),
        (lambda: HeadAutomaton([[0, 2], [0, 1]]), "found state 2, expected 0..1"),
        (lambda: HeadAutomaton([[0]], start=1), "start: found 1"),
        (lambda: HeadAutomaton([[0]], [[np.nan]]), "found nan or inf"),
        (lambda: HeadAutomaton([[0]], [0.0]), "weights: found shape"),
        (lambda: HeadAutomaton.at_most_one(["x"], labels=LABELS), "found the label 'x'"),
        (lambda: distribution(Siblings(np.zeros((4, 4, 4)))), "found 3 words, but the scores have 2"),
        (lambda: distribution(HeadAutomaton([[0, 0]])), "transitions for 2 labels"),
        (lambda: distribution(HeadAutomaton([[0]]), projective=False), "need projective=True"),
        (lambda: distribution(*many_states()), "states together, expected at most 4096"),
        (lambda: distribution("x"), "found \\['x'\\], expected a list of HeadAutomaton and Siblings"),
        (
            lambda: distribution(HeadAutomaton([[0]], [[-np.inf]])).best(),
            "no projective tree over the 2 words",
        ),
        (lambda: distribution(HeadAutomaton([[0]]), n=0), "n >= 1 words"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(make_it: object, message: str) -> None:
    with pytest.raises(ArcwiseError, match=message):
        make_it()  # type: ignore[operator]


def distribution(*factors: object, n: int = 2, projective: bool = True) -> FactoredTreeDistribution:
    return FactoredTreeDistribution(
        np.zeros((n + 1, n + 1)),
        factors=list(factors),  # type: ignore[arg-type]
        projective=projective,
        single_root=True,
    )
