"""``TreeMixtureBatch`` against enumeration: marginals, probabilities and minimum-risk trees of a mean."""

from __future__ import annotations

import numpy as np
import pytest

from arcwise import Constraints, Tree, TreeDistributionBatch
from arcwise.errors import InputError
from arcwise.inference import Scores, TreeMixtureBatch
from inference.trees_in_tests import labelled_trees, plain_trees
from reference.enumerate_trees import TREE_CLASSES, Enumeration

Classes = pytest.mark.parametrize("projective, single_root", TREE_CLASSES)
WEIGHTS = [1.0, 3.0]


def parts(
    arrays: list[np.ndarray], projective: bool, single_root: bool, labels: list[list[str]] | None = None
) -> list[TreeDistributionBatch]:
    return [
        TreeDistributionBatch(
            [array], projective=projective, single_root=single_root, labels=labels and labels[k]
        )
        for k, array in enumerate(arrays)
    ]


@Classes
def test_a_mixture_against_enumeration(projective: bool, single_root: bool) -> None:
    arrays = [*np.random.default_rng(1).normal(0, 2, (2, 5, 5))]
    mixture = TreeMixtureBatch(parts(arrays, projective, single_root), WEIGHTS)
    trees = [tree for tree, _ in plain_trees(Enumeration(arrays[0], projective, single_root))]
    of_parts = np.array([[part.prob([tree])[0] for tree in trees] for part in mixture.parts])
    p = np.array([0.25, 0.75]) @ of_parts
    assert [np.exp(mixture.log_prob([tree])[0]) for tree in trees] == pytest.approx(p.tolist(), abs=1e-12)
    arcs = np.zeros((5, 5))
    for tree, probability in zip(trees, p, strict=True):
        arcs[tree.heads[1:], np.arange(1, 5)] += probability
    np.testing.assert_allclose(mixture.marginals[0], arcs, atol=1e-12)
    gains = [arcs[tree.heads[1:], np.arange(1, 5)].sum() for tree in trees]
    (best,) = mixture.minimum_risk()
    assert gains[trees.index(best)] == pytest.approx(max(gains), abs=1e-9)


@Classes
def test_labels_are_united(projective: bool, single_root: bool) -> None:
    """The second part lacks a label of the first, and has the others in another order."""
    rng = np.random.default_rng(2)
    names = [["a", "b", "c"], ["c", "a"]]
    arrays = [rng.normal(size=(len(labels), 3, 3)) for labels in names]
    mixture = TreeMixtureBatch(parts(arrays, projective, single_root, names), WEIGHTS)
    assert mixture.labels == ("a", "b", "c")
    full = np.full((3, 3, 3), -np.inf)
    full[2], full[0] = arrays[1]
    structures = Enumeration(arrays[0].max(0), projective, single_root)
    p: dict[Tree, float] = {}
    for weight, array in zip([0.25, 0.75], [arrays[0], full], strict=True):
        pairs = labelled_trees(array, names[0], structures)
        total = np.logaddexp.reduce([score for _, score in pairs])
        for tree, score in pairs:
            p[tree] = p.get(tree, 0.0) + weight * float(np.exp(score - total))
    expected = np.zeros((3, 3, 3))
    for tree, probability in p.items():
        assert tree.labels is not None
        assert np.exp(mixture.log_prob([tree])[0]) == pytest.approx(probability, abs=1e-12)
        for m in (1, 2):
            expected[names[0].index(tree.labels[m]), tree.heads[m], m] += probability
    np.testing.assert_allclose(mixture.label_marginals[0], expected, atol=1e-12)

    def gain(tree: Tree) -> float:
        assert tree.labels is not None
        return sum(expected[names[0].index(tree.labels[m]), tree.heads[m], m] for m in (1, 2))

    (best,) = mixture.minimum_labelled_risk()
    assert gain(best) == pytest.approx(max(map(gain, p)), abs=1e-9)


def test_a_certain_part_does_not_rule_out_what_others_find_probable() -> None:
    """Unlike the mean of scores, which is a product of probabilities."""
    certain, mild = np.full((3, 3), -50.0), np.zeros((3, 3))
    certain[0, 1] = certain[1, 2] = 0.0
    mild[0, 2] = mild[2, 1] = 3.0
    mixture = TreeMixtureBatch(parts([certain, mild], True, True))
    product = TreeDistributionBatch(
        Scores.mean([Scores.dense([certain]), Scores.dense([mild])]), projective=True, single_root=True
    )
    assert mixture.marginals[0][0, 2] > 0.45
    assert product.marginals[0][0, 2] < 1e-6


def test_subtrees_of_constraints_hold() -> None:
    scores = np.zeros((4, 4))
    scores[1, 3] = scores[3, 2] = 5.0
    batch = TreeDistributionBatch(
        [scores], projective=True, single_root=True, constraints=Constraints(subtrees=[(1, 2)])
    )
    assert TreeMixtureBatch([batch, batch]).minimum_risk() == batch.minimum_risk()


def test_bad_parts_and_weights() -> None:
    one, other = parts([np.zeros((3, 3)), np.zeros((4, 4))], True, True)
    with pytest.raises(InputError, match="different sentences"):
        TreeMixtureBatch([one, other])
    with pytest.raises(InputError, match="found none"):
        TreeMixtureBatch([])
    for weights in ([1.0], [0.0, 0.0], [1.0, -1.0], [1.0, np.nan]):
        with pytest.raises(InputError, match="weights: found"):
            TreeMixtureBatch([one, one], weights)
