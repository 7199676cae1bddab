"""Scores of arcs before anything is done with them."""

from __future__ import annotations

import numpy as np
import pytest

from arcwise.inference import Scores

LABELS = ("subj", "obj", "root")


@pytest.mark.parametrize("labelled", [True, False])
@pytest.mark.parametrize("given", [("heads",), ("labels",), ("forbidden",), ("heads", "labels", "forbidden")])
def test_constrained_scores_are_without_what_is_ruled_out(given: tuple[str, ...], labelled: bool) -> None:
    random = np.random.default_rng(len(given))
    lengths = (3, 2, 4)
    matrices = [random.normal(0, 1, (3, n + 1, n + 1) if labelled else (n + 1, n + 1)) for n in lengths]
    heads, labels = (np.full(sum(lengths), -1, np.int32) for _ in range(2))
    heads[[1, 3, 8]] = 0, 2, 1
    labels[[0, 4, 7]] = 0, 2, 1
    forbidden = random.random(sum((n + 1) ** 2 for n in lengths)) < 0.3
    told = {"heads": heads, "labels": labels, "forbidden": forbidden}
    found = Scores.dense(matrices, LABELS if labelled else ()).constrained(**{n: told[n] for n in given})
    word = arc = 0
    for matrix, own in zip(matrices, found.dense_arrays(), strict=True):
        n = matrix.shape[-1] - 1
        wanted = np.full_like(matrix, -np.inf)
        for h, m in np.ndindex(n + 1, n + 1):
            arc += 1
            if m == 0 or h == m or ("forbidden" in given and forbidden[arc - 1]):
                continue
            head, label = heads[word + m - 1], labels[word + m - 1]
            if "heads" in given and head not in (-1, h):
                continue
            kept = label if labelled and "labels" in given and label >= 0 else ...
            wanted[kept, h, m] = matrix[kept, h, m]
        word += n
        assert np.array_equal(own, wanted)
