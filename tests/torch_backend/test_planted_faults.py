"""Faults planted in the layer are caught: each by the check that is named beside it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
import torch

from arcwise.errors import ArcwiseError
from arcwise.torch.backends import override_backend
from arcwise.torch.cpu import CpuBackend
from faults.python_faults import planted
from torch_backend import (
    test_contract,
    test_gradients,
    test_layer,
    test_moments,
    test_sparse_map,
    test_tensor_losses,
)
from torch_backend.devices import using
from torch_backend.implementations import TensorTrees


@dataclass(frozen=True)
class Fault:
    """In a function of arcwise.torch ``old`` is replaced by ``new``; the check must then fail."""

    function: str
    old: str
    new: str
    check: Callable[[torch.device], object]


CLASS = {"projective": False, "single_root": True}


def contract(test: Callable[..., None], **options: Any) -> Callable[[torch.device], object]:
    return lambda device: test(partial(TensorTrees, device=device), **CLASS, **options)


def derivative(name: str) -> Callable[[torch.device], object]:
    marks = test_gradients.test_derivatives.pytestmark  # type: ignore[attr-defined]
    asks = dict(next(mark.args[1] for mark in marks if mark.args[0] == "name, ask"))
    return lambda device: test_gradients.test_derivatives(device, **CLASS, name=name, ask=asks[name])


def loss(name: str, label_dim: int | None = None) -> Callable[[torch.device], object]:
    return lambda device: test_tensor_losses.test_they_are_the_native_ones(
        device, **CLASS, loss=name, label_dim=label_dim
    )


def no_tree(loss: str) -> Callable[[torch.device], object]:
    return lambda device: test_tensor_losses.test_no_tree_that_agrees_means_infinity_and_no_gradient(
        device, loss, [0, 0], False, True
    )


def no_tree_improves(device: torch.device) -> None:
    for words, spread in ((4, 0.1), (4, 1.0), (5, 1.0)):
        test_sparse_map.test_no_tree_improves_the_solution(**CLASS, n=words, spread=spread)


def trees_leave(device: torch.device) -> None:
    with override_backend("cpu", CpuBackend()):  # too long for enumeration
        test_sparse_map.test_trees_leave_again_and_the_best_tree_improves_nothing(**CLASS)


def sparse_gradients(device: torch.device) -> None:
    test_sparse_map.test_gradients_are_finite_differences(**CLASS, labelled=False)


def perturbed_labels(device: torch.device) -> None:
    test_sparse_map.test_one_word_with_labels_is_sampled_exactly()


LABELLED_MOMENTS = partial(test_moments.test_labelled_moments, **CLASS, label_dim=-3)
ENUMERATION = contract(test_contract.test_every_operation_against_enumeration, spread=1.0, holes=0.25)
LABELLED = contract(test_contract.test_every_labelled_operation, spread=1.0, holes=0.4, label_dim=-3)
LABELS_LAST = contract(test_contract.test_every_labelled_operation, spread=1.0, holes=0.4, label_dim=-1)
KL = contract(test_contract.test_entropy_and_kl)
LABELLED_KL = contract(test_contract.test_labelled_kl)
CONSTRAINED = contract(test_contract.test_every_operation_under_constraints)
SAMPLES = contract(test_contract.test_samples_have_the_probabilities_of_trees)
PADDING = test_layer.test_sentences_of_all_lengths_and_garbage_in_the_padding
PADDED_GRADIENT = test_gradients.test_gradients_are_zero_in_padding_and_where_arcs_are_forbidden
PRECISION = test_layer.test_a_small_probability_beside_a_large_sum


def latent(device: torch.device) -> None:
    for known in test_tensor_losses.GOLD:
        test_tensor_losses.test_latent_states_by_enumeration(device, **CLASS, loss="likelihood", known=known)


FAULTS = [
    Fault("operators._Marginals.backward", "of_log_z[:, None, None] * arcs", "-of_log_z[:, None, None] * "
        "arcs", derivative("log_partition")),
    Fault("operators._Marginals.backward", "gradient + step", "step", derivative("entropy")),
    Fault("operators._MarginalsJvp.backward", "_MarginalsSecondDerivative.apply(direction, gradient, "
        "*parts)", "-_MarginalsSecondDerivative.apply(direction, gradient, *parts)", derivative("marginals")),
    Fault("operators._MarginalsJvp.backward", "by_direction = _MarginalsJvp.apply(gradient, "
        "*parts)", "by_direction = 2 * _MarginalsJvp.apply(gradient, *parts)", derivative("entropy")),
    Fault("label_sums.log_label_probs", "torch.where(below <= 0, below, "
        "MINUS_INFINITY)", "below", PADDED_GRADIENT),
    Fault("label_sums._LogSum.backward", "torch.softmax(scores, ctx.dim)", "torch.ones_like(scores)", lambda device: test_gradients.test_derivatives_of_losses(device, test_gradients.log_likelihood, None)),
    Fault("label_sums._LogSum.backward", "log_label_probs(scores, total, "
        "ctx.dim).exp()", "torch.ones_like(scores)", lambda device: test_gradients.test_derivatives_of_losses(device, test_gradients.log_likelihood, None)),
    Fault("label_sums.weighted", "torch.where(weights > 0, values, 0.0)", "values", LABELLED),
    Fault("label_sums.group_states", "MINUS_INFINITY", "0.0", latent),
    Fault("distribution._expected", "torch.where(counted, values, 0.0)", "values", PADDING),
    Fault("distribution.TreeCRF.entropy", "-weighted(", "weighted(", LABELLED),
    Fault("distribution.TreeCRF.kl", "q.wide_log_partition() - log_z", "log_z - q.wide_log_partition()", KL),
    Fault("distribution.TreeCRF.kl", "torch.where(ruled_out.flatten(1).any(1), INFINITY, "
        "total.clamp(min=0.0))", "total.clamp(min=0.0)", KL),
    Fault("distribution.TreeCRF.kl", "ruled_out | ((arcs > 0) & "
        "label_out.any(dim))", "ruled_out", LABELLED_KL),
    Fault("distribution.TreeCRF.minimum_risk", "self._scores.marginals()", "self._scores.best_arcs", contract(test_contract.test_minimum_risk_where_it_is_not_the_best_tree)),
    Fault("distribution.TreeCRF.minimum_labelled_risk", "gains = batch.marginals() *", "gains =", LABELLED),
    Fault("distribution.TreeCRF._trees", "scores + gumbel_noise(scores, generator)", "scores", SAMPLES),
    Fault("distribution.TreeCRF._trees", "scores + gumbel_noise(scores, generator)", "scores - gumbel_noise(scores, generator)", test_layer.test_labels_of_samples),
    Fault("score_tensors.ScoreTensors.log_weights", "operators.are_trees(heads, self.lengths, "
        "self.trees)", "(heads > -2).all(-1)", contract(test_contract.test_a_tree_of_another_class_has_probability_zero)),
    Fault("score_tensors.ScoreTensors.log_weights", "if self.spans:", "if False:", lambda device: test_contract.test_every_operation_under_constraints(partial(TensorTrees, device=device), projective=True, single_root=True)),
    Fault("score_tensors.ScoreTensors.known_arcs", "(heads[:, :, None] < 0) |", "", ENUMERATION),
    Fault("score_tensors.ScoreTensors.known_arcs", "codes.transpose(1, 2)[:, None]", "codes.transpose(1, "
        "2)[:, None].flip(2)", LABELS_LAST),
    Fault("score_tensors.ScoreTensors.places", "codes * self.size**2 + arc", "codes * self.size + arc", LABELLED),
    Fault("score_tensors.ScoreTensors.tree_arcs", "if with_all:", "if False:", loss("likelihood", -3)),
    Fault("score_tensors.ScoreTensors._wide", "(self.arcs.double(), \"wide sums\")", "(self.arcs, \"sums\")", PRECISION),
    Fault("constraint_masks.apply_constraints", "~mask", "mask", CONSTRAINED),
    Fault("constraint_masks._mask", "tensor.permute(0, 2, 3, 1)", "tensor.permute(0, 3, 2, 1)", test_layer.test_masks),
    Fault("losses._Gold.costs", "costs = costs + (wrong", "costs = costs + 0 * (wrong", loss("softmax-margin", -3)),
    Fault("losses._Gold.costs", "(is_known & (self.heads.transpose(1, 2) != "
        "rows))", "(self.heads.transpose(1, 2) != rows)", loss("hinge")),
    Fault("losses._Gold.costs", "(is_known & (of_word >= 0) &", "((of_word >= 0) &", loss("softmax-margin", -1)),
    Fault("losses._Gold.loss", "torch.where(impossible, INFINITY, margin)", "margin", no_tree("hinge")),
    Fault("losses._Gold.best_gold_score", "self.heads, self.labels)[:, 0]", "self.heads, None)[:, 0]", loss("hinge", -3)),
    Fault("losses.softmax_margin", "gold.with_costs()", "gold.scores", loss("softmax-margin")),
    Fault("losses.hinge", "gold.with_costs()", "gold.scores", loss("hinge")),
    Fault("losses.risk", "torch.where(impossible, INFINITY, expected)", "expected", no_tree("risk")),
    Fault("moments.TreeMoments._arc_covariances", "slopes.unsqueeze(2) + ", "", LABELLED_MOMENTS),
    Fault("moments.TreeMoments._arc_covariances", "(functions - means.unsqueeze(2))", "0", LABELLED_MOMENTS),
    Fault("moments.TreeMoments._per_sentence", "torch.where(log_z > MINUS_INFINITY, products.sum((-3, -2, -1)), "
        "torch.nan)", "products.sum((-3, -2, -1))", test_moments.test_a_sentence_without_a_tree_has_no_moments),
    Fault("active_set.ActiveSet.add", "below = optimum < 0", "below = optimum < -1", trees_leave),
    Fault("active_set.ActiveSet.improves", "threshold + tolerance", "threshold + 0.1", no_tree_improves),
    Fault("active_set.ActiveSet.jacobian", "np.linalg.inv(self._kkt())[:-1, :-1]", "np.linalg.inv(self._shared)", sparse_gradients),
    Fault("perturbation.gumbel_noise", "-noise.log()", "noise.log()", perturbed_labels),
]  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f"{f.function}: {f.old[:40]}")
def test_a_fault_is_caught(fault: Fault) -> None:
    caught = (AssertionError, ArcwiseError, RuntimeError, pytest.fail.Exception)
    module, _, function = fault.function.partition(".")
    planting = planted(f"arcwise.torch.{module}", function, fault.old, fault.new)
    with using("enumeration") as device, planting, pytest.raises(caught):
        fault.check(device)


def test_nothing_is_caught_without_a_fault() -> None:
    for check in {fault.check for fault in FAULTS}:
        with using("enumeration") as device:
            check(device)
