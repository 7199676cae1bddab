"""The enumerator itself: it finds as many trees as the formulas say."""

import numpy as np
import pytest

from reference.enumerate_trees import TREE_CLASSES, Enumeration, all_trees, is_subtree, tree_count


@pytest.mark.parametrize("projective, single_root", TREE_CLASSES)
def test_counts_are_those_of_the_formulas(projective: bool, single_root: bool) -> None:
    for n in range(1, 6):
        trees = all_trees(n, projective=projective, single_root=single_root)
        assert len(trees) == tree_count(n, projective=projective, single_root=single_root)
        assert len(np.unique(trees, axis=0)) == len(trees)


def test_two_words_by_hand() -> None:
    scores = np.log([[1, 3, 2], [1, 1, 5], [1, 7, 1]])
    trees = Enumeration(scores, projective=True, single_root=True)
    assert trees.trees.tolist() == [[-1, 0, 1], [-1, 2, 0]]  # 3·5 before 7·2
    assert trees.log_partition == pytest.approx(np.log(29))
    np.testing.assert_allclose(trees.marginals, [[0, 15 / 29, 14 / 29], [0, 0, 15 / 29], [0, 14 / 29, 0]])


def test_subtrees() -> None:
    heads = np.array([-1, 2, 0, 4, 2])
    assert is_subtree(heads, 3, 4)
    assert is_subtree(heads, 1, 4)
    assert not is_subtree(heads, 2, 4)  # 1 hangs from 2
    assert not is_subtree(heads, 1, 2)
