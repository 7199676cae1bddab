"""The network of training is the network that parses: arcs, labels, tags, from the same weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from arcwise.neural import NeuralModel, NeuralParser
from arcwise.neural.network import Network
from arcwise.neural.second_order import arc_scores
from arcwise.parsing import Decoding
from contracts.small_treebank import small_treebank
from neural.random_models import random_arrays
from neural.training.tiny import Tiny, sentences

NETWORKS: dict[str, dict[str, Any]] = {
    "labelled": {},
    "unlabelled": {"labelled": False},
    "clusters": {"clusters": 3},
    "one layer": {"layers": 1},
    "tags": {"learns": ("upos",)},
    "siblings": {"order": 2, "sibling_size": 5},
    "siblings, unlabelled": {"order": 2, "labelled": False},
    "three layers": {"layers": 3, "hidden": 5, "inputs": ("form", "prefix1", "upos", "xpos")},
}


@pytest.fixture(params=NETWORKS.values(), ids=NETWORKS)
def tiny(request: pytest.FixtureRequest) -> Tiny:
    return Tiny.of(small_treebank(crossing=True), seed=3, **request.param)


def by_torch(tiny: Tiny) -> list[np.ndarray]:
    """Of each sentence the scores of arcs in their states, (n+1, n+1, states)."""
    found: list[np.ndarray] = [np.empty(0)] * len(tiny.treebank)
    batch = tiny.data.batch(tiny.everything)
    order = np.argsort(-tiny.data.lengths, kind="stable")
    with torch.no_grad():
        hidden = tiny.network.hidden(tiny.data.rows[batch.positions], batch)
        arcs = arc_scores(tiny.network, hidden, batch, single_root=True)[..., None]
        scores = arcs + tiny.network.all_label_scores(hidden) if tiny.labels else arcs
    for place, sentence in enumerate(order):
        n = int(tiny.data.lengths[sentence])
        found[sentence] = scores[place, : n + 1, : n + 1].numpy()
    return found


def model_of(tiny: Tiny) -> NeuralModel:
    members = (tiny.network.arrays(),)
    decoding = Decoding("map", False, True)
    floats = tuple({name: values.astype(np.float32) for name, values in own.items()} for own in members)
    return NeuralModel(tiny.config, tiny.inputs, tiny.labels, tiny.tags, floats, decoding)


def words_and_heads(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Heads and words of all arcs that count."""
    heads, words = np.nonzero(~np.eye(n + 1, dtype=bool) & (np.arange(n + 1) > 0)[None])
    return heads, words


def test_scores_are_those_of_native_code(tiny: Tiny) -> None:
    parser = NeuralParser(model_of(tiny))
    native = parser.scorer.scores(tiny.treebank, trees=parser.decoding.trees).dense_arrays()
    for states, dense in zip(by_torch(tiny), native, strict=True):
        own = dense if dense.ndim == 3 else dense[None]
        by_label = states.reshape(*states.shape[:2], own.shape[0], -1)
        wanted = np.log(np.exp(by_label).sum(-1))
        at = words_and_heads(len(states) - 1)
        np.testing.assert_allclose(np.moveaxis(own, 0, -1)[at], wanted[at], atol=1e-4)


def test_scores_are_those_of_the_slow_twin(tiny: Tiny) -> None:
    slow = tiny.slow()
    for states, rows in zip(by_torch(tiny), slow.rows(tiny.treebank), strict=True):
        at = words_and_heads(len(states) - 1)
        np.testing.assert_allclose(states[at], slow.scores(slow.states(rows))[at], atol=1e-9)


def test_scores_of_siblings_are_those_of_the_slow_twin() -> None:
    tiny = Tiny.of(small_treebank(crossing=True), seed=3, order=2)
    batch = tiny.data.batch(tiny.everything)
    with torch.no_grad():
        scores = tiny.network.siblings(tiny.network.hidden(tiny.data.rows[batch.positions], batch)).numpy()
    order = np.argsort(-tiny.data.lengths, kind="stable")
    slow = tiny.slow_siblings()
    for place, sentence in enumerate(order):
        wanted = slow[sentence]
        size, used = len(wanted), wanted != 0
        assert used.sum() >= size * (size - 1) ** 2 / 3
        np.testing.assert_allclose(scores[place, :size, :size, :size][used], wanted[used], atol=1e-9)


def test_labels_of_chosen_heads_are_those_of_all_arcs(tiny: Tiny) -> None:
    if not tiny.labels:
        return
    batch = tiny.data.batch(tiny.everything)
    hidden = tiny.network.hidden(tiny.data.rows[batch.positions], batch)
    every = tiny.network.all_label_scores(hidden)
    width = batch.width
    for head in range(width):
        heads = torch.full((batch.size, width), head)
        own = tiny.network.label_scores(hidden, heads)
        torch.testing.assert_close(own, every[:, head])


def test_tags_are_those_of_native_code() -> None:
    tiny = Tiny.of(small_treebank(crossing=True), seed=3, learns=("upos",))
    parser = NeuralParser(model_of(tiny))
    ((codes, sure),) = parser.scorer.tags(tiny.treebank)
    batch = tiny.data.batch(tiny.everything)
    with torch.no_grad():
        hidden = tiny.network.hidden(tiny.data.rows[batch.positions], batch)
        shares = tiny.network.tag_scores(hidden)[0].softmax(-1)
    best = torch.full((len(tiny.data.rows),), -1)
    probability = torch.zeros(len(tiny.data.rows), dtype=shares.dtype)
    best[batch.positions] = shares.argmax(-1)
    probability[batch.positions] = shares.max(-1).values
    words = np.ones(len(best), bool)
    words[tiny.data.starts[:-1]] = False
    assert codes.tolist() == best.numpy()[words].tolist()
    np.testing.assert_allclose(sure, probability.numpy()[words], atol=1e-4)


def test_weights_are_loaded_and_told_as_they_were() -> None:
    tiny = Tiny.of(sentences(), clusters=2, learns=("upos",))
    arrays = random_arrays(tiny.network.shape, 9)
    network = Network(tiny.network.shape)
    network.load(arrays)
    again = network.arrays()
    assert sorted(again) == sorted(tiny.network.shape.arrays)
    for name, values in arrays.items():
        np.testing.assert_array_equal(again[name], values)
        assert again[name].shape == tiny.network.shape.arrays[name]


def test_first_weights_are_finite_and_clusters_differ() -> None:
    torch.manual_seed(1)
    network = Network(Tiny.of(sentences(), clusters=2).network.shape)
    arrays = network.arrays()
    assert all(np.isfinite(values).all() for values in arrays.values())
    hidden = network.shape.hidden
    assert (arrays["layer.0.forward.bias"][hidden : 2 * hidden] == 1).all()  # the gate that keeps is open
    heads = arrays["label.head"].reshape(-1, 2, arrays["label.head"].shape[1])
    assert (heads[:, 0] != heads[:, 1]).any(axis=1).all()
