"""A program that uses arcwise.torch, for ``test_typed_client.py`` to check with mypy --strict; never run."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # pytest imports this file, also where torch is missing
    from torch import Tensor
    from typing_extensions import assert_type

    from arcwise import Tree
    from arcwise.torch import TreeCRF, Trees, from_trees, log_likelihood


def use(scores: Tensor, trees: list[Tree], other: TreeCRF) -> None:
    plain = TreeCRF(scores, projective=True, single_root=True)
    assert_type(plain.best(), Tensor)
    assert_type(plain.sample((3,)), Tensor)
    assert_type(plain.log_partition, Tensor)
    assert_type(plain.given(None).k_best(2), Tensor)
    labelled = TreeCRF(scores, projective=True, single_root=True, labels=["a", "b"])
    assert_type(labelled.best(), Trees)
    assert_type(labelled.mode, Trees)
    assert_type(labelled.expand((2,)).minimum_risk(), Trees)
    assert_type(from_trees(trees), Tensor)
    assert_type(from_trees(trees, ["a"]), Trees)
    assert_type(other.best(), Tensor | Trees)
    assert_type(log_likelihood(scores, from_trees(trees), projective=True, single_root=True), Tensor)
