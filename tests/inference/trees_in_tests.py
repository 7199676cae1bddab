"""Small things that the tests of distributions share."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from arcwise import Tree
from arcwise.errors import NoTreeError
from reference.enumerate_trees import Enumeration

Floats = npt.NDArray[np.float64]
LABELS = ["subj", "obj"]
TreesWithScores = list[tuple[Tree, float]]
"""All trees of a sentence with their scores, best first."""


def log_sum(values: Floats) -> float:
    top = values.max()
    return float(top + np.log(np.exp(values - top).sum())) if top > -np.inf else -np.inf


def labelled_trees(scores: Floats, labels: list[str], structures: Enumeration) -> list[tuple[Tree, float]]:
    """Every labelled tree over the structures with its score, best first, one by one."""
    found = []
    n = scores.shape[-1] - 1
    for heads in structures.trees:
        for codes in product(range(len(labels)), repeat=n):
            value = sum(scores[code, heads[m], m] for m, code in enumerate(codes, start=1))
            if value > -np.inf:
                found.append((Tree.from_heads(heads[1:], [labels[code] for code in codes]), float(value)))
    return sorted(found, key=lambda pair: -pair[1])


def plain_trees(structures: Enumeration) -> list[tuple[Tree, float]]:
    """Every tree with its score, best first."""
    return [
        (Tree(heads), float(value)) for heads, value in zip(structures.trees, structures.values, strict=True)
    ]


def check_operations(trees: Any, all_of_them: TreesWithScores) -> Floats | None:
    """What can be asked of any distribution against the list of all trees; their probabilities, None if there
    are none."""
    if not all_of_them:
        for operation in (trees.best, lambda: trees.log_partition, lambda: trees.marginals, trees.entropy):
            with pytest.raises(NoTreeError):
                operation()
        return None
    values = np.array([value for _, value in all_of_them])
    log_partition = log_sum(values)
    probabilities = np.exp(values - log_partition)
    tolerance = {"abs": 1e-9, "rel": 1e-11}
    assert trees.score(trees.best()) == pytest.approx(values[0], **tolerance)
    assert trees.log_partition == pytest.approx(log_partition, **tolerance)
    assert trees.entropy() == pytest.approx(-(probabilities * (values - log_partition)).sum(), abs=1e-8)
    for tree, value in all_of_them[:20]:
        assert trees.score(tree) == pytest.approx(value, **tolerance)
        assert trees.log_prob(tree) == pytest.approx(value - log_partition, **tolerance)
    for draw in trees.sample(3, seed=1):
        assert trees.score(draw) > -np.inf
    return probabilities


def check_k_best(trees: Any, all_of_them: TreesWithScores, *, asked: int | None = None) -> None:
    """Every structure once, with the best labels, best first; ``asked``: for how many, by default a few more
    than there are."""
    best: dict[bytes, float] = {}
    for tree, value in all_of_them:
        best[tree.heads.tobytes()] = max(value, best.get(tree.heads.tobytes(), -np.inf))
    found = trees.k_best(asked or len(best) + 3)
    assert {tree.heads.tobytes() for tree in found} == {*best}
    assert len(found) == len(best)
    np.testing.assert_allclose(
        [trees.score(tree) for tree in found], sorted(best.values(), reverse=True), rtol=1e-11, atol=1e-9
    )


def check_marginals(trees: Any, all_of_them: TreesWithScores, probabilities: Floats) -> tuple[Floats, Floats]:
    """Those of arcs, (n+1, n+1), and of labelled arcs, (L, n+1, n+1), 0 without labels; as they should be."""
    n = len(all_of_them[0][0])
    words = np.arange(1, n + 1)
    arcs = np.zeros((n + 1, n + 1))
    labels = np.zeros((len(LABELS), n + 1, n + 1))
    for (tree, _), probability in zip(all_of_them, probabilities, strict=True):
        arcs[tree.heads[1:], words] += probability
        if tree.labels:
            labels[[LABELS.index(label) for label in tree.labels[1:]], tree.heads[1:], words] += probability
    np.testing.assert_allclose(trees.marginals, arcs, atol=1e-10)
    if trees.labels:
        np.testing.assert_allclose(trees.label_marginals, labels, atol=1e-10)
    return arcs, labels
