"""Losses over tensors are those of the native kernels (``Scores.loss``): values and gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from arcwise import Tree
from arcwise.errors import InputError
from arcwise.inference import Scores
from arcwise.torch import Trees, from_trees, hinge, log_likelihood, risk, softmax_margin
from inference.test_losses import GOLD, LABELS, by_enumeration
from reference.enumerate_trees import TREE_CLASSES

Classes = pytest.mark.parametrize("projective, single_root", TREE_CLASSES)
LOSSES = {"likelihood": log_likelihood, "softmax-margin": softmax_margin, "hinge": hinge, "risk": risk}
LABELS_ALONE = [
    Tree.from_heads(heads, labels)
    for heads in ([-1, 0, 2], [-1, -1, 2], [-1, -1, -1])
    for labels in (["subj", "root", "obj"], ["obj", "obj", "subj"], ["root", "_", "root"])
]
"""Labels are known of words whose heads are not."""
Losses = pytest.mark.parametrize("loss", LOSSES)


def value_and_gradient(
    loss: str, scores: np.ndarray, trees: list[Tree], device: torch.device, **options: Any
) -> tuple[np.ndarray, np.ndarray]:
    is_labelled = scores.ndim == 4
    known = from_trees(trees, LABELS if is_labelled else None, size=scores.shape[-1], device=device)
    heads, labels = known if isinstance(known, Trees) else (known, None)
    last = options.get("label_dim") == -1
    tensor = torch.tensor(np.moveaxis(scores, 1, -1) if last else scores, device=device, requires_grad=True)
    value = LOSSES[loss](tensor, heads, labels, **options)
    (gradient,) = torch.autograd.grad(value.sum(), tensor)
    found = gradient.cpu().numpy()
    return value.detach().cpu().numpy(), np.moveaxis(found, -1, 1) if last else found


@Classes
@Losses
@pytest.mark.parametrize("label_dim", [None, -3, -1])
def test_they_are_the_native_ones(device, projective, single_root, loss, label_dim) -> None:
    """All kinds of knowledge in one batch, sentences of several lengths, nan in the padding."""
    rng = np.random.default_rng(1)
    trees = [
        *GOLD.values(),
        Tree.from_heads([0]),
        Tree.from_heads([2, 0, 2, 3]),
        Tree.from_heads([-1, -1, 1]),
        *LABELS_ALONE,
    ]
    lengths = [len(tree) for tree in trees]
    shape = (len(trees), 5, 5) if label_dim is None else (len(trees), 3, 5, 5)
    scores = np.full(shape, np.nan)
    for s, n in enumerate(lengths):
        scores[s, ..., : n + 1, : n + 1] = rng.normal(0, 1.5, (*shape[1:-2], n + 1, n + 1))
    batch = Scores.dense(
        [own[..., : n + 1, : n + 1] for own, n in zip(scores, lengths, strict=True)],
        LABELS if label_dim else (),
    )
    options = {"projective": projective, "single_root": single_root}
    wanted, gradients = batch.loss(loss, trees, **options)
    values, gradient = value_and_gradient(
        loss, scores, trees, device, lengths=lengths, label_dim=label_dim, **options
    )
    np.testing.assert_allclose(values, wanted, rtol=1e-11, atol=1e-10)
    for s, n in enumerate(lengths):
        np.testing.assert_allclose(gradient[s, ..., : n + 1, : n + 1], gradients[s], atol=1e-10)
        assert not gradient[s, ..., n + 1 :, :].any()
        assert not gradient[s, ..., :, n + 1 :].any()


@Classes
@Losses
@pytest.mark.parametrize("known", GOLD)
def test_latent_states_by_enumeration(device, projective, single_root, loss, known) -> None:
    """Five states, two of them clusters of each of the first two labels: as if every labelled tree came in
    each of its clusters."""
    rng = np.random.default_rng(2)
    states = [0, 1, 2, 1, 0]
    scores = rng.normal(0, 1.5, (1, 5, 4, 4))
    by = np.max if loss == "hinge" else np.logaddexp.reduce
    by_label = np.stack([by(scores[0, [s for s in range(5) if states[s] == k]], axis=0) for k in range(3)])
    wanted = by_enumeration(loss, by_label, GOLD[known], projective=projective, single_root=single_root)
    values, _ = value_and_gradient(
        loss,
        scores,
        [GOLD[known]],
        device,
        projective=projective,
        single_root=single_root,
        label_dim=-3,
        label_of_state=states,
    )
    assert values[0] == pytest.approx(wanted, abs=1e-9)


@Losses
@pytest.mark.parametrize(
    "heads, projective, single_root",
    [([2, 0], True, True), ([0, 0], False, True), ([3, 4, 0, 3], True, False), ([2, 1], False, False)],
    ids=["a forbidden arc", "two roots", "crossing", "a cycle"],
)
def test_no_tree_that_agrees_means_infinity_and_no_gradient(
    device, loss, heads, projective, single_root
) -> None:
    n = len(heads)
    scores = np.zeros((2, n + 1, n + 1))
    scores[0, 2, 1] = -np.inf
    right = [0, *range(1, n)]
    heads_of = torch.tensor([[-1, *heads], [-1, *right]], device=device)
    tensor = torch.tensor(scores, device=device, requires_grad=True)
    value = LOSSES[loss](tensor, heads_of, projective=projective, single_root=single_root)
    (gradient,) = torch.autograd.grad(value.sum(), tensor)
    assert value[0] == torch.inf
    assert value[1].isfinite()
    assert not gradient[0].any()
    assert gradient[1].any()


@Losses
def test_single_precision(device, loss) -> None:
    """float32 and half: as close to float64 as the scores themselves are."""
    rng = np.random.default_rng(3)
    scores = rng.normal(0, 3, (2, 3, 4, 4))
    known = from_trees([GOLD["whole"], GOLD["partial"]], LABELS, device=device)
    options = {"projective": True, "single_root": True, "label_dim": -3}
    for dtype, tolerance in ((torch.float32, 1e-5), (torch.float16, 1e-5), (torch.bfloat16, 1e-5)):
        rounded = torch.tensor(scores, dtype=dtype, device=device)
        wanted = LOSSES[loss](rounded.double(), *known, **options)
        found = LOSSES[loss](rounded, *known, **options)
        assert found.dtype == torch.float32
        assert (found - wanted).abs().max() < tolerance


def test_bad_input_is_named(device) -> None:
    scores, heads = torch.zeros(2, 3, 3, device=device), torch.tensor([[-1, 2, 0], [-1, 0, 1]], device=device)
    options = {"projective": True, "single_root": True}
    with pytest.raises(InputError, match=r"heads: found shape \(3,\) of torch.int64, expected .* \(2, 3\)"):
        log_likelihood(scores, heads[0], **options)
    with pytest.raises(InputError, match="labels: found a tensor, but no label_dim"):
        log_likelihood(scores, heads, heads, **options)
    with pytest.raises(InputError, match="scores: found list"):
        hinge([[0.0]], heads, **options)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"label_of_state: found \[0, 5\]"):
        TWO = torch.zeros(2, 2, 3, 3, device=device)
        from arcwise.torch import TreeCRF

        TreeCRF(TWO, labels=2, label_of_state=[0, 5], **options)
