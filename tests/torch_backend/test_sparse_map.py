"""SparseMAP against the conditions of optimality over all trees, an independent solver, and finite
differences; perturb-and-MAP against its definition."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
import torch

from arcwise import Constraints
from arcwise.torch import TreeCRF, Trees
from reference.enumerate_trees import TREE_CLASSES, all_trees, is_subtree

Classes = pytest.mark.parametrize("projective, single_root", TREE_CLASSES)
Floats = np.ndarray


def indicators(scores: Floats, projective: bool, single_root: bool) -> Floats:
    """(T, size of the scores): every (labelled) tree of finite score as a vector of zeros and ones."""
    n = scores.shape[-1] - 1
    rows = []
    for heads in all_trees(n, projective=projective, single_root=single_root):
        for labels in product(range(len(scores)), repeat=n) if scores.ndim == 3 else [()]:
            tree = np.zeros(scores.shape)
            where: Any = (heads[1:], np.arange(1, n + 1))
            tree[(list(labels), *where) if labels else where] = 1
            if np.isfinite(scores[tree > 0]).all():
                rows.append(tree.ravel())
    return np.array(rows)


def projected_gradient(scores: Floats, trees: Floats, steps: int = 3000) -> Floats:
    """min ½‖Σ p_k tree_k - scores‖² over the simplex, by accelerated projected gradient."""
    kernel = trees @ trees.T
    gains = trees @ np.where(np.isfinite(scores), scores, 0.0).ravel()
    rate = 1 / np.linalg.eigvalsh(kernel)[-1]
    p = ahead = np.full(len(trees), 1 / len(trees))
    momentum = 1.0
    for _ in range(steps):
        before, p = p, onto_simplex(ahead - rate * (kernel @ ahead - gains))
        momentum, last = (1 + np.sqrt(1 + 4 * momentum**2)) / 2, momentum
        ahead = p + (last - 1) / momentum * (p - before)
    return (p @ trees).reshape(scores.shape)


def onto_simplex(values: Floats) -> Floats:
    ordered = np.sort(values)[::-1]
    thresholds = (np.cumsum(ordered) - 1) / np.arange(1, len(values) + 1)
    return np.maximum(values - thresholds[np.flatnonzero(ordered > thresholds)[-1]], 0)


def check_optimal(scores: Floats, marginals: Floats, trees: Floats, tolerance: float = 1e-7) -> None:
    """A mean of trees is optimal if no tree gains more than the mean itself does."""
    gradient = np.where(np.isfinite(scores), scores, 0.0) - marginals
    gains = trees @ gradient.ravel()
    assert gains.max() <= (marginals * gradient).sum() + tolerance


@Classes
@pytest.mark.parametrize("spread", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_no_tree_improves_the_solution(projective: bool, single_root: bool, n: int, spread: float) -> None:
    scores = np.random.default_rng(n).normal(0, spread, (n + 1, n + 1))
    if n > 2:
        scores[2, 1] = -np.inf
    sparse = TreeCRF(torch.tensor(scores), projective=projective, single_root=single_root).sparse_map()
    trees = indicators(scores, projective, single_root)
    check_optimal(scores, sparse.marginals.numpy(), trees)
    assert isinstance(sparse.trees, torch.Tensor)
    assert sparse.weights.min() >= 0
    assert sparse.weights.sum().item() == pytest.approx(1, abs=1e-12)
    mean = np.zeros_like(scores)
    for heads, weight in zip(sparse.trees.tolist(), sparse.weights.tolist(), strict=True):
        mean[heads[1:], np.arange(1, n + 1)] += weight
    np.testing.assert_allclose(sparse.marginals.numpy(), mean, atol=1e-12)
    assert sparse.weights.tolist() == sorted(sparse.weights.tolist(), reverse=True)


@Classes
def test_the_solution_is_that_of_projected_gradients(projective: bool, single_root: bool) -> None:
    for seed in range(3):
        scores = np.random.default_rng(seed).normal(size=(5, 5))
        sparse = TreeCRF(torch.tensor(scores), projective=projective, single_root=single_root).sparse_map()
        expected = projected_gradient(scores, indicators(scores, projective, single_root))
        np.testing.assert_allclose(sparse.marginals.numpy(), expected, atol=1e-6)


@pytest.mark.parametrize("label_dim", [-3, -1])
@Classes
def test_labelled_solutions(projective: bool, single_root: bool, label_dim: int) -> None:
    scores = np.random.default_rng(4).normal(0, 0.7, (2, 4, 4))
    scores[0, 1, 2] = -np.inf
    tensor = torch.tensor(scores if label_dim == -3 else np.moveaxis(scores, 0, -1))
    crf = TreeCRF(tensor, projective=projective, single_root=single_root, labels=2, label_dim=label_dim)
    sparse = crf.sparse_map()
    marginals = sparse.marginals.numpy()
    assert isinstance(sparse.trees, Trees)
    check_optimal(
        scores,
        marginals if label_dim == -3 else np.moveaxis(marginals, -1, 0),
        indicators(scores, projective, single_root),
    )
    mean = np.zeros_like(scores)
    for heads, labels, weight in zip(*sparse.trees, sparse.weights.tolist(), strict=True):
        mean[labels[1:].numpy(), heads[1:].numpy(), np.arange(1, 4)] += weight
    np.testing.assert_allclose(
        marginals if label_dim == -3 else np.moveaxis(marginals, -1, 0), mean, atol=1e-12
    )


@Classes
@pytest.mark.parametrize("labelled", [False, True])
def test_gradients_are_finite_differences(projective: bool, single_root: bool, labelled: bool) -> None:
    shape = (2, 2, 4, 4) if labelled else (2, 4, 4)
    generator = torch.Generator().manual_seed(3)
    scores = torch.randn(shape, dtype=torch.float64, generator=generator).requires_grad_()

    def marginals(values: torch.Tensor) -> torch.Tensor:
        crf: TreeCRF = TreeCRF(
            values, [3, 2], projective=projective, single_root=single_root, labels=2 if labelled else None
        )
        return crf.sparse_map().marginals

    assert torch.autograd.gradcheck(marginals, scores)


@Classes
@pytest.mark.parametrize("labelled", [False, True])
def test_gradients_of_weights_are_finite_differences(
    projective: bool, single_root: bool, labelled: bool
) -> None:
    """In sentences so short that the trees with weight are unique: longer ones can exchange arcs, and
    rounding decides which of two pairs of trees with the same mean is active."""
    shape = (3, 3, 2, 2) if labelled else (3, 3, 3)
    lengths = [1, 1, 1] if labelled else [2, 2, 1]
    generator = torch.Generator().manual_seed(3)
    scores = (0.3 * torch.randn(shape, dtype=torch.float64, generator=generator)).requires_grad_()

    def weights(values: torch.Tensor) -> torch.Tensor:
        crf: TreeCRF = TreeCRF(
            values, lengths, projective=projective, single_root=single_root, labels=3 if labelled else None
        )
        return crf.sparse_map().weights

    assert len(weights(scores)) > 1
    assert torch.autograd.gradcheck(weights, scores)


@Classes
def test_a_batch_is_its_sentences(projective: bool, single_root: bool) -> None:
    generator = torch.Generator().manual_seed(5)
    scores = torch.randn(4, 6, 6, dtype=torch.float64, generator=generator)
    lengths = [5, 0, 2, 3]
    scores[3, :, 2] = -torch.inf  # no tree
    scores[2, 4:] = torch.nan  # padding
    crf = TreeCRF(scores, lengths, projective=projective, single_root=single_root)
    together = crf.sparse_map()
    for s, n in enumerate(lengths[:3]):
        alone = TreeCRF(
            scores[s, : n + 1, : n + 1], projective=projective, single_root=single_root
        ).sparse_map()
        torch.testing.assert_close(together.marginals[s, : n + 1, : n + 1], alone.marginals)
        assert together.weights[:, s].sum().item() == pytest.approx(1)
        assert not together.marginals[s, n + 1 :].any()
    assert not together.marginals[3].any()
    assert not together.weights[:, 3].any()


def test_constraints_and_large_scores() -> None:
    scores = np.random.default_rng(6).normal(size=(4, 4))
    known = Constraints(forbidden=[(0, 1)], subtrees=[(1, 2)])
    masked = scores.copy()
    masked[0, 1] = -np.inf
    trees = indicators(masked, True, True)
    trees = np.array(
        [tree for tree in trees if is_subtree(tree.reshape(4, 4).argmax(0).astype(np.int32), 1, 2)]
    )
    for shift in (0.0, 1e6):
        tensor = torch.tensor(scores + shift)
        crf = TreeCRF(tensor, projective=True, single_root=True, constraints=known)
        check_optimal(masked, crf.sparse_map().marginals.numpy(), trees, tolerance=1e-6)


def test_one_step_is_the_best_tree_and_float32_is_kept() -> None:
    scores = torch.randn(5, 5, generator=torch.Generator().manual_seed(0))
    crf = TreeCRF(scores, projective=False, single_root=True)
    sparse = crf.sparse_map(max_steps=0)
    assert isinstance(sparse.trees, torch.Tensor)
    assert sparse.trees.tolist() == [crf.best().tolist()]
    assert crf.sparse_map().marginals.dtype == torch.float32


@Classes
def test_trees_leave_again_and_the_best_tree_improves_nothing(projective: bool, single_root: bool) -> None:
    """Sentences long enough that trees enter and leave; the decoder says whether another one would gain."""
    options: dict[str, Any] = {"projective": projective, "single_root": single_root}
    scores = torch.randn(3, 26, 26, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    sparse = TreeCRF(scores, **options).sparse_map()
    assert sparse.weights.min() >= 0
    torch.testing.assert_close(sparse.weights.sum(0), torch.ones(3, dtype=torch.float64))
    gradient = scores - sparse.marginals
    step: TreeCRF = TreeCRF(gradient, **options)
    reached = torch.where(sparse.marginals > 0, sparse.marginals * gradient, 0.0).flatten(1).sum(1)
    assert (step.score(step.best()) <= reached + 1e-7).all()


# ---- perturb-and-MAP


@Classes
def test_perturbed_trees_follow_their_definition(projective: bool, single_root: bool) -> None:
    """How often each tree is best under Gumbel noise, by ours and by arithmetic over all trees."""
    scores = np.random.default_rng(8).normal(size=(3, 3))
    crf = TreeCRF(torch.tensor(scores), projective=projective, single_root=single_root)
    count = 20_000
    generator = torch.Generator().manual_seed(1)
    draws = crf.perturb_and_map((count,), generator=generator)
    heads = all_trees(2, projective=projective, single_root=single_root)
    trees = indicators(scores, projective, single_root)
    noise = np.random.default_rng(2).gumbel(size=(count, scores.size))
    expected = np.bincount(((scores.ravel() + noise) @ trees.T).argmax(1), minlength=len(trees)) / count
    shares = [(draws == torch.tensor(row)).all(-1).double().mean().item() for row in heads.tolist()]
    np.testing.assert_allclose(shares, expected, atol=0.02)
    assert sum(shares) == pytest.approx(1)


def test_one_word_with_labels_is_sampled_exactly() -> None:
    scores = torch.tensor([0.0, 1.0, 2.0])[:, None, None].expand(3, 2, 2)
    crf = TreeCRF(scores, projective=True, single_root=True, labels=3)
    labels = crf.perturb_and_map((20_000,), generator=torch.Generator().manual_seed(1)).labels[:, 1]
    shares = torch.bincount(labels, minlength=3) / len(labels)
    torch.testing.assert_close(shares, scores[:, 0, 0].softmax(0), atol=0.02, rtol=0)


def test_perturbed_trees_are_trees_with_shapes_of_samples() -> None:
    generator = torch.Generator().manual_seed(0)
    scores = torch.randn(2, 3, 2, 5, 5, generator=generator)
    scores[..., 3:, 1] = -torch.inf
    crf = TreeCRF(scores, projective=True, single_root=True, labels=["a", "b"])
    draws = crf.perturb_and_map((4, 2), generator=torch.Generator().manual_seed(7))
    assert draws.heads.shape == draws.labels.shape == crf.sample((4, 2)).heads.shape
    assert crf.support.check(draws).all()
    assert crf.log_prob(draws).isfinite().all()
    again = crf.perturb_and_map((4, 2), generator=torch.Generator().manual_seed(7))
    assert (again.heads == draws.heads).all()
    assert (again.labels == draws.labels).all()
    assert crf.perturb_and_map().heads.shape == (2, 3, 5)
