"""The nearest projective tree, against all projective trees."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arcwise import InputError, Tree, Treebank
from arcwise.inference.projectivise import projectivise, projectivise_heads
from arcwise.trees import tree_properties
from reference.enumerate_trees import all_trees


@st.composite
def some_tree(draw: st.DrawFn) -> Tree:
    n = draw(st.integers(1, 6))
    trees = all_trees(n, projective=False, single_root=draw(st.booleans()))
    return Tree(trees[draw(st.integers(0, len(trees) - 1))])


@pytest.mark.slow
@given(some_tree())
@settings(max_examples=200, deadline=None)
def test_the_fewest_heads_change(tree: Tree) -> None:
    found = projectivise(tree)
    every = all_trees(len(tree), projective=True, single_root=tree.is_single_root)
    assert found.is_projective
    assert not tree.is_single_root or found.is_single_root
    assert (found.heads != tree.heads).sum() == (every != tree.heads).sum(axis=1).min()


@given(some_tree())
@settings(max_examples=50, deadline=None)
def test_a_projective_tree_stays(tree: Tree) -> None:
    once = projectivise(tree)
    assert projectivise(once) == once
    assert not tree.is_projective or once == tree


def test_words_are_lifted_to_the_nearest_word_above() -> None:
    """Word 6 hangs from 1 < 2 < 3 < 4 < 5 (root); over 5 it can only hang from 5, which is above it."""
    assert projectivise(Tree.from_heads([2, 3, 4, 5, 0, 1])) == Tree.from_heads([2, 3, 4, 5, 0, 5])


def test_many_trees_at_once() -> None:
    trees = [[3, 0, 2], [2, 0], [3, 0, 2, 0], [0]]
    heads = np.array([h for tree in trees for h in tree], np.int32)
    starts = np.cumsum([0, *map(len, trees)]).astype(np.uint32)
    expected = np.concatenate([projectivise(Tree.from_heads(t)).heads[1:] for t in trees])
    for threads in (1, 2):
        assert projectivise_heads(heads, starts, threads=threads).tolist() == expected.tolist()


def test_partial_trees_are_refused() -> None:
    with pytest.raises(InputError, match="the head of word 1 "):
        projectivise(Tree.from_heads([0, -1]))


@pytest.mark.treebanks
def test_a_real_treebank(treebanks: Path) -> None:
    treebank = Treebank.read(treebanks / "Hungarian-Szeged" / "dev.conllu.xz")
    heads = projectivise_heads(treebank.heads, treebank.sentence_words)
    assert not tree_properties(heads, treebank.sentence_words).gap_degree.any()
    assert (heads == treebank.heads).mean() > 0.97
