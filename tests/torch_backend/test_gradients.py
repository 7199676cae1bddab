"""Derivatives of everything that has them, against finite differences: once and twice, with padding, holes,
labels, partial trees."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck

from arcwise import Constraints
from arcwise.torch import TreeCRF, Trees, hinge, log_likelihood, risk, softmax_margin
from reference.enumerate_trees import TREE_CLASSES

Classes = pytest.mark.parametrize("projective, single_root", TREE_CLASSES)
LENGTHS = [3, 1, 0, 2]
HEADS = torch.tensor([[-1, 2, 0, 2], [-1, 0, -1, -1], [-1, -1, -1, -1], [-1, -1, 1, -1]])
"""The last is partial."""
NAMES = torch.tensor([[-1, 1, 0, -1], [-1, 0, -1, -1], [-1, -1, -1, -1], [-1, 1, 1, -1]])


def plain(device: torch.device) -> torch.Tensor:
    """Scores of four sentences of 3, 1, 0 and 2 words, some of them forbidden."""
    scores = torch.randn((4, 4, 4), dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    scores[0, 3, 1] = -torch.inf
    return scores.to(device)


def labelled(device: torch.device) -> torch.Tensor:
    """The same with two labels; all labels of one arc are forbidden, and one of another."""
    scores = torch.randn((4, 2, 4, 4), dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    scores[0, :, 3, 1] = -torch.inf
    scores[0, 0, 1, 2] = -torch.inf
    return scores.to(device)


def read_places(device: torch.device) -> torch.Tensor:
    """(4, 1, 4, 4): where scores are read."""
    read = torch.zeros(4, 1, 4, 4, dtype=torch.bool, device=device)
    for s, n in enumerate(LENGTHS):
        read[s, 0, : n + 1, 1 : n + 1] = ~torch.eye(n + 1, dtype=torch.bool, device=device)[:, 1:]
    return read


def check(function: Callable[[torch.Tensor], torch.Tensor], scores: torch.Tensor) -> None:
    """Both derivatives by the scores that are read and finite."""
    read = read_places(scores.device)
    places = (read if scores.ndim == 4 else read[:, 0]).expand_as(scores) & scores.isfinite()

    def of_places(values: torch.Tensor) -> torch.Tensor:
        return function(scores.masked_scatter(places, values))

    values = scores[places].requires_grad_()
    assert gradcheck(of_places, values)
    answer = of_places(values)
    outer = torch.ones_like(answer)
    once = torch.autograd.grad(answer, values, outer, retain_graph=True)
    again = torch.autograd.grad(answer, values, outer, create_graph=True)  # what gradgradcheck differentiates
    torch.testing.assert_close(once, again)
    assert gradgradcheck(of_places, values)


@pytest.mark.slow
@Classes
@pytest.mark.parametrize(
    "name, ask",
    [
        ("log_partition", lambda trees, other, heads: trees.log_partition),
        ("marginals", lambda trees, other, heads: trees.marginals),
        ("log_prob", lambda trees, other, heads: trees.log_prob(heads)),
        ("entropy", lambda trees, other, heads: trees.entropy()),
        ("kl", lambda trees, other, heads: trees.kl(other)),
        ("kl of the other", lambda trees, other, heads: other.kl(trees)),
        ("cross_entropy", lambda trees, other, heads: trees.cross_entropy(other)),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_derivatives(device: torch.device, projective: bool, single_root: bool, name: str, ask: Any) -> None:
    scores = plain(device)
    others = (scores * 0.5).cos().where(scores.isfinite(), -torch.inf)

    def make(values: torch.Tensor) -> TreeCRF:
        return TreeCRF(values, LENGTHS, projective=projective, single_root=single_root)

    check(lambda values: ask(make(values), make(others), HEADS.to(device)), scores)


@pytest.mark.slow
@pytest.mark.parametrize("projective, single_root", [(True, True), (False, False)])
@pytest.mark.parametrize("label_dim", [-3, -1])
@pytest.mark.parametrize(
    "name, ask",
    [
        ("log_partition", lambda trees, other, known: trees.log_partition),
        ("marginals", lambda trees, other, known: trees.marginals),
        ("label_marginals", lambda trees, other, known: trees.label_marginals),
        ("log_prob", lambda trees, other, known: trees.log_prob(known)),
        ("entropy", lambda trees, other, known: trees.entropy()),
        ("head_entropy", lambda trees, other, known: trees.head_entropy()),
        ("kl", lambda trees, other, known: trees.kl(other)),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_labelled_derivatives(
    device: torch.device, projective: bool, single_root: bool, label_dim: int, name: str, ask: Any
) -> None:
    scores = labelled(device)
    others = (scores * 0.5).cos().where(scores.isfinite(), -torch.inf)
    known = Trees(HEADS.to(device), NAMES.to(device))

    def make(values: torch.Tensor) -> TreeCRF:
        if label_dim == -1:
            values = values.permute(0, 2, 3, 1)
        return TreeCRF(
            values, LENGTHS, projective=projective, single_root=single_root, labels=2, label_dim=label_dim
        )

    check(lambda values: ask(make(values), make(others), known), scores)


@pytest.mark.slow
def test_derivatives_under_constraints(device: torch.device) -> None:
    known = [Constraints(subtrees=[(1, 2)], forbidden=[(0, 1)]), None, None, Constraints(required=[(0, 1)])]

    heads = HEADS.clone().to(device)
    heads[0] = torch.tensor([-1, 2, 3, 0])

    def make(values: torch.Tensor) -> TreeCRF:
        return TreeCRF(values, LENGTHS, projective=True, single_root=True, constraints=known)

    for ask in (
        lambda values: make(values).entropy(),
        lambda values: make(values).marginals,
        lambda values: make(values).log_prob(heads),
    ):
        check(ask, plain(device))


@pytest.mark.slow
@pytest.mark.parametrize("loss", [log_likelihood, softmax_margin, hinge, risk])
@pytest.mark.parametrize("states", [None, [0, 1, 1]])
def test_derivatives_of_losses(device: torch.device, loss: Any, states: list[int] | None) -> None:
    scores = labelled(device)
    if states:
        scores = torch.cat([scores, scores[:, 1:] * 0.7], dim=1)

    def ask(values: torch.Tensor) -> torch.Tensor:
        return loss(
            values,
            HEADS.to(device),
            NAMES.to(device),
            LENGTHS,
            projective=False,
            single_root=True,
            label_dim=-3,
            label_of_state=states,
        )

    check(ask, scores)


@Classes
def test_the_third_derivative_of_log_z_is_there_and_the_fourth_says_that_it_is_not(
    device: torch.device, projective: bool, single_root: bool
) -> None:
    scores = plain(device)[:1].requires_grad_()
    log_z = TreeCRF(scores, projective=projective, single_root=single_root).log_partition.sum()
    step = 0.1 * torch.ones_like(scores).cumsum(-1)

    def along(value: torch.Tensor) -> torch.Tensor:
        return (torch.autograd.grad(value, scores, create_graph=True)[0] * step).sum()

    third = along(along(along(log_z)))
    assert third.isfinite()
    with pytest.raises(NotImplementedError, match="fourth derivative"):
        along(third)


def test_gradients_are_zero_in_padding_and_where_arcs_are_forbidden(device: torch.device) -> None:
    """Whatever stands there; also where no arc of a word is left, and in sentences without a tree."""
    scores = labelled(device)
    read = read_places(device)
    scores = torch.where(read, scores, torch.nan)
    scores[1, :, 0, 1] = -torch.inf  # the only tree of sentence 1
    scores.requires_grad_()
    known = Trees(HEADS.to(device), NAMES.to(device))
    trees = TreeCRF(scores, LENGTHS, projective=True, single_root=True, labels=2)
    for value in (
        trees.log_partition[[0, 2, 3]],
        trees.label_marginals.square(),
        trees.entropy()[[0, 2, 3]],
        trees.log_prob(known)[[0, 2, 3]],
        trees.kl(trees.given(torch.ones(4, 4, dtype=torch.bool, device=device)))[[0, 2, 3]],
    ):
        (gradient,) = torch.autograd.grad(value.sum(), scores, create_graph=True)
        (second,) = torch.autograd.grad(gradient.square().sum(), scores, retain_graph=True)
        for found in (gradient, second):
            assert found.isfinite().all()
            assert not found[~(read & scores.isfinite())].any()
    assert trees.log_partition[1] == -torch.inf
    assert trees.log_prob(known)[1] == -torch.inf
    assert not trees.marginals[1].any()
