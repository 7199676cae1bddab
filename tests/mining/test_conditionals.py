"""Conditionals given all other arcs, against enumeration and against the distribution under constraints."""

from __future__ import annotations

import numpy as np
import pytest

from arcwise.inference import Constraints, TreeDistribution
from arcwise.mining.conditionals import arc_conditionals, possible_heads
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
