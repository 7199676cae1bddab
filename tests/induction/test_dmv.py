"""The DMV's dynamic programs against enumeration of all trees."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arcwise.errors import InputError, ModelError
from arcwise.induction import DMV, TagSentences
from arcwise.treebanks import Treebank
from arcwise.trees import Tree
from reference.dmv import enumerated

TAGS = ("A", "B", "C")

sentences = st.lists(st.sampled_from(TAGS), min_size=1, max_size=5)


@settings(max_examples=40, deadline=None)
@given(tags=sentences, seed=st.integers(0, 10**6), holes=st.booleans())
def test_decode_inside_and_counts_are_those_of_enumeration(tags: list[str], seed: int, holes: bool) -> None:
    grammar = DMV.random(TAGS, seed=seed)
    if holes:  # impossible steps
        theta = grammar.log_probabilities.copy()
        theta[np.random.default_rng(seed).random(len(theta)) < 0.15] = -np.inf
        grammar = DMV(TAGS, theta)
    trees, counts, values = enumerated(grammar, tags)
    corpus = TagSentences.from_tags([tags], tags=TAGS)
    log_z = np.logaddexp.reduce(values)
    assert grammar.log_likelihood(corpus) == pytest.approx(log_z, abs=1e-10)
    if np.isfinite(log_z):
        expected = np.exp(values - log_z) @ counts
        np.testing.assert_allclose(grammar.expected_counts(corpus), expected, atol=1e-10)
        best = grammar.parse([tags])[0]
        place = int(np.flatnonzero((trees == best.heads).all(axis=1))[0])
        assert values[place] == pytest.approx(values.max(), abs=1e-10)
        np.testing.assert_array_equal(grammar.counts(corpus, best.heads[1:]), counts[place])


def test_long_sentences_run_on_logarithms() -> None:
    theta = DMV.random(TAGS, seed=1).log_probabilities * 40  # sums far below the smallest double
    grammar = DMV(TAGS, theta)
    tags = list("ABCABCABCBACBBCA")
    corpus = TagSentences.from_tags([tags], tags=TAGS)
    counts = grammar.expected_counts(corpus)
    assert grammar.log_likelihood(corpus) < -800
    assert counts[:3].sum() == pytest.approx(1)
    assert counts[3:21].sum() == pytest.approx(len(tags) - 1)
    for m in (0, 5, 25):  # d log Z / d theta = expected counts
        step = np.zeros_like(theta)
        step[m] = 1e-4
        lower = DMV(TAGS, theta - step).log_likelihood(corpus)
        assert (grammar.log_likelihood(corpus) - lower) / 1e-4 == pytest.approx(counts[m], abs=0.05)


def test_sampled_trees_follow_the_posterior() -> None:
    grammar = DMV.random(TAGS, seed=5)
    tags = ["A", "B", "C", "A"]
    trees, _, values = enumerated(grammar, tags)
    draws = 4000
    drawn = grammar.sample_trees([tags] * draws, seed=7)
    observed = np.array([sum(bool((t.heads == heads).all()) for t in drawn) for heads in trees])
    expected = draws * np.exp(values - np.logaddexp.reduce(values))
    big = expected >= 5
    chi2 = ((observed - expected)[big] ** 2 / expected[big]).sum()
    assert observed.sum() == draws
    assert chi2 < big.sum() + 5 * np.sqrt(2 * big.sum())


def test_generated_sentences_follow_the_model() -> None:
    counts = np.random.default_rng(2).exponential(size=26)
    counts[10::2] += 3  # stops often, so that no sentence is turned down for its length
    grammar = DMV.from_counts(("A", "B"), counts)
    corpus, trees = grammar.sample(5000, seed=3, max_length=1000)
    counts = grammar.counts(corpus, np.concatenate([t.heads[1:] for t in trees]))
    for run in grammar.features.distributions:
        if (total := counts[run].sum()) > 500:
            np.testing.assert_allclose(counts[run] / total, np.exp(grammar.log_probabilities[run]), atol=0.06)


def test_generation_respects_lengths_and_gives_up_with_a_message() -> None:
    corpus, _ = DMV.uniform(TAGS).sample(20, seed=1, min_length=2, max_length=8)
    assert all(2 <= len(s) <= 8 for s in corpus.sentences)
    always_stops = DMV.from_counts(("A",), np.array([1, 1, 1, 1, 0, 1, 0, 1, 0, 1, 0.0]))
    with pytest.raises(InputError, match="drew no sentence"):
        always_stops.sample(1, seed=0, min_length=2, attempts=50)


def test_json_round_trip_and_damage(tmp_path: Path) -> None:
    grammar = DMV.random(TAGS, seed=4)
    grammar.save(tmp_path / "dmv.json", column="xpos")
    again = DMV.load(tmp_path / "dmv.json")
    np.testing.assert_allclose(again.log_probabilities, grammar.log_probabilities, rtol=1e-12)
    data = json.loads((tmp_path / "dmv.json").read_text())
    del data["child"]["A left"]
    with pytest.raises(ModelError, match="not a complete DMV"):
        DMV.from_json(data)
    with pytest.raises(ModelError, match="expected a grammar of kind 'dmv'"):
        DMV.from_json({"kind": "graph"})


def test_unknown_tags_and_impossible_steps_still_give_trees() -> None:
    seen = TagSentences.from_tags([["A", "B"]])
    grammar = DMV.from_counts(seen.tags, DMV.uniform(seen.tags).counts(seen, np.array([2, 0])))
    assert grammar.parse([["A", "B"]]) == [Tree.from_heads([2, 0])]
    trees = grammar.parse([["A", "X", "B"], ["B", "A"], ["X"]])
    assert [len(t.roots) for t in trees] == [1, 1, 1]


def test_a_treebank_is_parsed() -> None:
    text = "1\ta\t_\tA\t_\t_\t_\t_\t_\t_\n2\tb\t_\tB\t_\t_\t_\t_\t_\t_\n\n"
    parsed = DMV.random(("A", "B"), seed=1).parse_treebank(Treebank.from_string(text))
    assert sorted(parsed[0].deprels) == ["dep", "root"]
    assert parsed[0].tree.is_complete


@pytest.mark.parametrize(
    "theta, message", [(np.zeros(3), "expected \\(11,\\)"), (np.full(11, 0.5), "above 0")]
)
def test_bad_parameters(theta: np.ndarray, message: str) -> None:
    with pytest.raises(InputError, match=message):
        DMV(("A",), theta)


def test_bad_corpora() -> None:
    with pytest.raises(InputError, match="without a word"):
        TagSentences.from_tags([["A"], []])
    with pytest.raises(InputError, match="found 'B', expected one of A"):
        TagSentences.from_tags([["B"]], tags=("A",))
