"""The learners under tokenizer and tagger against slow twins: choices and chains by enumeration, gradients by
finite differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from arcwise import native
from arcwise.text.linear import lists_of
from reference.log_linear import (
    ChainTwin,
    Item,
    Options,
    Task,
    TwinChain,
    Weights,
    Word,
    slope,
    softmax_twin,
)

OPTIONS = {
    "one epoch": Options(),
    "many epochs": Options(epochs=5),
    "damping": Options(epochs=2, damping=0.7),
    "l2": Options(epochs=4, l2=0.3),
    "min_count": Options(epochs=2, min_count=2),
    "prune": Options(epochs=6, prune=0.12),
    "rate": Options(epochs=3, rate=0.5, damping=0.1),
    "seed": Options(epochs=3, seed=9),
}


def weights_of(arrays: Any) -> Weights:
    """Sparse rows as a dictionary."""
    keys, starts, outputs, weights = arrays
    return {
        (int(key), int(outputs[at])): float(weights[at])
        for row, key in enumerate(keys)
        for at in range(starts[row], starts[row + 1])
    }


def assert_same(found: Weights, expected: Weights) -> None:
    assert found.keys() == expected.keys()
    assert found == pytest.approx(expected, abs=2e-4)
    assert any(abs(weight) > 0.01 for weight in found.values())


# ---- one choice

TASK = Task([[0], [1, 2], [2, 3], [3]], [[0, 1, 2], [1, 2, 3], [2]], 4)


def some_items(seed: int, *, count: int = 12) -> list[Item]:
    rng = np.random.default_rng(seed)
    items = []
    for _ in range(count):
        number = int(rng.integers(len(TASK.candidates_of_set)))
        features = [int(f) for f in sorted(rng.choice(8, size=3, replace=False))]
        items.append(Item(features, number, int(rng.choice(TASK.candidates_of_set[number]))))
    return items


def softmax_train(task: Task, items: list[Item], options: Options) -> Weights:
    return weights_of(
        native.softmax_train(
            lists_of([item.features for item in items]),
            lists_of(task.outputs_of_candidate),
            lists_of(task.candidates_of_set),
            task.output_count,
            np.array([item.set for item in items], np.uint32),
            np.array([item.gold for item in items], np.uint32),
            options.as_tuple(),
        )
    )


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_choices_are_learned_as_the_twin_learns_them(options: Options) -> None:
    items = some_items(3)
    assert_same(softmax_train(TASK, items, options), softmax_twin(TASK, items, options))


def test_choices_with_dropout_are_learned_as_the_twin_learns_them() -> None:
    options = Options(epochs=4, dropout=0.4)
    items = some_items(4)
    assert_same(softmax_train(TASK, items, options), softmax_twin(TASK, items, options))


TWO = Task([[0], [1]], [[0, 1]], 2)


@pytest.mark.parametrize("damping", [0.0, 2.0])
def test_two_steps_of_adagrad_by_hand(damping: float) -> None:
    """One item, one feature, two candidates: p(gold) = 1/2, so that the first gradient is −1/2; what counts
    is the mean of the ends of the second half of the epochs, here of the second alone."""
    rate = 0.4
    first = rate * 0.5 / (np.sqrt(damping + 0.25) + 1e-6)
    gradient = 1 / (1 + np.exp(-first)) - 1
    second = first - rate * gradient / (np.sqrt(damping + 0.25 + gradient**2) + 1e-6)
    for epochs, expected in ((1, first), (2, second)):
        found = softmax_train(TWO, [Item([5], 0, 0)], Options(epochs=epochs, rate=rate, damping=damping))
        assert found == pytest.approx({(5, 0): expected}, abs=1e-5)


def test_what_is_used_is_the_mean_over_the_second_half() -> None:
    rate, weight, squares, ends = 0.4, 0.0, 0.0, []
    for _ in range(4):
        gradient = 1 / (1 + np.exp(-weight)) - 1
        squares += gradient**2
        weight -= rate * gradient / (np.sqrt(squares) + 1e-6)
        ends.append(weight)
    found = softmax_train(TWO, [Item([5], 0, 0)], Options(epochs=4, rate=rate))
    assert found == pytest.approx({(5, 0): np.mean(ends[2:])}, abs=1e-5)


@pytest.mark.parametrize("dropout", [0.1, 0.6])
def test_the_share_of_features_left_out(dropout: float) -> None:
    """A feature that was left out in the only epoch has no weight."""
    left_out = [
        weight == 0
        for seed in range(60)
        for weight in softmax_train(
            TWO, [Item(list(range(20)), 0, 0)], Options(dropout=dropout, seed=seed)
        ).values()
    ]
    assert len(left_out) == 1200
    assert abs(np.mean(left_out) - dropout) < 4 * (dropout * (1 - dropout) / 1200) ** 0.5


def test_pairs_seen_too_seldom_have_no_weight() -> None:
    items = [Item([1, 2], 0, 0), Item([1, 3], 0, 0), Item([2], 0, 1)]
    assert softmax_train(TWO, items, Options(min_count=2)).keys() == {(1, 0)}
    assert softmax_train(TWO, items, Options()).keys() == {(1, 0), (2, 0), (3, 0), (2, 1)}


def test_weights_that_are_small_at_half_time_stay_zero() -> None:
    items = [Item([1], 0, 0), Item([1], 0, 1), Item([2], 0, 0)]
    options = Options(epochs=6, rate=0.02, prune=0.03)
    free = softmax_train(TWO, items, Options(epochs=6, rate=0.02))
    pruned = softmax_train(TWO, items, options)
    assert free[1, 0] != 0
    assert pruned[1, 0] == pruned[1, 1] == 0
    assert pruned[2, 0] > 0.03


# ---- chains


def some_chain(seed: int, *, words: int = 4, states: int = 3) -> tuple[list[list[int]], Any, Any]:
    rng = np.random.default_rng(seed)
    candidates = [
        sorted(int(s) for s in rng.choice(states, size=int(rng.integers(1, states + 1)), replace=False))
        for _ in range(words)
    ]
    emissions = rng.normal(size=(words, states)).astype(np.float32)
    return candidates, emissions, rng.normal(size=(states + 1, states + 1)).astype(np.float32)


def chain_arguments(candidates: list[list[int]], emissions: Any, transitions: Any) -> tuple[Any, ...]:
    flat = np.array([emissions[i, s] for i, states in enumerate(candidates) for s in states], np.float32)
    return lists_of(candidates), flat, transitions.ravel(), emissions.shape[1]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("words", [1, 2, 4])
def test_the_marginals_of_a_chain_are_the_slopes_of_its_log_partition(seed: int, words: int) -> None:
    candidates, emissions, transitions = some_chain(seed, words=words)
    log_z, marginals, pairs = native.chain_marginals(*chain_arguments(candidates, emissions, transitions))
    twin = TwinChain(candidates, 3)
    assert log_z == pytest.approx(twin.log_z(emissions, transitions), abs=1e-5)
    e, t = emissions.astype(np.float64), transitions.astype(np.float64)
    by_emission = slope(lambda changed: twin.log_z(changed, t), e)
    expected = [by_emission[i, s] for i, states in enumerate(candidates) for s in states]
    np.testing.assert_allclose(marginals, expected, atol=1e-6)
    np.testing.assert_allclose(pairs, slope(lambda changed: twin.log_z(e, changed), t), atol=1e-6)


@pytest.mark.parametrize("seed", range(8))
def test_the_best_path_of_a_chain_is_the_best_of_all(seed: int) -> None:
    candidates, emissions, transitions = some_chain(seed, words=5)
    score, path = native.chain_decode(*chain_arguments(candidates, emissions, transitions))
    twin = TwinChain(candidates, 3)
    assert tuple(path) == twin.best(emissions, transitions)
    assert score == pytest.approx(twin.score(path, emissions, transitions), abs=1e-5)


def some_sentences(seed: int) -> list[list[Word]]:
    rng = np.random.default_rng(seed)
    return [
        [
            Word(
                [int(f) for f in sorted(rng.choice(6, size=2, replace=False))],
                sorted(int(s) for s in rng.choice(3, size=2, replace=False)),
                int(rng.integers(3)),
            )
            for _ in range(rng.integers(1, 5))
        ]
        for _ in range(5)
    ]


def chain_train(sentences: list[list[Word]], options: Options, *, perceptron: bool) -> tuple[Weights, Any]:
    words = [word for sentence in sentences for word in sentence]
    emissions, transitions = native.chain_train(
        lists_of([word.features for word in words]),
        np.cumsum([0, *(len(sentence) for sentence in sentences)], dtype=np.uint32),
        lists_of([word.candidates for word in words]),
        np.arange(len(words), dtype=np.uint32),
        np.array([word.gold for word in words], np.uint32),
        3,
        options.as_tuple(),
        perceptron,
    )
    return weights_of(emissions), transitions


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_the_likelihood_of_chains_is_learned_as_the_twin_learns_it(options: Options) -> None:
    sentences = some_sentences(2)
    emissions, transitions = chain_train(sentences, options, perceptron=False)
    expected, table = ChainTwin(sentences, 3, options).likelihood()
    assert_same(emissions, expected)
    np.testing.assert_allclose(transitions, table, atol=2e-4)


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("epochs", [1, 4])
def test_the_perceptron_learns_chains_as_its_twin_does(seed: int, epochs: int) -> None:
    sentences = some_sentences(seed)
    options = Options(epochs=epochs, min_count=1)
    emissions, transitions = chain_train(sentences, options, perceptron=True)
    expected, table = ChainTwin(sentences, 3, options).perceptron()
    assert_same(emissions, expected)
    np.testing.assert_allclose(transitions, table, atol=1e-5)
