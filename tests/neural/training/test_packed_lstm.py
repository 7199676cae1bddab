"""The LSTM of training on the CPU is torch's own: values and gradients."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import PackedSequence

from arcwise.neural.packed_lstm import packed_lstm
from arcwise.neural.trainer import repeatable

COUNTS = {
    "one word": [1],
    "one sentence": [1, 1, 1, 1],
    "equal lengths": [5, 5, 5],
    "each its own length": [3, 3, 2, 1],
    "one that is far longer": [4, 1, 1, 1, 1, 1],
}


@pytest.mark.parametrize("counts", COUNTS.values(), ids=COUNTS)
def test_values_and_gradients_are_those_of_torch(counts: list[int]) -> None:
    torch.manual_seed(3)
    layer = nn.LSTM(7, 5, bidirectional=True).double()
    rows = torch.randn(sum(counts), 7, dtype=torch.double, requires_grad=True)
    weights = torch.randn(sum(counts), 10, dtype=torch.double)
    learned = [rows, *layer.parameters()]
    own = packed_lstm(layer, rows, counts)
    theirs = layer(PackedSequence(rows, torch.tensor(counts)))[0].data
    torch.testing.assert_close(own, theirs)
    gradients = (torch.autograd.grad((found * weights).sum(), learned) for found in (own, theirs))
    for of_own, of_theirs in zip(*gradients, strict=True):
        torch.testing.assert_close(of_own, of_theirs)


def test_gradients_are_finite_differences() -> None:
    torch.manual_seed(4)
    layer = nn.LSTM(3, 2, bidirectional=True).double()
    rows = torch.randn(6, 3, dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(lambda some: packed_lstm(layer, some, [3, 2, 1]), rows)


def test_no_sentence_sees_another() -> None:
    torch.manual_seed(5)
    layer = nn.LSTM(3, 2, bidirectional=True)
    rows = torch.randn(7, 3)  # three sentences, of 3, 3 and 1 words
    changed = rows.clone()
    changed[[0, 3, 5]] += 1  # all words of the first
    before, after = (packed_lstm(layer, some, [3, 2, 2]) for some in (rows, changed))
    assert (before[[1, 2, 4, 6]] == after[[1, 2, 4, 6]]).all()
    assert (before[[0, 3, 5]] != after[[0, 3, 5]]).any(1).all()


def test_products_in_bfloat16_are_close_to_those_of_torch() -> None:
    torch.manual_seed(6)
    layer = nn.LSTM(24, 16, bidirectional=True)
    rows = torch.randn(9, 24, requires_grad=True)
    weights = torch.randn(9, 32)
    learned = [rows, *layer.parameters()]
    with repeatable("cpu", seed=1):
        packed = packed_lstm(layer, rows, [3, 3, 2, 1])
        gradients = torch.autograd.grad((packed * weights).sum(), learned)
    expected = layer(PackedSequence(rows, torch.tensor([3, 3, 2, 1])))[0].data
    torch.testing.assert_close(packed, expected, rtol=0.02, atol=0.02)
    for gradient, of_torch in zip(
        gradients, torch.autograd.grad((expected * weights).sum(), learned), strict=True
    ):
        assert (gradient - of_torch).norm() <= 0.02 * of_torch.norm()


@pytest.mark.parametrize("supported", [True, False])
def test_training_multiplies_in_bfloat16_only_where_the_processor_does(
    monkeypatch: pytest.MonkeyPatch, supported: bool
) -> None:
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: supported)
    before = torch.get_float32_matmul_precision()
    with repeatable("cpu", seed=1):
        assert torch.get_float32_matmul_precision() == ("medium" if supported else before)
    assert torch.get_float32_matmul_precision() == before
