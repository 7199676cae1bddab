"""The trainer step by step: averaged weights, learning rate, what it tells to go on from, and the parse of
development data."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from arcwise.neural import NeuralConfig, NeuralParser
from arcwise.neural.network import Network
from arcwise.neural.trainer import NetworkTrainer
from arcwise.parsing import ParseOptions
from contracts.small_treebank import small_treebank
from neural.training.test_network import model_of
from neural.training.tiny import Tiny, sentences

OPTIONS: dict[str, Any] = {"epochs": 4, "batch_words": 12, "dropout": 0.2, "word_dropout": 0.2, "warm_up": 5}


def trainer_of(tiny: Tiny) -> NetworkTrainer:
    return NetworkTrainer(tiny.config, tiny.network.shape, tiny.data, tiny.inputs.atoms)


@pytest.fixture
def tiny() -> Tiny:
    return Tiny.of(small_treebank(crossing=True), **OPTIONS)


def flat(network: Network) -> np.ndarray:
    return network.shape.flat(network.arrays())


def passes(trainer: NetworkTrainer, epochs: int, *, seed: int = 1) -> list[float]:
    """The losses of so many epochs."""
    random = np.random.default_rng(seed)
    count = len(trainer._data.lengths)
    return [
        trainer.epoch(number, random.permutation(count).astype(np.int64), lambda done: None)["loss"]
        for number in range(1, epochs + 1)
    ]


def test_the_averages_are_those_of_all_weights_so_far(tiny: Tiny) -> None:
    """Later ones count more: share s stays from step to step, less of it in the first steps."""
    trainer = trainer_of(tiny)
    wanted = flat(trainer.network).astype(np.float64)
    order = np.arange(len(tiny.treebank))
    step = 0
    for _ in range(3):
        for some in tiny.data.batches(12, order):
            trainer._learn(some, trainer._config)
            step += 1
            stays = min(tiny.config.average, step / (step + 10))
            wanted = stays * wanted + (1 - stays) * flat(trainer.network)
            np.testing.assert_allclose(trainer.weights, wanted, atol=1e-5)
    assert step > 10
    assert np.abs(trainer.weights - flat(trainer.network)).max() > 1e-4


def test_the_learning_rate_rises_and_falls(tiny: Tiny) -> None:
    trainer = trainer_of(tiny)
    rates = []
    random = np.random.default_rng(1)
    for _ in range(4):
        for some in tiny.data.batches(12, random.permutation(len(tiny.treebank))):
            trainer._learn(some, trainer._config)
            rates.append(trainer._optimizer.param_groups[0]["lr"])
    highest = tiny.config.learning_rate
    top = int(np.argmax(rates))
    assert max(rates) == pytest.approx(highest)
    assert 0 < top < len(rates) / 3
    assert np.allclose(np.diff(rates[: top + 1]), rates[0])  # in a straight line
    assert (np.diff(rates[top:]) <= 1e-12).all()
    assert rates[-1] < 0.1 * highest
    middle = rates[top + (len(rates) - top) // 2]
    assert 0.35 * highest < middle < 0.65 * highest


def test_it_learns() -> None:
    own = {"epochs": 40, "learning_rate": 0.03, "dropout": 0.0, "word_dropout": 0.0, "affix_dropout": 0.0}
    losses = passes(trainer_of(Tiny.of(small_treebank(), **OPTIONS | own)), 40)
    assert losses[-1] < 0.3 * losses[0]


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_the_same_seed_gives_the_same_weights_and_another_one_others(device: str) -> None:
    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("needs a GPU")
    config = NeuralConfig(epochs=3, batch_words=12, size="small", device=device)  # type: ignore[arg-type]
    found = []
    for seed in (5, 5, 6):
        model = NeuralParser.train(small_treebank(), None, config=replace(config, seed=seed)).model
        found.append(model.pack().arrays)
    one, same, other = found
    assert all(np.array_equal(one[name], same[name]) for name in one)
    assert not all(np.array_equal(one[name], other[name]) for name in one)
    assert not torch.are_deterministic_algorithms_enabled()


@pytest.mark.parametrize("done", [1, 3])
def test_it_goes_on_from_its_state_to_the_bit(tiny: Tiny, done: int) -> None:
    """Also in another process, whose random numbers have gone on meanwhile."""
    orders = [np.random.default_rng(n).permutation(len(tiny.treebank)).astype(np.int64) for n in range(4)]
    whole = trainer_of(tiny)
    states = [{name: np.array(v) for name, v in whole.state().items()}]
    for number, order in enumerate(orders, start=1):
        whole.epoch(number, order, lambda count: None)
        states.append({name: np.array(v) for name, v in whole.state().items()})
    again = trainer_of(tiny)
    torch.rand(100)
    again.load_state(states[done])
    for number, order in enumerate(orders[done:], start=done + 1):
        again.epoch(number, order, lambda count: None)
    assert again.step == whole.step
    for name, values in again.state().items():
        np.testing.assert_array_equal(values, states[-1][name], err_msg=name)


@pytest.mark.parametrize(
    "options", [{}, {"clusters": 2}, {"labelled": False}, {"projective": True}, {"order": 2}]
)
@pytest.mark.parametrize("minimum_risk", [True, False])
def test_development_data_are_parsed_as_the_model_would(options: dict[str, Any], minimum_risk: bool) -> None:
    """By the averaged weights, in torch, as native code does."""
    tiny = Tiny.of(small_treebank(crossing=True), **OPTIONS | options)
    trainer = trainer_of(tiny)
    passes(trainer, 2)
    heads, labels = trainer.parse(tiny.data, minimum_risk=minimum_risk)
    members = (tiny.network.shape.split(trainer.weights),)
    parser = NeuralParser(replace(model_of(tiny), members=members))
    decode = "mbr" if minimum_risk else "map"
    found = parser.parses(
        tiny.treebank, options=ParseOptions(decode=decode, projective=tiny.config.projective)
    )
    assert heads.tolist() == found.heads.tolist()
    assert labels.tolist() == found.labels.tolist()


def test_tags_while_training_are_those_of_the_model() -> None:
    tiny = Tiny.of(small_treebank(), **OPTIONS | {"learns": ("upos",)})
    trainer = trainer_of(tiny)
    passes(trainer, 3)
    members = (tiny.network.shape.split(trainer.weights),)
    parser = NeuralParser(replace(model_of(tiny), members=members))
    ((codes, _),) = parser.scorer.tags(tiny.treebank)
    batch = tiny.data.batch(np.arange(len(tiny.treebank)))
    hidden = trainer.average.eval().hidden(tiny.data.rows[batch.positions], batch)
    (scores,) = trainer.average.tag_scores(hidden)
    found = np.full(len(tiny.data.heads), -1)
    found[batch.positions.numpy()] = scores.argmax(-1).numpy()
    assert np.delete(found, tiny.data.starts[:-1]).tolist() == codes.tolist()


def test_sentences_that_no_tree_fits_do_not_spoil_the_others() -> None:
    tiny = Tiny.of(sentences("whole", "crossing", "two roots"), **OPTIONS | {"projective": True})
    trainer = trainer_of(tiny)
    assert all(np.isfinite(passes(trainer, 3)))
    assert np.isfinite(trainer.weights).all()
