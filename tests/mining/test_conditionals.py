"""Conditionals given all other arcs, against enumeration and against the distribution under constraints."""

from __future__ import annotations

import numpy as np
import pytest

from arcwise.inference import Constraints, TreeDistribution
from arcwise.inference.tree_class import tree_class
from arcwise.mining.conditionals import arc_conditionals, best_tree_gaps, possible_heads
from arcwise.mining.evidence import ArcTable, universal
from arcwise.trees import Tree
from reference import enumerate_trees


def all_trees(n: int, *, single_root: bool) -> list[tuple[int, ...]]:
    trees = enumerate_trees.all_trees(n, projective=False, single_root=single_root)
    return [tuple(int(head) for head in heads[1:]) for heads in trees]


@pytest.mark.parametrize("single_root", [True, False])
def test_possible_heads_are_those_of_the_trees_that_agree_elsewhere(single_root: bool) -> None:
    trees = set(all_trees(4, single_root=single_root))
    for heads in sorted(trees):
        possible = possible_heads(np.array(heads, np.int32), single_root=single_root)
        for word in range(1, 5):
            expected = {tree[word - 1] for tree in trees if _agree(tree, heads, word)}
            assert {int(h) for h in np.flatnonzero(possible[:, word - 1])} == expected


def _agree(tree: tuple[int, ...], heads: tuple[int, ...], word: int) -> bool:
    return all(a == b for i, (a, b) in enumerate(zip(tree, heads, strict=True), 1) if i != word)


@pytest.mark.parametrize("single_root", [True, False])
def test_conditionals_are_marginals_given_the_other_arcs(single_root: bool) -> None:
    random = np.random.default_rng(5)
    labels = ("a", "b", "c")
    for heads in all_trees(4, single_root=single_root)[::7]:
        weights = random.normal(size=(3, 5, 5))
        conditionals = arc_conditionals(weights, np.array(heads, np.int32), single_root=single_root)
        trees = TreeDistribution(weights, labels=labels, projective=False, single_root=single_root)
        for word in range(1, 5):
            others = [(head, m) for m, head in enumerate(heads, 1) if m != word]
            expected = trees.given(Constraints(required=others)).label_marginals[:, :, word]
            assert conditionals[:, :, word - 1] == pytest.approx(expected)


@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize("projective", [True, False])
def test_gaps_compare_the_best_trees_with_and_without_an_arc(projective: bool, single_root: bool) -> None:
    random = np.random.default_rng(6)
    trees = enumerate_trees.all_trees(4, projective=projective, single_root=single_root)
    for heads in all_trees(4, single_root=single_root)[::9]:
        weights = random.normal(size=(3, 5, 5))
        labels = random.integers(0, 3, 4)
        same = np.arange(3)[:, None] == labels
        gaps = best_tree_gaps(
            weights,
            np.array(heads, np.int32),
            same,
            tree_class(projective=projective, single_root=single_root),
        )
        for word in range(1, 5):
            with_arc, without_arc = [], []
            for tree in trees:
                total = sum(weights[:, h, m].max() for m, h in enumerate(tree) if m and m != word)
                for label in range(3):
                    is_same = tree[word] == heads[word - 1] and label == labels[word - 1]
                    (with_arc if is_same else without_arc).append(total + weights[label, tree[word], word])
            assert gaps[word - 1] == pytest.approx(max(with_arc) - max(without_arc))


def test_gaps_of_words_without_a_head_and_of_single_words() -> None:
    trees = tree_class(projective=False, single_root=True)
    same = np.ones((1, 3), np.bool_)
    gaps = best_tree_gaps(np.zeros((1, 4, 4)), np.array([2, -1, 2], np.int32), same, trees)
    assert np.isnan(gaps).tolist() == [False, True, False]
    # Nothing else is possible, or nothing with this label.
    assert best_tree_gaps(np.zeros((1, 2, 2)), np.array([0], np.int32), same[:, :1], trees)[0] > 100
    assert best_tree_gaps(np.zeros((1, 2, 2)), np.array([0], np.int32), ~same[:, :1], trees)[0] < -100


def test_partial_trees_have_conditionals() -> None:
    heads = np.array([2, -1, 2], np.int32)
    conditionals = arc_conditionals(np.zeros((1, 4, 4)), heads, single_root=True)
    assert conditionals.sum(axis=(0, 1)) == pytest.approx([1, 1, 1])


def test_evidence_agrees_with_its_definition() -> None:
    random = np.random.default_rng(1)
    labels = ("nsubj", "obl", "obl:arg", "root")
    p = random.random((4, 5, 4))
    p /= p.sum(axis=(0, 1))
    heads = np.array([2, 0, -1, 2], np.int32)
    annotated = ["nsubj:pass", "root", "obl", "_"]
    evidence = ArcTable(p, labels, heads, annotated).evidence()
    for word in range(4):
        if heads[word] < 0:
            assert np.isnan(evidence.arc[word])
            continue
        same = [i for i, name in enumerate(labels) if universal(name) == universal(annotated[word])]
        rows = same if annotated[word] != "_" else range(4)
        assert evidence.arc[word] == pytest.approx(sum(p[i, heads[word], word] for i in rows))
        assert evidence.head[word] == pytest.approx(p[:, heads[word], word].sum())
        rivals = [
            (p[i, h, word], h, labels[i])
            for i in range(4)
            for h in range(5)
            if not (h == heads[word] and i in rows)
        ]
        best = max(rivals)
        assert evidence.proposed[word, 0] == pytest.approx(best[0])
        assert (evidence.proposed_heads[word, 0], evidence.proposed_labels[word, 0]) == best[1:]


def test_a_tree_of_one_word_has_nothing_to_choose() -> None:
    assert possible_heads(np.array([0], np.int32), single_root=True).tolist() == [[True], [False]]
    assert Tree.from_heads([0]).is_complete
