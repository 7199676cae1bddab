"""The CUDA kernels of Eisner's algorithm, compiled as C++, against the numpy class and against every tree one
by one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed")

import torch
from torch import Tensor

from arcwise.torch.cuda import eisner
from arcwise.torch.padded import Padded
from reference.enumerate_trees import all_trees
from reference.exact_trees import ExactTrees
from torch_backend.emulated_gpu import COMPILER, EmulatedGpu
from torch_backend.padded_batches import (
    LAUNCHERS,
    WARP,
    WHOLE,
    Floats,
    exact,
    padded,
    random_scores,
    spanned_batch,
    spanned_trees,
    tree_scores,
)

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")


def assert_sums(batch: Padded, scores: list[Floats], launcher: EmulatedGpu, tolerance: float) -> None:
    """log Z and marginals of the kernels are those of the numpy class; what is no arc has probability 0."""
    totals, marginals = eisner.marginals(launcher, batch)
    relative = 4e-16 if batch.scores.dtype == torch.float64 else 1e-7
    assert torch.equal(totals.isnan(), torch.zeros_like(totals, dtype=torch.bool))
    for sentence, matrix in enumerate(scores):
        side = len(matrix)
        truth = exact(matrix, single_root=batch.single_root) if side > 1 else None
        expected = np.zeros((side, side)) if truth is None else truth.marginals.copy()
        np.fill_diagonal(expected, 0)
        expected[:, 0] = 0
        total = 0.0 if truth is None else truth.log_partition
        spread = np.abs(matrix[np.isfinite(matrix)]).sum() if np.isfinite(total) else 0
        assert totals[sentence].item() == pytest.approx(total, rel=relative, abs=relative * (spread + side))
        found = marginals[sentence].double().numpy()
        np.testing.assert_allclose(found[:side, :side], expected, rtol=0, atol=tolerance)
        assert not found[side:].any()
        assert not found[:, side:].any()
    alone = eisner.log_partition(launcher, batch)
    torch.testing.assert_close(alone, totals, rtol=4 * relative, atol=4 * relative * batch.scores.shape[1])


@pytest.mark.parametrize("launcher", LAUNCHERS)
@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_sums(launcher: EmulatedGpu, single_root: bool, dtype: torch.dtype) -> None:
    scores = random_scores(0, [5, 0, 12, 1, 25, 2])
    batch = padded(scores, single_root=single_root, dtype=dtype)
    if dtype == torch.float32:
        scores = [matrix.astype(np.float32).astype(np.float64) for matrix in scores]
    assert_sums(batch, scores, launcher, 1e-12 if dtype == torch.float64 else 1e-7)


@pytest.mark.slow
@pytest.mark.parametrize(("deviation", "shared_limit"), [(1.0, 232_448), (200.0, 232_448), (1.0, 3000)])
def test_sums_by_the_lanes_of_a_warp(deviation: float, shared_limit: int) -> None:
    scores = random_scores(23, [9, 5], deviation)
    warp = EmulatedGpu(threads=32, lanes=32, shared_limit=shared_limit)
    assert_sums(padded(scores, single_root=False), scores, warp, 1e-12)


@pytest.mark.parametrize("deviation", [0.0, 10.0, 60.0, 200.0])
@pytest.mark.parametrize("single_root", [True, False])
def test_sums_of_any_spread(deviation: float, single_root: bool) -> None:
    scores = random_scores(1, [25, 8, 3, 40], deviation)
    assert_sums(padded(scores, single_root=single_root), scores, WHOLE, 1e-12)


@pytest.mark.parametrize("deviation", [60.0, 200.0, 2000.0])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_exact_sums_of_large_scores(deviation: float, dtype: torch.dtype) -> None:
    scores = [matrix.astype(np.float32).astype(np.float64) for matrix in random_scores(2, [4] * 6, deviation)]
    scores += [matrix - 1e6 for matrix in scores[:3]]
    totals, marginals = eisner.marginals(WHOLE, padded(scores, single_root=True, dtype=dtype))
    relative = 4e-16 if dtype == torch.float64 else 1e-7
    scores = list(padded(scores, single_root=True, dtype=dtype).scores.double().nan_to_num().numpy())
    for sentence, matrix in enumerate(scores):
        truth = ExactTrees(matrix[None], projective=True, single_root=True)
        assert totals[sentence].item() == pytest.approx(truth.log_partition, rel=relative)
        expected = truth.marginals[0]
        np.testing.assert_allclose(marginals[sentence].numpy(), expected, rtol=0, atol=max(1e-15, relative))


def test_largest_spread() -> None:
    """The numpy class adds logarithms here, whose last digits are worth 2e-12; whole columns sum to 1."""
    scores = random_scores(1, [25, 40], 2000.0)
    batch = padded(scores, single_root=True)
    _, marginals = eisner.marginals(WHOLE, batch)
    for sentence, matrix in enumerate(scores):
        found = marginals[sentence, : len(matrix), : len(matrix)].numpy()
        np.testing.assert_allclose(found, exact(matrix, single_root=True).marginals, rtol=0, atol=1e-12)
        np.testing.assert_allclose(found[:, 1:].sum(axis=0), 1, rtol=0, atol=1e-14)


@pytest.mark.parametrize(("mask", "share"), [(-np.inf, 0.3), *product([-1e9, -1e14], [0.3, 0.8, 1.0])])
def test_masks(mask: float, share: float) -> None:
    generator = np.random.default_rng(2)
    scores = random_scores(3, [4, 9, 17])
    for matrix in scores:
        where = generator.random(matrix.shape) < share
        matrix[where] = matrix[where] + mask if np.isfinite(mask) else mask
    assert_sums(padded(scores, single_root=True), scores, WHOLE, 1e-12)


@pytest.mark.parametrize("mask", [-1e9, -1e30, -3.4e38])
def test_masks_that_no_tree_needs(mask: float) -> None:
    """A chain and some other arcs; all others are masked."""
    (matrix,) = random_scores(4, [20])
    kept = random_scores(5, [20])[0] > 0
    kept |= np.eye(21, k=1, dtype=bool)
    matrix[~kept] = mask
    open_matrix = np.where(kept, matrix, -np.inf)
    for dtype, tolerance in [(torch.float64, 1e-12), (torch.float32, 1e-6)]:
        _, marginals = eisner.marginals(WHOLE, padded([matrix], single_root=False, dtype=dtype))
        expected = exact(open_matrix, single_root=False).marginals
        np.testing.assert_allclose(marginals[0].numpy(), expected, rtol=0, atol=tolerance)


def test_long_sentences() -> None:
    scores = random_scores(6, [130, 60])
    assert_sums(padded(scores, single_root=True), scores, EmulatedGpu(multiprocessors=1), 1e-12)


@pytest.mark.slow
def test_sentence_longer_than_doubles_hold() -> None:
    scores = [np.zeros((311, 311))]
    assert_sums(padded(scores, single_root=True), scores, WHOLE, 1e-11)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_scores_that_are_none(bad: float) -> None:
    scores = random_scores(7, [6, 6, 6])
    scores[1][2, 3] = bad
    batch = padded(scores, single_root=True)
    totals, marginals = eisner.marginals(WHOLE, batch)
    arcs = ~torch.eye(7, dtype=torch.bool)
    arcs[:, 0] = False
    assert (
        totals.isnan().tolist() == eisner.log_partition(WHOLE, batch).isnan().tolist() == [False, True, False]
    )
    assert torch.equal(marginals[1].isnan(), arcs)
    assert not marginals[[0, 2]].isnan().any()


def test_sentences_without_a_tree() -> None:
    scores = random_scores(8, [5, 5, 5])
    scores[0][:, 2] = -np.inf
    scores[1][0] = -np.inf
    batch = padded(scores, single_root=True)
    totals, marginals = eisner.marginals(WHOLE, batch)
    assert totals[:2].tolist() == eisner.log_partition(WHOLE, batch)[:2].tolist() == [-np.inf, -np.inf]
    assert not marginals[:2].any()
    assert totals[2].isfinite()


def test_no_sentences() -> None:
    batch = padded([], single_root=True)
    assert eisner.log_partition(WHOLE, batch).shape == (0,)


def test_spans() -> None:
    batch, scores, spans = spanned_batch()
    totals, marginals = eisner.marginals(WHOLE, batch)
    for sentence, (matrix, each) in enumerate(zip(scores, spans, strict=True)):
        n = len(matrix) - 1
        trees = spanned_trees(n, each, single_root=True)
        weights = np.exp(tree_scores(matrix, trees))
        expected = np.zeros_like(matrix)
        for tree, weight in zip(trees, weights / weights.sum(), strict=True):
            expected[tree[1:], np.arange(1, n + 1)] += weight
        assert totals[sentence].item() == pytest.approx(np.log(weights.sum()), rel=1e-13)
        np.testing.assert_allclose(
            marginals[sentence, : n + 1, : n + 1].numpy(), expected, rtol=0, atol=1e-13
        )


def covariance(matrix: Floats, directions: list[Floats]) -> Floats:
    """The joint cumulants of each arc and the sums over the directions, over all trees: the derivatives of
    its probability."""
    n = len(matrix) - 1
    trees = all_trees(n, projective=True, single_root=True)
    scores = tree_scores(matrix, trees)
    probability = np.exp(scores - scores.max())
    probability /= probability.sum()
    arcs = np.zeros((len(trees), n + 1, n + 1))
    arcs[np.arange(len(trees))[:, None], trees[:, 1:], np.arange(1, n + 1)] = 1
    weighted = probability[:, None, None] * (arcs - (probability[:, None, None] * arcs).sum(axis=0))
    for direction in directions:
        values = tree_scores(direction, trees)
        weighted = weighted * (values - probability @ values)[:, None, None]
    return weighted.sum(axis=0)


@pytest.mark.slow
@pytest.mark.parametrize("launcher", [*LAUNCHERS, WARP])
@pytest.mark.parametrize("deviation", [1.0, 200.0])
def test_derivatives(launcher: EmulatedGpu, deviation: float) -> None:
    lengths = [5, 0, 1, 6]
    scores = random_scores(10, lengths, deviation)
    first, second = random_scores(11, lengths), random_scores(12, lengths)
    batch, one, two = (padded(each, single_root=True) for each in (scores, first, second))
    slope = eisner.marginals_jvp(launcher, batch, one.scores)
    bend = eisner.marginals_second_derivative(launcher, batch, one.scores, two.scores)
    for sentence, matrix in enumerate(scores):
        side = len(matrix)
        for found, directions in [(slope, [first]), (bend, [first, second])]:
            expected = (
                np.zeros((1, 1)) if side == 1 else covariance(matrix, [each[sentence] for each in directions])
            )
            np.testing.assert_allclose(found[sentence, :side, :side].numpy(), expected, rtol=0, atol=1e-12)
            assert not found[sentence, side:].any()
            assert not found[sentence, :, side:].any()


def test_derivatives_of_scores_that_are_none() -> None:
    scores = random_scores(13, [4, 4])
    scores[0][1, 2] = np.nan
    batch = padded(scores, single_root=True)
    slope: Tensor = eisner.marginals_jvp(WHOLE, batch, torch.ones_like(batch.scores))
    assert slope[0, 1, 2].isnan()
    assert slope[1].abs().max() < 1e-15


def test_memory_is_a_small_multiple_of_the_scores() -> None:
    """64 × 100 words on a GPU with 132 multiprocessors and 227 KB of shared memory."""
    scores = torch.empty(64, 101, 101)
    spans = torch.empty(0, 2, dtype=torch.int32), torch.empty(0, dtype=torch.int64)
    batch = Padded(scores, torch.full((64,), 100, dtype=torch.int32), True, True, *spans)
    taken: list[int] = []

    class Counting(EmulatedGpu):
        def empty(self, shape: Sequence[int], dtype: torch.dtype) -> Tensor:
            taken.append(math.prod(shape) * dtype.itemsize)
            return torch.empty(tuple(shape), dtype=dtype)

        def launch(self, *_: object, **__: object) -> None:
            pass

    eisner.marginals(Counting(multiprocessors=132, threads=1024), batch)
    assert sum(taken) - scores.nbytes < 2.2 * scores.nbytes  # without the marginals themselves
