"""``TreeCRF.expected`` and ``covariance``: against numpy, batches, bad input, derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from arcwise import Constraints, TreeDistribution
from arcwise.errors import InputError
from arcwise.torch import TreeCRF
from reference.enumerate_trees import TREE_CLASSES

Classes = pytest.mark.parametrize("projective, single_root", TREE_CLASSES)
LENGTHS = [4, 1, 2]


def random_batch(shape: tuple[int, ...], device: torch.device, seed: int = 1) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, dtype=torch.float64, generator=generator).to(device)


@Classes
def test_moments_of_a_batch_are_those_of_its_sentences(
    device: torch.device, projective: bool, single_root: bool
) -> None:
    scores, f, g = random_batch((3, 3, 5, 5), device)
    scores[0, 3, 1] = -torch.inf
    scores[1, 3], f[1, 3], g[2, :, 4] = torch.nan, torch.nan, torch.nan  # padding is not read
    trees = TreeCRF(scores, LENGTHS, projective=projective, single_root=single_root)
    moments = trees.expected(f), trees.covariance(f, g), trees.covariance(f, f)
    for s, n in enumerate(LENGTHS):
        alone, *functions = (t[s, : n + 1, : n + 1].cpu().numpy() for t in (scores, f, g))
        sentence = TreeDistribution(alone, projective=projective, single_root=single_root)
        expected = sentence.expected(functions[0]), sentence.covariance(*functions)
        for moment, value in zip(moments, (*expected, sentence.variance(functions[0])), strict=True):
            assert moment[s].item() == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize("label_dim", [-3, -1])
@Classes
def test_labelled_moments(device: torch.device, projective: bool, single_root: bool, label_dim: int) -> None:
    scores, f, g = random_batch((3, 2, 4, 4), device)
    scores[0, 1, 2] = -torch.inf
    known = Constraints(forbidden=[(0, 1)])
    sentence = TreeDistribution(
        scores.cpu().numpy(),
        projective=projective,
        single_root=single_root,
        labels=["a", "b"],
        constraints=known,
    )

    def place(values: torch.Tensor) -> torch.Tensor:
        return values if label_dim == -3 else values.permute(1, 2, 0)

    trees = TreeCRF(
        place(scores),
        projective=projective,
        single_root=single_root,
        labels=2,
        label_dim=label_dim,
        constraints=known,
    )
    f_array, g_array = f.cpu().numpy(), g.cpu().numpy()
    assert trees.expected(place(f)).item() == pytest.approx(sentence.expected(f_array), abs=1e-9)
    of_both = trees.covariance(place(f), place(g)).item()
    assert of_both == pytest.approx(sentence.covariance(f_array, g_array), abs=1e-9)
    with_arcs = trees.covariance(place(f), g[0]).item()
    assert with_arcs == pytest.approx(sentence.covariance(f_array, g_array[0]), abs=1e-9)


def test_leading_dimensions_are_functions(device: torch.device) -> None:
    scores = random_batch((2, 3, 4, 4), device)
    functions = random_batch((5, 2, 3, 4, 4), device, seed=2)
    trees = TreeCRF(scores, projective=False, single_root=True)
    matrix = trees.covariance(functions[:, None], functions)
    assert matrix.shape == (5, 5, 2, 3)
    torch.testing.assert_close(matrix, matrix.transpose(0, 1))
    torch.testing.assert_close(matrix[1, 3], trees.covariance(functions[1], functions[3]))
    torch.testing.assert_close(trees.expected(functions)[4], trees.expected(functions[4]))


def test_float32_keeps_small_covariances(device: torch.device) -> None:
    scores, f, g = random_batch((3, 5, 5), device).float()
    options: dict[str, Any] = {"projective": True, "single_root": True}
    exact = TreeCRF(scores.double(), **options).covariance(f.double(), g.double())
    covariance = TreeCRF(scores, **options).covariance(f + 4096, g)
    assert covariance.dtype == torch.float32
    assert covariance.item() == pytest.approx(exact.item(), rel=1e-3)  # f + 4096 is rounded to 5e-4


def test_a_sentence_without_a_tree_has_no_moments(device: torch.device) -> None:
    scores = torch.zeros(2, 3, 3, device=device)
    scores[1, :, 2] = -torch.inf
    trees = TreeCRF(scores, projective=True, single_root=True)
    values = torch.ones_like(scores)
    assert trees.expected(values).tolist() == [2.0, pytest.approx(np.nan, nan_ok=True)]
    assert trees.covariance(values, values).tolist() == [0.0, pytest.approx(np.nan, nan_ok=True)]


def test_bad_values(device: torch.device) -> None:
    trees = TreeCRF(torch.zeros(2, 3, 3, device=device), projective=True, single_root=True)
    with pytest.raises(InputError, match=r"values: found shape \(3, 3\), expected \(…, 2, 3, 3\)"):
        trees.expected(torch.zeros(3, 3))
    with pytest.raises(InputError, match="second: found list, expected a tensor of real numbers"):
        trees.covariance(torch.zeros(2, 3, 3), [1.0])  # type: ignore[arg-type]


@pytest.mark.parametrize("labelled", [False, True])
@Classes
def test_gradients(device: torch.device, projective: bool, single_root: bool, labelled: bool) -> None:
    """Of expectations twice, of covariances once, by scores and functions."""
    shape = (2, 2, 4, 4) if labelled else (2, 4, 4)
    scores, f, g = (random_batch(shape, device, seed).requires_grad_() for seed in (1, 2, 3))
    options: dict[str, Any] = {
        "projective": projective,
        "single_root": single_root,
        "labels": 2 if labelled else None,
    }

    def make(values: torch.Tensor) -> TreeCRF:
        read = torch.eye(4, dtype=torch.bool, device=device).logical_not() & (
            torch.arange(4, device=device) > 0
        )
        return TreeCRF(values.where(read, 0.0), [3, 2], **options)

    def mean(scores: torch.Tensor, f: torch.Tensor) -> torch.Tensor:
        return make(scores).expected(f)

    def covariance(scores: torch.Tensor, f: torch.Tensor, g: torch.Tensor) -> torch.Tensor:
        return make(scores).covariance(f, g)

    assert torch.autograd.gradcheck(mean, (scores, f), fast_mode=True)
    assert torch.autograd.gradgradcheck(mean, (scores, f), fast_mode=True)
    assert torch.autograd.gradcheck(covariance, (scores, f, g), fast_mode=True)
