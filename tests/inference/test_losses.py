"""Losses on scores: values by enumeration of all trees, labels and clusters; gradients by finite
differences."""

from __future__ import annotations

import numpy as np
import pytest

from arcwise import Tree
from arcwise.errors import InputError
from arcwise.inference import LOSSES, Scores
from inference.trees_in_tests import log_sum
from reference.enumerate_trees import TREE_CLASSES, all_trees

LABELS = ("subj", "obj", "root")
Classes = pytest.mark.parametrize("projective, single_root", TREE_CLASSES)
Losses = pytest.mark.parametrize("loss", LOSSES)
Labelled = pytest.mark.parametrize("labelled", [True, False])

GOLD = {
    "whole": Tree.from_heads([2, 0, 2], ["subj", "root", "obj"]),
    "partial": Tree.from_heads([-1, 0, 2], ["", "root", "obj"]),
    "no labels": Tree.from_heads([2, 0, 2]),
    "some labels": Tree.from_heads([2, 0, -1], ["_", "root", ""]),
    "nothing": Tree.from_heads([-1, -1, -1]),
}


def scores_of(labelled: bool, seed: int = 0, spread: float = 1.5) -> np.ndarray:
    shape = (len(LABELS), 4, 4) if labelled else (4, 4)
    return np.random.default_rng(seed).normal(0, spread, shape)


def every_tree(labelled: bool, projective: bool, single_root: bool) -> list[Tree]:
    structures = all_trees(3, projective=projective, single_root=single_root)
    if not labelled:
        return [Tree.from_heads(heads[1:]) for heads in structures]
    return [
        Tree.from_heads(heads[1:], [a, b, c])
        for heads in structures
        for a in LABELS
        for b in LABELS
        for c in LABELS
    ]


def score(scores: np.ndarray, tree: Tree) -> float:
    words = range(1, 4)
    if scores.ndim == 2:
        return float(sum(scores[tree.heads[m], m] for m in words))
    assert tree.labels is not None
    return float(sum(scores[LABELS.index(tree.labels[m]), tree.heads[m], m] for m in words))


def agrees(tree: Tree, gold: Tree) -> bool:
    for m in range(1, 4):
        if gold.heads[m] >= 0 and tree.heads[m] != gold.heads[m]:
            return False
        if tree.labels and gold.labels and gold.labels[m] not in ("", "_", tree.labels[m]):
            return False
    return True


def cost(tree: Tree, gold: Tree) -> float:
    """1 for each wrong head, 1 for each wrong label; words whose head is unknown cost nothing."""
    total = 0
    for m in range(1, 4):
        if gold.heads[m] < 0:
            continue
        total += tree.heads[m] != gold.heads[m]
        if tree.labels and gold.labels and gold.labels[m] not in ("", "_"):
            total += tree.labels[m] != gold.labels[m]
    return float(total)


def by_enumeration(
    loss: str, scores: np.ndarray, gold: Tree, *, projective: bool, single_root: bool
) -> float:
    trees = every_tree(scores.ndim == 3, projective, single_root)
    values = np.array([score(scores, tree) for tree in trees])
    costs = np.array([cost(tree, gold) for tree in trees])
    right = np.array([agrees(tree, gold) for tree in trees])
    terms = {
        "likelihood": lambda: log_sum(values) - log_sum(values[right]),
        "hinge": lambda: (values + costs).max() - values[right].max(),
        "softmax-margin": lambda: log_sum(values + costs) - log_sum(values[right]),
        "risk": lambda: (np.exp(values - log_sum(values)) * costs).sum(),
    }
    return float(terms[loss]())


@Classes
@Losses
@Labelled
@pytest.mark.parametrize("known", GOLD)
def test_the_value_is_that_of_enumeration(projective, single_root, loss, labelled, known) -> None:
    for seed in range(4):
        scores = scores_of(labelled, seed)
        values, _ = Scores.dense([scores], LABELS if labelled else ()).loss(
            loss, [GOLD[known]], projective=projective, single_root=single_root
        )
        expected = by_enumeration(loss, scores, GOLD[known], projective=projective, single_root=single_root)
        assert values[0] == pytest.approx(expected, abs=1e-9)
        assert values[0] >= -1e-12


