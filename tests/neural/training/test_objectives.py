"""What training makes small, against the definitions: sums over all trees, one by one, of scores made by the
slow twin of the network."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from arcwise.neural.network import Network
from arcwise.neural.objectives import joint_tag_loss, tag_losses
from neural.training.tiny import SENTENCES, WHOLE, Tiny, gradient, sentences
from reference.enumerate_trees import TREE_CLASSES, all_trees
from reference.sibling_value import sibling_value

Classes = pytest.mark.parametrize("projective, single_root", TREE_CLASSES)
Objectives = pytest.mark.parametrize(
    "objective", ["likelihood", "softmax-margin", "hinge", "risk", "head-by-head"]
)
NETWORKS: dict[str, dict[str, Any]] = {
    "labelled": {},
    "unlabelled": {"labelled": False},
    "clusters": {"clusters": 2},
}
Networks = pytest.mark.parametrize("options", NETWORKS.values(), ids=NETWORKS)


def by_definition(tiny: Tiny) -> np.ndarray:
    """The loss of each sentence: of all trees, their costs added, less that of those that agree with what is
    known."""
    found, starts = [], tiny.treebank.sentence_words
    labels = [
        tiny.labels.index(name) if name in tiny.labels else -1 for name in tiny.treebank.column("deprel")
    ]
    for s, ((arcs, log_p), siblings) in enumerate(zip(tiny.slow_scores(), tiny.slow_siblings(), strict=True)):
        words = slice(int(starts[s]), int(starts[s + 1]))
        known = list(tiny.treebank.heads[words]), labels[words]
        if tiny.config.objective == "head-by-head":
            found.append(_head_by_head(arcs, log_p, *known, tiny))
        else:
            found.append(_over_trees(arcs, log_p, siblings, *known, tiny))
    return np.array(found)


def _over_trees(
    arcs: np.ndarray,
    log_p: np.ndarray,
    siblings: np.ndarray,
    heads: list[int],
    labels: list[int],
    tiny: Tiny,
) -> float:
    config, n = tiny.config, len(heads)
    reduce = np.max if config.objective == "hinge" else _log_sum
    is_risk = config.objective == "risk"
    costs = config.objective != "likelihood"
    every, right, expected_costs = [], [], []
    for tree in all_trees(n, projective=config.projective, single_root=config.single_root):
        of_all = of_right = sibling_value(tree, siblings)
        expected_cost = 0.0
        for m in range(1, n + 1):
            states = arcs[tree[m], m] + log_p[tree[m], m]
            label_of_state = np.arange(len(states)) // config.clusters
            head, label = heads[m - 1], labels[m - 1]
            cost = np.zeros(len(states))
            if costs and head >= 0:
                cost += tree[m] != head
                if label >= 0:
                    cost += label_of_state != label
            of_all += reduce(states if is_risk else states + cost)
            expected_cost += np.exp(states - _log_sum(states)) @ cost
            agrees = (label_of_state == label) | (label < 0) | (not tiny.labels)
            of_right += reduce(states[agrees]) if head in (-1, tree[m]) else -np.inf
        every.append(of_all)
        right.append(of_right)
        expected_costs.append(expected_cost)
    if max(right) == -np.inf:
        return np.inf
    if is_risk:
        return float(np.exp(np.array(every) - _log_sum(np.array(every))) @ expected_costs)
    return float(reduce(np.array(every)) - reduce(np.array(right)))


def _head_by_head(
    arcs: np.ndarray, log_p: np.ndarray, heads: list[int], labels: list[int], tiny: Tiny
) -> float:
    total = 0.0
    for m, (head, label) in enumerate(zip(heads, labels, strict=True), start=1):
        if head >= 0:
            others = [arcs[h, m] for h in range(len(heads) + 1) if h != m]
            total += _log_sum(np.array(others)) - arcs[head, m]
            if label >= 0:
                of_label = log_p[head, m].reshape(-1, tiny.config.clusters)[label]
                total -= _log_sum(of_label)
    return total


def _log_sum(values: np.ndarray) -> float:
    top = values.max()
    return float(top + np.log(np.exp(values - top).sum())) if top > -np.inf else -np.inf


@Classes
@Objectives
@Networks
def test_losses_against_enumeration(
    options: dict[str, Any], objective: str, projective: bool, single_root: bool
) -> None:
    """All that may be known in one batch: labels of words without heads need the scores of all arcs."""
    chosen = {"objective": objective, "projective": projective, "single_root": single_root, **options}
    tiny = Tiny.of(sentences(), seed=2, **chosen)
    found = tiny.losses().detach().numpy()
    wanted = by_definition(tiny)
    assert (np.isinf(wanted) == np.isinf(found)).all()
    finite = np.isfinite(wanted)
    np.testing.assert_allclose(found[finite], wanted[finite], atol=1e-8)
    assert finite.sum() >= len(SENTENCES) - 2


@Objectives
@Networks
@pytest.mark.parametrize("names", [WHOLE, ("whole", "some heads", "heads without labels", "nothing known")])
def test_losses_where_labels_have_heads(
    options: dict[str, Any], objective: str, names: tuple[str, ...]
) -> None:
    """Then likelihood needs labels of right arcs alone: another way through the code."""
    tiny = Tiny.of(sentences(*names), seed=4, objective=objective, **options)
    assert tiny.data.heads_with_labels
    assert tiny.data.complete == (names == WHOLE)
    np.testing.assert_allclose(tiny.losses().detach().numpy(), by_definition(tiny), atol=1e-8)


@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize("names", [WHOLE, tuple(SENTENCES)], ids=["whole", "all"])
@Networks
def test_likelihood_with_siblings_against_enumeration(
    options: dict[str, Any], names: tuple[str, ...], single_root: bool
) -> None:
    """Unknown heads and labels are summed out of projective trees."""
    tiny = Tiny.of(sentences(*names), seed=2, order=2, sibling_size=5, single_root=single_root, **options)
    assert any(np.abs(siblings).max() > 0.3 for siblings in tiny.slow_siblings())
    found, wanted = tiny.losses().detach().numpy(), by_definition(tiny)
    assert (np.isinf(wanted) == np.isinf(found)).all()
    finite = np.isfinite(wanted)
    np.testing.assert_allclose(found[finite], wanted[finite], atol=1e-8)
    assert finite.sum() >= len(names) - 2


def test_with_siblings_a_sentence_without_a_right_tree_teaches_nothing() -> None:
    tiny = Tiny.of(sentences("crossing"), order=2)
    assert torch.isinf(tiny.losses()).all()
    _, slopes = gradient(tiny)
    assert all((slope == 0).all() for slope in slopes)


def test_gradients_with_siblings_are_finite_differences() -> None:
    test_gradients_are_finite_differences({"order": 2}, "likelihood", ("whole", "some heads"))


@Objectives
@Networks
@pytest.mark.parametrize("names", [WHOLE, ("whole", "some heads", "labels without heads")])
def test_gradients_are_finite_differences(
    options: dict[str, Any], objective: str, names: tuple[str, ...]
) -> None:
    tiny = Tiny.of(sentences(*names), seed=6, objective=objective, **options)
    parameters, slopes = gradient(tiny)
    random = torch.Generator().manual_seed(3)
    step = 1e-6
    for _ in range(4):
        direction = [torch.randn(p.shape, generator=random, dtype=p.dtype) for p in parameters]
        values = []
        for sign in (1, -1):
            with torch.no_grad():
                for p, d in zip(parameters, direction, strict=True):
                    p += sign * step * d
                values.append(float(tiny.losses().sum()))
                for p, d in zip(parameters, direction, strict=True):
                    p -= sign * step * d
        wanted = (values[0] - values[1]) / (2 * step)
        found = sum(float((s * d).sum()) for s, d in zip(slopes, direction, strict=True))
        assert found == pytest.approx(wanted, rel=1e-5, abs=1e-6)


@Objectives
def test_a_sentence_without_a_right_tree_teaches_nothing(objective: str) -> None:
    tiny = Tiny.of(sentences("crossing"), objective=objective, projective=True)
    assert torch.isinf(tiny.losses()).all() == (objective != "head-by-head")
    _, slopes = gradient(tiny)
    assert all(torch.isfinite(slope).all() for slope in slopes)
    if objective != "head-by-head":
        assert all((slope == 0).all() for slope in slopes)


@Objectives
@Networks
def test_the_loss_of_a_sentence_is_the_same_alone_and_in_a_batch(
    options: dict[str, Any], objective: str
) -> None:
    """Padding never matters."""
    tiny = Tiny.of(
        sentences(*(name for name in SENTENCES if name != "two roots")), objective=objective, **options
    )
    together = tiny.losses()
    for sentence in tiny.everything:
        torch.testing.assert_close(
            tiny.losses(np.array([sentence]))[0], together[sentence], atol=1e-10, rtol=0
        )
    back = tiny.losses(tiny.everything[::-1].copy())
    torch.testing.assert_close(back.flip(0), together, atol=1e-10, rtol=0)


@Networks
def test_what_is_in_other_sentences_has_no_gradient(options: dict[str, Any]) -> None:
    """The rows of words that a sentence does not have stay as they are."""
    tiny = Tiny.of(sentences("whole", "some heads"), objective="likelihood", **options)
    parameters, slopes = gradient(tiny, np.array([0]))
    table = next(i for i, p in enumerate(parameters) if p.shape == tuple(tiny.network.shape.tables[0]))
    seen = set(tiny.data.rows[: int(tiny.data.starts[1]), 0].tolist())
    for row in range(len(parameters[table])):
        assert (row in seen) or (slopes[table][row] == 0).all()


def test_tag_losses_are_cross_entropies() -> None:
    tiny = Tiny.of(sentences("whole", "one word", "crossing"), learns=("upos",))
    batch = tiny.data.batch(tiny.everything)
    hidden = tiny.network.hidden(tiny.data.rows[batch.positions], batch)
    (found,) = tag_losses(tiny.network, hidden, tiny.data, batch)
    slow, total = tiny.slow(), 0.0
    (codes,) = tiny.tags.codes(tiny.treebank)
    word = 0
    for rows in slow.rows(tiny.treebank):
        for shares in slow.classes(slow.states(rows), 0):
            total -= np.log(shares[codes[word]]) if codes[word] >= 0 else 0.0
            word += 1
    assert (codes < 0).any()  # one has a tag that the network does not know
    assert float(found.detach()) == pytest.approx(total, abs=1e-8)


def test_soft_tag_losses_are_weighted_cross_entropies() -> None:
    tiny = Tiny.of(sentences("whole", "one word"), learns=("upos",))
    positions = len(tiny.data.heads)
    codes = torch.tensor([[0, 2]] * positions, dtype=torch.int32)
    weights = torch.tensor([[0.25, 0.5]] * positions, dtype=torch.float16)
    codes[0, 1], weights[0, 1] = -1, 0
    batch = tiny.data.batch(tiny.everything)
    hidden = tiny.network.hidden(tiny.data.rows[batch.positions], batch)
    data = replace(tiny.data, soft_tags=((codes, weights),))
    (loss,), (gold,) = (tag_losses(tiny.network, hidden, each, batch) for each in (data, tiny.data))
    log_shares = tiny.network.tag_scores(hidden)[0].log_softmax(-1)
    expected = -(0.25 * log_shares[:, 0] + 0.5 * log_shares[:, 2]).sum()
    expected = expected + 0.5 * log_shares[(batch.positions == 0).nonzero().item(), 2]
    torch.testing.assert_close(loss - gold, expected)


@pytest.mark.parametrize("taught", [False, True])
def test_the_joint_tag_loss_is_the_sum_of_those_of_the_tags(taught: bool) -> None:
    tiny = Tiny.of(sentences("whole", "one word", "crossing"), learns=("upos",))
    (upos,) = tiny.data.tags
    data = replace(tiny.data, tags=(upos, upos % 3 - 1))
    if taught:
        values = torch.Generator().manual_seed(1)
        codes = [torch.randint(-1, 2, (len(upos), k), generator=values) for k in (3, 1)]
        soft = [(c, torch.rand(c.shape, generator=values).double() * (c >= 0)) for c in codes]
        data = replace(data, soft_tags=tuple(soft))
    network = Network(replace(tiny.network.shape, tags=(*tiny.network.shape.tags, 2))).double()
    torch.nn.init.normal_(network.tags[0].weight, std=30)  # probabilities close to 0 and 1
    batch = data.batch(tiny.everything)
    hidden = network.hidden(data.rows[batch.positions], batch)
    wanted = torch.stack(tag_losses(network, hidden, data, batch)).sum()
    joint = joint_tag_loss(network, hidden, data, batch)
    torch.testing.assert_close(joint, wanted)
    parameters = [hidden.states, *network.tags.parameters()]
    slopes = [torch.autograd.grad(loss, parameters, retain_graph=True) for loss in (joint, wanted)]
    for slope, wanted_slope in zip(*slopes, strict=True):
        torch.testing.assert_close(slope, wanted_slope)
