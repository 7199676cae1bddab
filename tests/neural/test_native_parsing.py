"""From a network to trees: fused or over scores, alone or in company, by one thread or several, the answer is
the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from arcwise import native
from arcwise.treebanks import Treebank
from contracts.small_treebank import conllu, small_treebank
from neural.slow_network import SlowNetwork, random_network
from reference.enumerate_trees import all_trees
from reference.sibling_value import sibling_value

ATOMS = {"lower": 9, "suffix3": 5, "upos": 6}
DECODERS = ("map", "minimum_risk", "minimum_labelled_risk", "max_z", "greedy")
SHAPES: dict[str, dict[str, Any]] = {
    "labels": {"labels": 7, "tags": (5,)},
    "clusters": {"labels": 4, "clusters": 3},
    "no labels": {"labels": 0},
    "siblings": {"labels": 3, "sibling_size": 9},
    "siblings, no labels": {"labels": 0, "sibling_size": 20},
}
Precisions = pytest.mark.parametrize("precision", ["float32", "int8"])
TREES = ("heads", "labels", "parsed")
PROBABILITIES = ("head_probability", "label_probability", "log_probability", "head_entropy")
ASKED = ("asked_head_probability", "asked_label_probability")


@pytest.fixture(scope="module")
def treebank() -> Treebank:
    """Sentences of many lengths, in no order."""
    random = np.random.default_rng(1)
    words = small_treebank(crossing=True).column("form")
    odd = [
        " ".join(f"{words[i]}/NOUN/0/dep" for i in random.integers(0, len(words), size=n))
        for n in (40, 1, 17, 3, 90, 2, 16, 15, 33)
    ]
    return Treebank.from_string(small_treebank(crossing=True).data.decode() + conllu(odd))


@pytest.fixture(scope="module", params=SHAPES)
def arguments(request: pytest.FixtureRequest, treebank: Treebank) -> dict[str, Any]:
    shape = SHAPES[request.param]
    return random_network(ATOMS, treebank, seed=4, units=24, arc_size=20, label_size=12, scale=2.0, **shape)


def settings(decoder: str = "minimum_risk", **others: Any) -> native.DecodeSettings:
    options = {"projective": False, "single_root": True} | others
    return native.DecodeSettings(decoder=getattr(native.Decoder, decoder), **options)


def same(one: Any, two: Any, names: tuple[str, ...]) -> None:
    for name in names:
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


@Precisions
@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.parametrize("temperature", [1.0, 1.7])
@pytest.mark.parametrize("projective", [False, True])
def test_the_fused_ways_give_what_scores_give(
    arguments, treebank, precision: str, decoder: str, temperature: float, projective: bool
) -> None:
    network = native.NeuralNetwork(**arguments, precision=precision)
    where = treebank.layout, treebank.data
    some = np.where(np.arange(treebank.word_count) % 5 == 0, treebank.heads, -1).astype(np.int32)
    options = {
        "projective": projective,
        "temperature": temperature,
        "label_temperature": 0.8,
        "smoothing": 0.1,
    }
    for required in (None, some):
        batch = network.scores(*where, required, threads=1)
        plain = settings(decoder, **options)
        same(
            network.parse(*where, required, settings=plain, threads=1), batch.decode(plain, threads=1), TREES
        )
        told = settings(decoder, probabilities=True, **options)
        asked = {
            "asked_heads": treebank.heads,
            "asked_labels": np.zeros(treebank.word_count, np.int32),
        }
        one = network.parse(*where, required, settings=told, threads=1, **asked)
        two = batch.decode(told, threads=1, **asked)
        same(one, two, TREES + PROBABILITIES + ASKED)
        best = network.k_best(*where, required, settings=told, k=3, threads=1)
        same(
            best, batch.k_best(told, 3, threads=1), ("counts", "heads", "labels", "scores", "log_probability")
        )


@Precisions
def test_company_and_threads_change_nothing(arguments, treebank, precision: str) -> None:
    """To the bit: scores of a sentence alone, among all, by one thread or three."""
    network = native.NeuralNetwork(**arguments, precision=precision)
    alone = [
        network.scores(one.layout, one.data, threads=1).parts()[7]
        for s in range(len(treebank))
        for one in [treebank[s : s + 1]]
    ]
    for threads in (1, 3):
        together = network.scores(treebank.layout, treebank.data, threads=threads).parts()[7]
        np.testing.assert_array_equal(together, np.concatenate(alone))
    told = settings(probabilities=True, temperature=1.3)
    one, two = (
        network.parse(treebank.layout, treebank.data, settings=told, threads=threads) for threads in (1, 3)
    )
    same(one, two, TREES + PROBABILITIES)


def test_many_sentences_are_the_same_as_few(treebank: Treebank) -> None:
    """More words than are looked up at once."""
    arguments = random_network(ATOMS, treebank, seed=6, units=8, tags=(4,), labels=3)
    network = native.NeuralNetwork(**arguments)
    times = 20_000 // treebank.word_count + 1
    many = Treebank.from_string(treebank.data.decode() * times)
    few = network.parse(treebank.layout, treebank.data, settings=settings(), threads=1)
    all_of_them, tags = network.parse_and_tag(many.layout, many.data, settings=settings(), threads=2)
    np.testing.assert_array_equal(all_of_them.heads, np.tile(few.heads, times))
    np.testing.assert_array_equal(all_of_them.labels, np.tile(few.labels, times))
    (codes, probabilities), *rest = network.tags(treebank.layout, treebank.data, threads=1)
    assert not rest
    np.testing.assert_array_equal(tags[0][0], np.tile(codes, times))
    np.testing.assert_array_equal(tags[0][1], np.tile(probabilities, times))


def test_the_best_tree_is_the_best_of_all(treebank: Treebank) -> None:
    """By enumeration, on sentences of up to five words."""
    arguments = random_network(ATOMS, treebank, seed=9, scale=2.0, labels=3)
    network, slow = native.NeuralNetwork(**arguments), SlowNetwork(**arguments)
    rows = slow.rows(treebank)
    found = network.parse(treebank.layout, treebank.data, settings=settings("map"), threads=1)
    tried = 0
    for s, own in enumerate(rows):
        n = len(own) - 1
        if n > 5:
            continue
        scores = slow.scores(slow.states(own)).max(axis=2)
        trees = all_trees(n, projective=False, single_root=True)
        values = [sum(scores[tree[m], m] for m in range(1, n + 1)) for tree in trees]
        first = treebank.sentence_words[s]
        assert found.heads[first : first + n].tolist() == trees[int(np.argmax(values)), 1:].tolist()
        tried += 1
    assert tried > 5


@Precisions
def test_a_sentence_of_a_thousand_words(precision: str) -> None:
    random = np.random.default_rng(3)
    words = [f"w{i}/X/0/dep" for i in random.integers(0, 300, size=1000)]
    treebank = Treebank.from_string(conllu([" ".join(words)]))
    arguments = random_network(ATOMS, treebank, seed=1, values=50, labels=4, tags=(3,))
    network = native.NeuralNetwork(**arguments, precision=precision)
    slow = SlowNetwork(**arguments, precision=precision)
    states = slow.states(slow.rows(treebank)[0])
    where = treebank.layout, treebank.data
    found = network.states(*where).reshape(states.shape)
    np.testing.assert_allclose(found, states, atol=1e-5 if precision == "float32" else 0.02)
    result, tags = network.parse_and_tag(*where, settings=settings(), threads=1)
    assert result.parsed.tolist() == [1]
    assert (result.heads == 0).sum() == 1
    assert len(tags[0][0]) == 1000
    same(result, network.parse(*where, settings=settings(probabilities=True), threads=1), ("heads", "labels"))


def test_an_empty_treebank() -> None:
    treebank = small_treebank()
    network = native.NeuralNetwork(**random_network(ATOMS, treebank, seed=1, tags=(2,)))
    nothing = Treebank.from_string("")
    where = nothing.layout, nothing.data
    result, tags = network.parse_and_tag(*where, settings=settings(), threads=2)
    assert len(result.heads) == len(result.parsed) == 0
    assert [len(part) for part in tags[0]] == [0, 0]
    assert len(network.scores(*where, threads=1)) == 0
    assert len(network.k_best(*where, settings=settings(), k=2, threads=1).counts) == 0
    assert len(network.states(*where)) == 0


def test_arrays_of_another_length_are_refused() -> None:
    treebank = small_treebank()
    network = native.NeuralNetwork(**random_network(ATOMS, treebank, seed=1))
    where, short = (treebank.layout, treebank.data), np.zeros(3, np.int32)
    with pytest.raises(ValueError, match="one required head per word"):
        network.scores(*where, short, threads=1)
    with pytest.raises(ValueError, match="one head per word"):
        network.parse(*where, settings=settings(), asked_heads=short, threads=1)
    with pytest.raises(ValueError, match="one label per word"):
        network.parse(*where, settings=settings(), asked_labels=short, threads=1)
    with pytest.raises(ValueError, match="at least 1"):
        network.k_best(*where, settings=settings(), k=0, threads=1)


@Precisions
@pytest.mark.parametrize("threads", [1, 3])
def test_tags_of_many_sentences_are_those_of_each_alone(treebank, precision: str, threads: int) -> None:
    """To the bit, for more words than are tagged at once, with long and one-word sentences among them."""
    shape = {"labels": 3, "tags": (5, 40)}
    random = random_network(ATOMS, treebank, seed=4, units=24, arc_size=20, label_size=12, scale=2.0, **shape)
    network = native.NeuralNetwork(**random, precision=precision)
    long = conllu([" ".join(f"word{i}/NOUN/0/dep" for i in range(n)) for n in (300, 255, 256, 1, 20)])
    many = Treebank.from_string(long + treebank.data.decode() * 20)
    together = network.tags(many.layout, many.data, threads=threads)
    _, parsed = network.parse_and_tag(many.layout, many.data, settings=settings(), threads=threads)
    sentences = [many[s : s + 1] for s in range(len(many))]
    alone = [network.tags(one.layout, one.data, threads=1) for one in sentences]
    for t in range(2):
        for part in range(2):
            expected = np.concatenate([tags[t][part] for tags in alone])
            np.testing.assert_array_equal(together[t][part], expected)
            np.testing.assert_array_equal(parsed[t][part], expected)


@pytest.mark.parametrize("single_root", [True, False])
def test_scores_with_siblings_are_log_probabilities_among_all_projective_trees(
    treebank: Treebank, single_root: bool
) -> None:
    arguments = random_network(ATOMS, treebank, seed=9, units=8, labels=0, sibling_size=6, scale=2.0)
    network, slow = native.NeuralNetwork(**arguments), SlowNetwork(**arguments)
    batch = network.scores(treebank.layout, treebank.data, single_root=single_root, threads=1)
    scores, at, tried = batch.by_label(1.0), 0, 0
    for rows in slow.rows(treebank):
        n = len(rows) - 1
        own = scores[at : at + (n + 1) ** 2].reshape(n + 1, n + 1)
        at += own.size
        if n > 5:
            continue
        states = slow.states(rows)
        arcs, siblings = slow.arcs(states), slow.siblings(states)
        total, with_arc = 0.0, np.zeros_like(arcs)
        for tree in all_trees(n, projective=True, single_root=single_root):
            words = range(1, n + 1)
            weight = np.exp(sum(arcs[tree[m], m] for m in words) + sibling_value(tree, siblings))
            total += weight
            for m in words:
                with_arc[tree[m], m] += weight
        there = with_arc > 0
        np.testing.assert_allclose(own[there], np.log(with_arc[there] / total), atol=1e-5)
        assert n == 0 or single_root or there[0, 1:].all()
        tried += 1
    assert tried > 5


def test_required_heads_change_no_score_with_siblings(treebank: Treebank) -> None:
    """Decisions condition the scores later, so that they count the same whoever scores."""
    arguments = random_network(ATOMS, treebank, seed=9, units=8, labels=0, sibling_size=6, scale=2.0)
    network, one = native.NeuralNetwork(**arguments), small_treebank()[:1]
    required = np.full(one.word_count, -1, np.int32)
    required[0] = one.heads[0]
    free, bound = (
        network.scores(one.layout, one.data, heads, threads=1).by_label(1.0) for heads in (None, required)
    )
    there = bound > -np.inf
    assert 0 < there.sum() < (free > -np.inf).sum()
    np.testing.assert_array_equal(bound[there], free[there])


def test_a_sentence_of_more_than_400_words_keeps_its_scores_of_arcs() -> None:
    treebank = Treebank.from_string(conllu([" ".join(["w/X/0/dep"] * 401)]))
    arguments = random_network(ATOMS, treebank, seed=1, units=8, labels=0, sibling_size=3)
    network = native.NeuralNetwork(**arguments, head_temperature=2.0)
    where = treebank.layout, treebank.data
    scores = network.scores(*where, threads=1).by_label(1.0)
    there = scores > -np.inf
    np.testing.assert_array_equal(scores[there].astype(np.float32), network.arcs(*where)[there] / 2)
