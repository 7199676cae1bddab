"""Batches large enough that several threads start: small ones are done by one, whatever is asked for."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from arcwise.inference.eisner import (
    eisner_decode_batch,
    eisner_k_best_batch,
    eisner_marginals_batch,
    eisner_sample_batch,
)
from arcwise.inference.matrix_tree import matrix_tree_marginals_batch
from arcwise.inference.spanning_tree import spanning_tree_decode_batch, spanning_tree_k_best_batch
from arcwise.inference.wilson import wilson_sample_batch

OPERATIONS: dict[str, Callable[..., Any]] = {
    "eisner_decode": eisner_decode_batch,
    "eisner_k_best": partial(eisner_k_best_batch, k=2),
    "eisner_marginals": eisner_marginals_batch,
    "eisner_sample": partial(eisner_sample_batch, count=2, seed=1),
    "matrix_tree_marginals": matrix_tree_marginals_batch,
    "spanning_tree_decode": spanning_tree_decode_batch,
    "spanning_tree_k_best": partial(spanning_tree_k_best_batch, k=2),
    "wilson_sample": partial(wilson_sample_batch, count=2, seed=1),
}


def flat(value: Any) -> list[np.ndarray]:
    """All arrays in nested lists and tuples."""
    if isinstance(value, list | tuple):
        return [array for part in value for array in flat(part)]
    return [np.asarray(value)]


@pytest.mark.parametrize("name", OPERATIONS)
def test_large_batch_is_the_same_at_any_number_of_threads(name: str) -> None:
    random = np.random.default_rng(3)
    sentences = [random.normal(size=(n + 1, n + 1)) for n in (45, 40, 50, 44) * 10]
    alone = flat(OPERATIONS[name](sentences, single_root=True, threads=1))
    together = flat(OPERATIONS[name](sentences, single_root=True, threads=3))
    assert len(alone) == len(together)
    for one, three in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one, three)
