"""The CUDA kernels for the best, the k best and random projective trees, compiled as C++, against the CPU's
kernels and every tree one by one."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed")

import torch

from arcwise.torch.cuda import eisner
from reference.enumerate_trees import all_trees
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


def cpu_best(matrix: Floats, *, single_root: bool) -> list[int]:
    return [int(head) for head in exact(matrix, single_root=single_root).best().heads]


@pytest.mark.parametrize("launcher", LAUNCHERS)
@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_decode(launcher: EmulatedGpu, single_root: bool, dtype: torch.dtype) -> None:
    """The tree of the CPU's kernel, where many trees are the best as well."""
    lengths = [7, 0, 25, 1, 12, 7]
    scores = [*random_scores(14, lengths), *map(np.round, random_scores(15, lengths))]
    batch = padded(scores, single_root=single_root, dtype=dtype)
    heads, best = eisner.decode(launcher, batch)
    for sentence, matrix in enumerate(batch.scores.double().nan_to_num().numpy()):
        n = lengths[sentence % len(lengths)]
        assert (heads[sentence, n + 1 :] == -1).all()
        tree = heads[sentence, : n + 1].numpy()
        if n == 0:
            assert tree.tolist() == [-1]
            assert best[sentence] == 0
            continue
        assert tree.tolist() == cpu_best(matrix[: n + 1, : n + 1], single_root=single_root)
        total = tree_scores(matrix[: n + 1, : n + 1], tree[None])[0]
        assert best[sentence].item() == pytest.approx(total, rel=1e-15 if dtype == torch.float64 else 1e-6)


@pytest.mark.slow
def test_trees_by_the_lanes_of_a_warp() -> None:
    scores = [*random_scores(24, [9, 6]), np.round(random_scores(25, [9])[0])]
    batch = padded(scores, single_root=True)
    heads, _ = eisner.decode(WARP, batch)
    for sentence, matrix in enumerate(scores):
        assert heads[sentence, : len(matrix)].tolist() == cpu_best(matrix, single_root=True)
    (short,) = random_scores(26, [3])
    draws = eisner.sample(WARP, padded([short], single_root=True), 300, 1)
    trees = all_trees(3, projective=True, single_root=True)
    probability = np.exp(tree_scores(short, trees))
    probability /= probability.sum()
    counts = [(draws[:, 0] == torch.tensor(tree.tolist())).all(dim=1).sum().item() for tree in trees]
    bound = 4.5 * np.sqrt(300 * probability * (1 - probability))
    assert (np.abs(counts - 300 * probability) <= bound).all()


def test_decode_long_sentences() -> None:
    scores = [*random_scores(16, [130]), np.round(random_scores(17, [118])[0])]
    heads, _ = eisner.decode(WHOLE, padded(scores, single_root=True))
    for sentence, matrix in enumerate(scores):
        assert heads[sentence, : len(matrix)].tolist() == cpu_best(matrix, single_root=True)


@pytest.mark.slow
@pytest.mark.parametrize("launcher", [WHOLE, EmulatedGpu(threads=3), WARP])
@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize("k", [1, 2, 7, eisner.LARGEST_K])
def test_k_best(launcher: EmulatedGpu, single_root: bool, k: int) -> None:
    lengths = [5, 0, 1, 2, 6, 6]
    scores = random_scores(18, lengths)
    scores[-1] = np.round(scores[-1])
    heads, best = eisner.k_best(launcher, padded(scores, single_root=single_root), k)
    assert heads.shape == (len(scores), k, 7)
    for sentence, matrix in enumerate(scores):
        n = len(matrix) - 1
        trees = all_trees(n, projective=True, single_root=single_root) if n else np.array([[-1]])
        expected = np.sort(tree_scores(matrix, trees))[::-1][:k]
        count = len(expected)
        np.testing.assert_allclose(best[sentence, :count].numpy(), expected, rtol=1e-14, atol=1e-14)
        found = heads[sentence, :count, : n + 1].numpy()
        np.testing.assert_allclose(tree_scores(matrix, found), expected, rtol=1e-14, atol=1e-14)
        assert len({tuple(tree) for tree in found}) == count
        assert {tuple(tree) for tree in found} <= {tuple(tree) for tree in trees}
        assert (heads[sentence, count:] == -1).all()
        assert (heads[sentence, :, n + 1 :] == -1).all()
        assert (best[sentence, count:] == -np.inf).all()