@Classes
@Losses
@Labelled
@pytest.mark.parametrize("known", GOLD)
def test_the_gradient_is_that_of_finite_differences(projective, single_root, loss, labelled, known) -> None:
    scores, labels = scores_of(labelled, seed=7), LABELS if labelled else ()

    def value(matrix: np.ndarray) -> float:
        found, _ = Scores.dense([matrix], labels).loss(
            loss, [GOLD[known]], projective=projective, single_root=single_root
        )
        return float(found[0])

    _, (gradient,) = Scores.dense([scores], labels).loss(
        loss, [GOLD[known]], projective=projective, single_root=single_root
    )
    assert gradient.shape == scores.shape
    for place in np.ndindex(scores.shape):
        step = np.zeros(scores.shape)
        step[place] = 1e-6
        numeric = (value(scores + step) - value(scores - step)) / 2e-6
        if place[-1] == 0 or place[-1] == place[-2]:
            numeric = 0.0
        assert gradient[place] == pytest.approx(numeric, abs=1e-6), place


@Losses
def test_a_batch_is_the_sentences_one_by_one_at_any_number_of_threads(loss) -> None:
    rng = np.random.default_rng(1)
    lengths = [1, 3, 6, 2, 9]
    matrices = [rng.normal(0, 1, (len(LABELS), n + 1, n + 1)) for n in lengths]
    trees = [Tree.from_heads([0, *[1] * (n - 1)], ["root", *["obj"] * (n - 1)]) for n in lengths]
    batch = Scores.dense(matrices, LABELS)
    one, three = (batch.loss(loss, trees, projective=True, single_root=True, threads=t) for t in (1, 3))
    assert np.array_equal(one[0], three[0])
    for s, (matrix, tree) in enumerate(zip(matrices, trees, strict=True)):
        alone = Scores.dense([matrix], LABELS).loss(loss, [tree], projective=True, single_root=True)
        assert one[0][s] == alone[0][0]
        assert np.array_equal(one[1][s], alone[1][0])
        assert np.array_equal(one[1][s], three[1][s])


@Losses
def test_no_tree_that_agrees_means_infinity_and_no_gradient(loss) -> None:
    scores = np.zeros((3, 3))
    scores[2, 1] = -np.inf
    values, (gradient,) = Scores.dense([scores]).loss(
        loss, [Tree.from_heads([2, 0])], projective=True, single_root=True
    )
    assert values[0] == np.inf
    assert not gradient.any()


@Classes
@pytest.mark.parametrize("known", GOLD)
def test_softmax_margin_is_above_likelihood_and_hinge(projective, single_root, known) -> None:
    """Gimpel & Smith 2010: it bounds both from above (the hinge where one tree alone is right); without a
    cost it is the likelihood."""
    for seed in range(5):
        batch = Scores.dense([scores_of(True, seed)], LABELS)
        found = {
            loss: batch.loss(loss, [GOLD[known]], projective=projective, single_root=single_root)[0][0]
            for loss in LOSSES
        }
        assert found["softmax-margin"] >= found["likelihood"] - 1e-9
        if known == "whole":
            assert found["softmax-margin"] >= found["hinge"] - 1e-9
        if known == "nothing":
            assert found["softmax-margin"] == pytest.approx(found["likelihood"], abs=1e-9)


@Losses
@pytest.mark.parametrize(
    "heads, projective, single_root",
    [([0, 0], True, True), ([0, 0], False, True), ([3, 4, 0, 3], True, False), ([3, 0, 0], True, False)],
    ids=["two roots", "two roots that may cross", "crossing", "crossing the root's arc"],
)
def test_a_whole_tree_of_another_class_agrees_with_none(loss, heads, projective, single_root) -> None:
    n = len(heads)
    values, (gradient,) = Scores.dense([np.zeros((n + 1, n + 1))]).loss(
        loss, [Tree.from_heads(heads)], projective=projective, single_root=single_root
    )
    assert values[0] == np.inf
    assert not gradient.any()


def test_bad_input_is_named() -> None:
    scores = Scores.dense([np.zeros((2, 3, 3))], ("a", "b"))
    tree = Tree.from_heads([0, 1], ["a", "c"])
    with pytest.raises(InputError, match="found the label 'c'"):
        scores.loss("hinge", [tree], projective=True, single_root=True)
    with pytest.raises(InputError, match="one for each sentence"):
        scores.loss("hinge", [], projective=True, single_root=True)
    with pytest.raises(InputError, match="loss: found 'squared'"):
        scores.loss("squared", [tree], projective=True, single_root=True)  # type: ignore[arg-type]
