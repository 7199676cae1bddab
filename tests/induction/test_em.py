"""EM and Viterbi EM: they climb, they repeat, they keep to constraints."""

import numpy as np
import pytest

from arcwise.errors import ConstraintError, InputError
from arcwise.induction import DMV, ArcShare, TagSentences, em, viterbi_em
from arcwise.induction.em import STARTS
from arcwise.induction.parser import attachment_accuracy
from reference.dmv import brute_force


def corpus(seed: int, sentences: int = 8, max_length: int = 7) -> TagSentences:
    grammar = DMV.random(("A", "B", "C"), seed=seed)
    return grammar.sample(sentences, seed=seed, min_length=2, max_length=max_length)[0]


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("seed", range(5))
def test_em_never_lowers_the_likelihood(start: str, seed: int) -> None:
    found = em(corpus(seed), start=start, seed=seed, iterations=30, tolerance=0)
    assert len(found.trace) > 1
    assert (np.diff(found.trace) >= -1e-9).all()


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("iterations", [1, 2, 7, 100])
@pytest.mark.parametrize("smoothing", [0.0, 0.5])
def test_the_value_of_em_is_that_of_the_grammar_it_returns(
    start: str, iterations: int, smoothing: float
) -> None:
    sentences = corpus(2)
    found = em(sentences, start=start, iterations=iterations, smoothing=smoothing, restarts=3, seed=4)
    assert found.value == pytest.approx(found.grammar.log_likelihood(sentences), abs=1e-9)
    assert found.value == found.trace[-1] == found.values.max()


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("seed", range(5))
def test_viterbi_em_never_lowers_the_joint_likelihood(start: str, seed: int) -> None:
    found = viterbi_em(corpus(seed), start=start, seed=seed, smoothing=0)
    assert (np.diff(found.trace) >= -1e-9).all()


def test_the_value_is_that_of_the_parses_under_the_grammar() -> None:
    sentences = corpus(3)
    found = viterbi_em(sentences, restarts=50, polish=True, smoothing=0.5)
    counts = found.grammar.counts(sentences, found.grammar.parse_heads(sentences))
    used = counts > 0
    assert found.value == pytest.approx(counts[used] @ found.grammar.log_probabilities[used], abs=1e-9)
    assert found.value == pytest.approx(found.values.max())


def test_smoothing_is_added_to_every_count() -> None:
    found = viterbi_em([["A", "B"]], smoothing=1.0, iterations=1)
    counts = found.grammar.counts(
        TagSentences.from_tags([["A", "B"]]), found.grammar.parse_heads(TagSentences.from_tags([["A", "B"]]))
    )
    expected = DMV.from_counts(("A", "B"), counts, smoothing=1.0)
    np.testing.assert_allclose(found.grammar.log_probabilities, expected.log_probabilities)


def test_constrained_parses_keep_to_the_rules() -> None:
    sentences = TagSentences.from_tags([["A", "B"], ["B", "A"], ["A", "B", "B"]])
    rule = ArcShare(frozenset({("ROOT", "A"), ("A", "B")}), 1.0)
    found = viterbi_em(sentences, constraint=rule, smoothing=1.0, polish=True, restarts=10)
    heads = found.grammar.parse_heads(sentences)
    assert found.grammar.counts(sentences, heads) @ rule.marked(found.grammar.features) == sentences.words


def test_restarts_do_not_depend_on_threads_or_batches() -> None:
    one = viterbi_em(corpus(1), restarts=300, seed=5, polish=True)
    two = viterbi_em(corpus(1), restarts=300, seed=5, polish=True, threads=2)
    np.testing.assert_array_equal(one.values, two.values)
    np.testing.assert_array_equal(one.grammar.log_probabilities, two.grammar.log_probabilities)
    other = viterbi_em(corpus(1), restarts=300, seed=6, polish=True)
    assert not np.array_equal(one.values, other.values)


def test_equal_sentences_are_parsed_once_and_count_as_often_as_they_occur() -> None:
    once = [["A", "B"], ["B", "A", "B"]]
    thrice = TagSentences.from_tags(once * 3)
    assert [w for _, w in thrice.kinds] == [3, 3]
    found = viterbi_em(thrice, restarts=40, polish=True)
    assert found.value == pytest.approx(3 * viterbi_em(once, restarts=40, polish=True).value)


@pytest.mark.parametrize("share", [0.4, 0.6, 0.75])
@pytest.mark.parametrize("seed", range(4))
def test_constrained_parses_are_at_most_as_good_as_the_best_that_keep_to_it(seed: int, share: float) -> None:
    sentences = corpus(seed, sentences=3, max_length=4)
    rule = ArcShare(frozenset({("ROOT", "A"), ("A", "B"), ("B", "C"), ("A", "A"), ("C", "B")}), share)
    best = brute_force(sentences, rule)
    if best == -np.inf:
        with pytest.raises(ConstraintError, match="at most"):
            viterbi_em(sentences, constraint=rule)
        return
    found = viterbi_em(sentences, constraint=rule, restarts=100, smoothing=0.1, polish=True)
    assert best - 1.0 < found.value <= best + 1e-9


def test_a_constraint_that_cannot_hold_is_named() -> None:
    rule = ArcShare(frozenset({("ROOT", "B")}), 0.9)
    with pytest.raises(ConstraintError, match=r"found 0.9 .*at most 1 such"):
        viterbi_em([["A", "B", "A"]], constraint=rule)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"start": "warm"}, "start: found 'warm'"),
        ({"restarts": 0}, "restarts: found 0"),
        ({"smoothing": -1}, "smoothing: found -1"),
    ],
)
def test_bad_options(options: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        viterbi_em([["A"]], **options)


def test_accuracy() -> None:
    gold = np.array([2, 0, 2, -1])
    score = attachment_accuracy(np.array([2, 3, 0, 1]), gold, np.array([0, 4]))
    assert (score.directed, score.undirected, score.words) == (1 / 3, 2 / 3, 3)
    with pytest.raises(InputError, match="found 1 words, expected 4"):
        attachment_accuracy(gold[:1], gold, np.array([0, 4]))