def test_k_best_long_sentence() -> None:
    (matrix,) = random_scores(19, [30])
    heads, best = eisner.k_best(WHOLE, padded([matrix], single_root=True), 20)
    trees = exact(matrix, single_root=True).k_best(20)
    expected = np.array([list(tree.heads) for tree in trees])
    assert heads[0].tolist() == expected.tolist()
    np.testing.assert_allclose(best[0].numpy(), tree_scores(matrix, expected), rtol=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("launcher", LAUNCHERS)
@pytest.mark.parametrize(("deviation", "shift"), [(1.0, 0.0), (1.0, -1e9), (200.0, 0.0)])
def test_sample(launcher: EmulatedGpu, deviation: float, shift: float) -> None:
    """As many of each tree as its probability says (4.5 standard deviations)."""
    scores = random_scores(20, [4, 0, 1, 5], deviation)
    scores[0][0, 1:] += shift
    count = 2000
    batch = padded(scores, single_root=True)
    draws = eisner.sample(launcher, batch, count, 3)
    assert draws.shape == (count, 4, 6)
    for sentence, matrix in enumerate(scores):
        n = len(matrix) - 1
        assert (draws[:, sentence, n + 1 :] == -1).all()
        assert (draws[:, sentence, 0] == -1).all()
        if n == 0:
            continue
        trees = all_trees(n, projective=True, single_root=True)
        values = tree_scores(matrix, trees)
        probability = np.exp(values - values.max())
        probability /= probability.sum()
        numbers = {tuple(tree): number for number, tree in enumerate(trees)}
        found = [numbers[tuple(tree)] for tree in draws[:, sentence, : n + 1].tolist()]
        counts = np.bincount(found, minlength=len(trees))
        bound = 4.5 * np.sqrt(count * probability * (1 - probability)) + 1
        assert (np.abs(counts - count * probability) <= bound).all()


def test_sample_depends_on_the_seed_alone() -> None:
    scores = random_scores(21, [6, 6]) * 2
    batch = padded(scores, single_root=True)
    first, again, other = (eisner.sample(WHOLE, batch, 40, seed) for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert len({tuple(tree) for tree in first[:, 0].tolist()}) > 10
    assert not torch.equal(first[:, 0], first[:, 2])


def test_trees_with_spans() -> None:
    batch, scores, spans = spanned_batch()
    heads, best = eisner.decode(WHOLE, batch)
    lists, _ = eisner.k_best(WHOLE, batch, 4)
    draws = eisner.sample(WHOLE, batch, 50, 0)
    for sentence, (matrix, each) in enumerate(zip(scores, spans, strict=True)):
        side = len(matrix)
        trees = spanned_trees(side - 1, each, single_root=True)
        values = tree_scores(matrix, trees)
        assert best[sentence].item() == pytest.approx(values.max(), rel=1e-14)
        assert heads[sentence, :side].tolist() == trees[values.argmax()].tolist()
        order = np.argsort(-values)[:4]
        assert lists[sentence, : len(order), :side].tolist() == trees[order].tolist()
        allowed = {tuple(tree) for tree in trees.tolist()}
        assert {tuple(tree) for tree in draws[:, sentence, :side].tolist()} <= allowed


def test_trees_of_sentences_without_any() -> None:
    scores = random_scores(22, [5, 5, 5, 5])
    scores[0][:, 2] = -np.inf
    scores[1][0] = -np.inf
    scores[2][3, 1] = np.nan
    batch = padded(scores, single_root=True)
    heads, best = eisner.decode(WHOLE, batch)
    lists, values = eisner.k_best(WHOLE, batch, 3)
    draws = eisner.sample(WHOLE, batch, 2, 0)
    for found in (heads, lists.transpose(0, 1), draws):
        assert (found[..., :3, :] == -1).all()
        assert (found[..., 3, 1:] >= 0).all()
    for numbers in (best[:, None], values):
        assert (numbers[:2] == -np.inf).all()
        assert numbers[2].isnan().all()
        assert numbers[3].isfinite().all()
