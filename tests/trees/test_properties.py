"""Properties of trees against their definitions, counts that are known, and the figures of real treebanks."""

import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arcwise import InputError, Tree, Treebank
from arcwise.trees import (
    crossing_arcs,
    depth,
    edge_degree,
    find_cycle,
    gap_degree,
    is_planar,
    is_projective,
    is_well_nested,
    non_projective_arcs,
    root_count,
    tree_properties,
)
from reference import tree_properties as twin
from reference.random_trees import forests


def all_trees(n: int) -> list[list[int]]:
    """Every tree of n words with one root."""
    return [
        list(heads)
        for heads in itertools.product(range(n + 1), repeat=n)
        if heads.count(0) == 1
        and all(h != m for m, h in enumerate(heads, 1))
        and not find_cycle(np.array([-1, *heads], np.int32))
    ]


@pytest.mark.slow
@given(forests(most=9, unknown=True))
@settings(max_examples=400, deadline=None)
def test_against_the_definitions(heads: list[int]) -> None:
    tree = Tree.from_heads(heads)
    assert non_projective_arcs(tree) == twin.non_projective_arcs(heads)
    assert is_projective(tree) is tree.is_projective is (not twin.non_projective_arcs(heads))
    for root_arcs in (True, False):
        pairs = crossing_arcs(tree, root_arcs=root_arcs)
        assert {frozenset(pair) for pair in pairs} == twin.crossing_arcs(heads, root_arcs=root_arcs)
        assert len(set(pairs)) == len(pairs)
        assert all(min(first) < min(second) for first, second in pairs)
    assert is_planar(tree) is (not twin.crossing_arcs(heads, root_arcs=False))
    assert gap_degree(tree) == twin.gap_degree(heads)
    assert edge_degree(tree) == twin.edge_degree(heads)
    assert is_well_nested(tree) is twin.is_well_nested(heads)
    assert depth(tree) == twin.depth(heads)
    assert root_count(tree) == heads.count(0)


@given(forests(most=12, unknown=False))
@settings(deadline=None)
def test_projective_in_four_ways(heads: list[int]) -> None:
    tree = Tree.from_heads(heads)
    ways = {is_projective(tree), not crossing_arcs(tree), gap_degree(tree) == 0, edge_degree(tree) == 0}
    assert len(ways) == 1
    assert not is_projective(tree) or (is_planar(tree) and is_well_nested(tree))


@given(st.lists(forests(most=9, unknown=True), max_size=5))
@settings(max_examples=50, deadline=None)
def test_a_batch_is_its_trees_one_by_one(trees: list[list[int]]) -> None:
    heads = np.array([h for tree in trees for h in tree], np.int32)
    starts = np.cumsum([0, *map(len, trees)]).astype(np.uint32)
    together = tree_properties(heads, starts)
    for s, tree in enumerate(trees):
        alone = tree_properties(np.array(tree, np.int32))
        for name in ("roots", "depth", "gap_degree", "edge_degree", "crossings", "planar", "well_nested"):
            assert getattr(together, name)[s] == getattr(alone, name)[0]
        words = slice(starts[s], starts[s + 1])
        assert (together.non_projective_arcs[words] == alone.non_projective_arcs).all()
        assert (together.crossing_arcs[words] == alone.crossing_arcs).all()
        paired = {m for pair in crossing_arcs(Tree.from_heads(tree)) for _, m in pair}
        assert {int(m) + 1 for m in np.flatnonzero(alone.crossing_arcs)} == paired


@pytest.mark.parametrize(
    "n, every, projective", [(1, 1, 1), (2, 2, 2), (3, 9, 7), (4, 64, 30), (5, 625, 143)]
)
def test_known_counts(n: int, every: int, projective: int) -> None:
    """n^(n-1) rooted labelled trees; projective ones 1, 2, 7, 30, 143, … = C(3n-2, n-1) / n (OEIS
    A006013)."""
    trees = [Tree.from_heads(heads) for heads in all_trees(n)]
    assert len(trees) == every
    assert sum(map(is_projective, trees)) == projective


@pytest.mark.parametrize("n", range(1, 6))
def test_projective_within_planar_within_well_nested(n: int) -> None:
    """Kuhlmann and Nivre 2006, over all trees with one root; up to four words every tree is well-nested."""
    for tree in map(Tree.from_heads, all_trees(n)):
        assert is_projective(tree) <= is_planar(tree) <= is_well_nested(tree)
        assert n > 4 or is_well_nested(tree)


def test_a_long_sentence() -> None:
    n = 3000
    chain = tree_properties(np.arange(n, dtype=np.int32))
    assert (chain.depth[0], chain.gap_degree[0], chain.crossings[0]) == (n, 0, 0)
    comb = np.array([0, 1] + [m - 2 for m in range(3, n + 1)], np.int32)  # odd and even words: two chains
    found = tree_properties(comb)
    assert found.gap_degree[0] == n // 2 - 1
    assert found.crossings[0] == n - 3


def test_no_words() -> None:
    empty = tree_properties(np.zeros(0, np.int32), np.zeros(1, np.uint32))
    assert len(empty.roots) == len(empty.crossing_arcs) == 0
    assert crossing_arcs(Tree.from_heads([])) == []


@pytest.mark.parametrize("heads", [[2, 1], [1], [3, 0], [-2, 0]])
def test_what_is_no_tree(heads: list[int]) -> None:
    with pytest.raises(InputError, match="sentence 0"):
        tree_properties(np.array(heads, np.int32))


def test_words_beyond_the_end() -> None:
    with pytest.raises(InputError, match="sentence_words"):
        tree_properties(np.array([0], np.int32), np.array([0, 2], np.uint32))


# name, % of non-projective sentences, % of non-projective arcs: over train, dev and test together
PUBLISHED = [
    ("English-EWT", 2.1, 0.16),
    ("Dutch-Alpino-cdbl", 48.0, 5.57),
    ("Danish-CDT", 16.2, 1.11),
    ("Hungarian-Szeged", 21.7, 1.51),
    ("Japanese-GSD", 0.3, 0.02),
    ("Ancient_Greek-Perseus-rs", 66.8, 9.24),
]


@pytest.mark.treebanks
@pytest.mark.parametrize("name, sentences, arcs", PUBLISHED)
def test_figures_of_real_treebanks(treebanks: Path, name: str, sentences: float, arcs: float) -> None:
    """The figures stand in the README.md of the treebanks' folder."""
    words = bad_arcs = trees = bad_trees = 0
    for part in ("train", "dev", "test"):
        treebank = Treebank.read(treebanks / name / f"{part}.conllu.xz")
        found = tree_properties(treebank.heads, treebank.sentence_words)
        words += treebank.word_count
        trees += len(treebank)
        bad_arcs += int(found.non_projective_arcs.sum())
        bad_trees += int((found.gap_degree > 0).sum())
    assert round(100 * bad_trees / trees, 1) == sentences
    assert round(100 * bad_arcs / words, 2) == arcs
