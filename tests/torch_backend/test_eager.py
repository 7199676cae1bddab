"""The short way of a call from the user's tensor to the kernels: taken where torch has nothing to see, and
never seen itself."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

from arcwise.torch import TreeCRF, operators
from arcwise.torch.eager import is_plain
from reference.enumerate_trees import TREE_CLASSES

ONE = {"projective": True, "single_root": True}
MEMORY = {"aten::empty", "aten::empty_like", "aten::empty_strided", "aten::new_empty"}


def scores_of(device: torch.device, *shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)).to(device)


def asked(scores: torch.Tensor, lengths: Any, projective: bool, single_root: bool) -> list[torch.Tensor]:
    trees = TreeCRF(scores, lengths, projective=projective, single_root=single_root)
    found = [trees.log_partition, trees.marginals, trees.best(), trees.minimum_risk()]
    if scores.requires_grad:
        found += torch.autograd.grad(trees.log_partition.sum() + trees.marginals.square().sum(), scores)
    return found


@pytest.mark.parametrize("projective, single_root", TREE_CLASSES)
@pytest.mark.parametrize("shape", [(4, 4), (3, 4, 4), (2, 2, 4, 4), (0, 4, 4), (2, 1, 1)])
@pytest.mark.parametrize("with_gradient", [False, True])
def test_both_ways_lead_to_the_same(
    device, projective: bool, single_root: bool, shape: tuple[int, ...], with_gradient: bool, monkeypatch
) -> None:
    scores = scores_of(device, *shape).requires_grad_(with_gradient)
    for lengths in (None, torch.full(shape[:-2], shape[-1] - 1, device=device)):
        short = asked(scores, lengths, projective, single_root)
        with monkeypatch.context() as patch:
            patch.setattr(operators, "is_plain", lambda tensor: False)
            long = asked(scores, lengths, projective, single_root)
        for one, other in zip(short, long, strict=True):
            assert one.shape == other.shape
            assert torch.equal(one, other)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("projective", [True, False])
def test_nothing_but_memory_is_asked_of_torch(dtype, projective: bool) -> None:
    scores = scores_of(torch.device("cpu"), 3, 5, 5).to(dtype)
    lengths = torch.tensor([4, 2, 3], dtype=torch.int32)

    def ask() -> None:
        for words in (None, lengths):
            trees = TreeCRF(scores, words, projective=projective, single_root=True)
            assert trees.marginals.shape == scores.shape
            assert trees.log_partition.shape == (3,)
            assert trees.best().shape == (3, 5)

    ask()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], acc_events=True) as seen:
        ask()
    assert {event.name for event in seen.events() if event.name.startswith("aten::")} <= MEMORY


def test_strides_that_are_not_those_of_the_kernels(device) -> None:
    scores = scores_of(device, 3, 4, 4)
    expected = asked(scores, [3, 2, 1], **ONE)
    lengths = torch.tensor([3, 0, 2, 0, 1], dtype=torch.int32, device=device)[::2]
    for other in (scores.mT.contiguous().mT, scores.repeat_interleave(2, 0)[::2]):
        assert not other.is_contiguous()
        for one, wanted in zip(asked(other, lengths, **ONE), expected, strict=True):
            assert torch.equal(one, wanted)


def test_a_tensor_whose_sign_is_to_be_changed(device) -> None:
    scores = scores_of(device, 3, 4, 4)
    other = torch.complex(scores, -scores).conj().imag
    assert other.is_neg()
    assert not is_plain(other)
    for one, wanted in zip(asked(other, None, **ONE), asked(scores, None, **ONE), strict=True):
        assert torch.equal(one, wanted)


# ---- what is kept from call to call


def test_lengths_that_are_handed_out_are_nobody_elses(device) -> None:
    scores = scores_of(device, 3, 4, 4)
    trees = TreeCRF(scores, **ONE)
    trees.lengths.zero_()
    given = torch.tensor([3, 2, 1], dtype=torch.int32, device=device)
    TreeCRF(scores, given, **ONE).lengths.zero_()
    assert given.tolist() == [3, 2, 1]
    assert TreeCRF(scores, **ONE).lengths.tolist() == [3, 3, 3]
    assert (TreeCRF(scores, **ONE).marginals.sum(1)[:, 1:] > 0.99).all()


def test_what_was_first_made_in_inference_mode_serves_a_gradient(device) -> None:
    scores = scores_of(device, 7, 4, 4).requires_grad_()
    with torch.inference_mode():
        expected = TreeCRF(scores, **ONE).marginals
    (gradient,) = torch.autograd.grad(TreeCRF(scores, **ONE).log_partition.sum(), scores)
    assert torch.equal(gradient, expected)


def test_what_was_asked_in_inference_mode_has_a_gradient_afterwards(device) -> None:
    scores = scores_of(device, 3, 2, 4, 4).requires_grad_()
    trees = TreeCRF(scores, labels=2, **ONE)
    with torch.inference_mode():
        expected, entropy = trees.label_marginals, trees.entropy()
    (gradient,) = torch.autograd.grad(trees.log_partition.sum(), scores)
    torch.testing.assert_close(gradient, expected)
    assert torch.equal(trees.entropy(), entropy)


def test_what_was_first_made_without_data_is_not_kept(device) -> None:
    with FakeTensorMode():
        fake = TreeCRF(torch.empty(9, 4, 4, device=device), **ONE)
        assert isinstance(fake.marginals, FakeTensor)
        assert isinstance(fake.best(), FakeTensor)
    trees = TreeCRF(scores_of(device, 9, 4, 4), **ONE)
    assert not isinstance(trees.lengths, FakeTensor)
    assert (trees.marginals.sum(1)[:, 1:] > 0.99).all()


# ---- who must see the operators


def test_a_tracer_sees_the_operators(device) -> None:
    scores = scores_of(device, 3, 4, 4)

    def ask(scores: torch.Tensor) -> torch.Tensor:
        return TreeCRF(scores, **ONE).marginals

    traced = make_fx(ask)(scores)
    assert "arcwise.marginals" in traced.code
    other = scores_of(device, 3, 4, 4, seed=1)
    assert torch.equal(traced(other), ask(other))


@pytest.mark.filterwarnings("ignore:There is a performance drop:UserWarning")
def test_under_vmap(device) -> None:
    scores = scores_of(device, 2, 3, 4, 4)

    def ask(scores: torch.Tensor) -> tuple[torch.Tensor, ...]:
        trees = TreeCRF(scores, **ONE)
        return trees.marginals, trees.log_partition, trees.best()

    for one, wanted in zip(torch.vmap(ask)(scores), ask(scores), strict=True):
        assert torch.equal(one, wanted)
