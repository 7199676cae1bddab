"""Constraints against an enumeration that filters trees one by one; contradictions are named."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arcwise import Constraints, Tree, TreeDistribution, TreeDistributionBatch
from arcwise.errors import ConstraintError, InputError, NoTreeError
from inference.test_distribution import LABELS, check_against
from inference.trees_in_tests import labelled_trees, plain_trees
from reference.enumerate_trees import TREE_CLASSES, Enumeration, all_trees, is_subtree, random_scores

Classes = pytest.mark.parametrize("projective, single_root", TREE_CLASSES)
Heads = np.ndarray


def obeys(constraints: Constraints, heads: Heads) -> bool:
    """The meaning of constraints, said once more and slowly."""
    arcs = {(int(heads[m]), m) for m in range(1, len(heads))}
    return (
        set(constraints.required) <= arcs
        and not set(constraints.forbidden) & arcs
        and all(is_subtree(heads, first, last) for first, last in constraints.subtrees)
        and all(h == 0 or abs(h - m) <= (constraints.max_length or 99) for h, m in arcs)
        and all(h != 0 or constraints.roots is None or m in constraints.roots for h, m in arcs)
    )


def some_constraints(rng: np.random.Generator, n: int, projective: bool, single_root: bool) -> Constraints:
    """Constraints that at least one tree of the class obeys."""
    trees = all_trees(n, projective=projective, single_root=single_root)
    model = trees[rng.integers(len(trees))]
    arcs = [(int(model[m]), m) for m in range(1, n + 1)]
    others = [(h, m) for h in range(n + 1) for m in range(1, n + 1) if h not in (m, model[m])]
    spans = [
        (a, b) for a in range(1, n + 1) for b in range(a, n + 1) if projective and is_subtree(model, a, b)
    ]
    longest = max([1, *(abs(h - m) for h, m in arcs if h)])

    def some(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
        return [pairs[i] for i in rng.permutation(len(pairs))[: rng.integers(3)]]

    return Constraints(
        required=some(arcs),
        forbidden=some(others),
        subtrees=some(spans),
        max_length=[None, longest, longest + 1][rng.integers(3)],
        roots=[None, {m for h, m in arcs if h == 0} | {n}][rng.integers(2)],
    )


@pytest.mark.slow
@Classes
@given(n=st.integers(1, 5), seed=st.integers(0, 10**6), spread=st.sampled_from([1.0, 500.0]))
@settings(max_examples=30, deadline=None)
def test_every_operation_under_constraints(projective, single_root, n, seed, spread) -> None:
    rng = np.random.default_rng(seed)
    constraints = some_constraints(rng, n, projective, single_root)
    scores = random_scores(rng, n, spread=spread)
    expected = Enumeration(scores, projective, single_root, allowed=lambda heads: obeys(constraints, heads))
    trees = TreeDistribution(scores, projective=projective, single_root=single_root, constraints=constraints)
    check_against(trees, plain_trees(expected))


@Classes
@given(seed=st.integers(0, 10**6))
@settings(max_examples=15, deadline=None)
def test_every_labelled_operation_under_constraints(projective, single_root, seed) -> None:
    n = 3
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(2, n + 1, n + 1), scale=3)
    constraints = some_constraints(rng, n, projective, single_root)
    known = {int(rng.integers(1, n + 1)): "obj"}
    both = Constraints(**{**vars(constraints), "labels": known})
    structures = Enumeration(
        scores.max(axis=0), projective, single_root, allowed=lambda t: obeys(constraints, t)
    )
    expected = [
        (tree, value)
        for tree, value in labelled_trees(scores, LABELS, structures)
        if all(tree.labels[m] == label for m, label in known.items())
    ]
    trees = TreeDistribution(
        scores, projective=projective, single_root=single_root, labels=LABELS, constraints=both
    )
    check_against(trees, expected)


@given(first=st.integers(1, 5), more=st.integers(0, 4), single_root=st.booleans(), inner=st.booleans())
@settings(max_examples=30, deadline=None)
def test_subtrees_by_counting(first: int, more: int, single_root: bool, inner: bool) -> None:
    """With zero scores log Z counts: all projective trees over five words in which the spans are subtrees."""
    last = min(first + more, 5)
    spans = [(first, last), (first, first)] if inner else [(first, last)]
    constraints = Constraints(subtrees=spans)
    trees = all_trees(5, projective=True, single_root=single_root)
    count = sum(obeys(constraints, heads) for heads in trees)
    found = TreeDistribution(
        np.zeros((6, 6)), projective=True, single_root=single_root, constraints=constraints
    )
    assert np.exp(found.log_partition) == pytest.approx(count)


def test_partial_trees_as_constraints() -> None:
    partial = Tree.from_heads([2, -1, 2], ["subj", "_", "obj"])
    constraints = Constraints.from_tree(partial)
    assert constraints == Constraints(required=[(2, 1), (2, 3)], labels={1: "subj", 3: "obj"})
    assert Constraints.from_tree(partial, labelled=False).labels == {}
    trees = TreeDistribution(
        np.zeros((2, 4, 4)), projective=False, single_root=True, labels=LABELS, constraints=constraints
    )
    assert trees.best().heads.tolist() == [-1, 2, 0, 2]
    assert trees.log_partition == pytest.approx(np.log(2))  # the label of 2 is free


def test_one_for_each_sentence_of_a_batch() -> None:
    batch = TreeDistributionBatch(
        [np.zeros((3, 3)), np.zeros((4, 4)), np.zeros((3, 3))],
        projective=True,
        single_root=False,
        constraints=[None, Constraints(subtrees=[(1, 2)]), Constraints(required=[(0, 1)])],
    )
    np.testing.assert_allclose(np.exp(batch.log_partition), [3, 4, 2])
    assert np.exp(batch[1].log_partition) == pytest.approx(4)
    assert batch.given(Constraints(roots=[1])).best() == [
        Tree.from_heads(h) for h in ([0, 1], [0, 1, 1], [0, 1])
    ] or all(tree.roots == (1,) for tree in batch.given(Constraints(roots=[1])).best())
    with pytest.raises(InputError, match="constraints: found 1, expected one for each of 3 sentences"):
        batch.given([Constraints()])


CLASHES = [
    ({"required": [(1, 2), (3, 2)]}, "word 2 has both 1 and 3 as head"),
    ({"required": [(1, 2)], "forbidden": [(1, 2)]}, "the arc 1 → 2 is both required and forbidden"),
    ({"required": [(1, 4)], "max_length": 2}, "the required arc 1 → 4 is longer than max_length=2"),
    ({"required": [(0, 4)], "roots": [1, 2]}, r"the required root 4 is not among roots=\(1, 2\)"),
    ({"required": [(0, 1), (0, 2)]}, "words 1 and 2 are roots, but single_root=True"),
    ({"required": [(1, 2), (2, 3), (3, 1)]}, "words 1 → 3 → 2 → 1 form a cycle"),
    ({"required": [(1, 3), (2, 4)]}, "the arcs 1 → 3 and 2 → 4 cross, but projective=True"),
    ({"required": [(0, 2), (3, 1)]}, "the arcs 0 → 2 and 3 → 1 cross, but projective=True"),
    ({"subtrees": [(1, 3), (2, 4)]}, r"\(1, 3\) and \(2, 4\) overlap, but neither is in the other"),
    ({"subtrees": [(1, 2)], "required": [(2, 4)]}, r"the required arc 2 → 4 leaves the subtree \(1, 2\)"),
    ({"subtrees": [(1, 2)], "required": [(3, 1), (3, 2)]}, "but that is required of 1 and 2"),
    ({"required": [(4, 1)]}, "the arc 4 → 1 has score -inf"),
    ({"required": [(1, 5)]}, "found the arc 1 → 5, expected a head 0..4"),
    ({"forbidden": [(2, 2)]}, "found the arc 2 → 2"),
    ({"subtrees": [(3, 5)]}, r"subtrees: found \(3, 5\), expected 1 <= first <= last <= 4"),
    ({"roots": [7]}, "roots: found word 7, expected 1..4"),
    ({"roots": []}, "roots: found no word"),
    ({"max_length": 0}, "max_length: found 0, expected at least 1"),
    ({"labels": {1: "subj"}}, "the scores have no labels"),
]


@pytest.mark.parametrize("constraints, message", CLASHES, ids=[message[:40] for _, message in CLASHES])
def test_clashes_are_named(constraints: dict, message: str) -> None:
    scores = np.zeros((5, 5))
    scores[4, 1] = -np.inf
    with pytest.raises(ConstraintError, match=message):
        TreeDistribution(scores, projective=True, single_root=True, constraints=Constraints(**constraints))


def test_clashes_of_labels_and_of_the_class_are_named() -> None:
    labelled = {"projective": True, "single_root": True, "labels": LABELS}
    with pytest.raises(ConstraintError, match="found 'amod' for word 1, expected one of subj, obj"):
        TreeDistribution(np.zeros((2, 3, 3)), **labelled, constraints=Constraints(labels={1: "amod"}))
    with pytest.raises(ConstraintError, match=r"labels: found word 9, expected 1\.\.2"):
        TreeDistribution(np.zeros((2, 3, 3)), **labelled, constraints=Constraints(labels={9: "subj"}))
    scores = np.zeros((2, 3, 3))
    scores[0, 0, 1] = -np.inf
    with pytest.raises(ConstraintError, match="the arc 0 → 1 with label 'subj' has score -inf"):
        TreeDistribution(scores, **labelled, constraints=Constraints(required=[(0, 1)], labels={1: "subj"}))
    with pytest.raises(ConstraintError, match="subtrees need projective=True"):
        TreeDistribution(
            np.zeros((3, 3)), projective=False, single_root=True, constraints=Constraints(subtrees=[(1, 2)])
        )


def test_what_no_pair_contradicts_may_still_leave_no_tree() -> None:
    constraints = Constraints(forbidden=[(0, 1), (0, 2)])
    trees = TreeDistribution(np.zeros((3, 3)), projective=True, single_root=True, constraints=constraints)
    with pytest.raises(NoTreeError, match="no tree of this class exists over the 2 words"):
        trees.best()
