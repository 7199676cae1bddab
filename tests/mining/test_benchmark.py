"""What benchmarks/mining.py computes from rankings and plants in treebanks."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace

import numpy as np
import pytest
from benchmarks.mining import own_history
from benchmarks.mining_figures import (
    average_precision,
    bootstrap_difference,
    calibration_error,
    weighted_precision,
)
from benchmarks.planted_errors import with_planted_errors

from arcwise.mining import Combiner, RevisionHistory
from arcwise.mining.features import ErrorFeatures
from arcwise.mining.folds import document_numbers
from arcwise.treebanks import Treebank
from mining.planted import conllu, toy


def test_average_precision_is_the_mean_precision_at_each_error() -> None:
    scores = np.array([0.9, 0.8, 0.7, 0.6, 0.5])
    wrong = np.array([True, False, True, False, True])
    assert average_precision(scores, wrong) == pytest.approx((1 / 1 + 2 / 3 + 3 / 5) / 3)
    assert np.isnan(average_precision(scores, np.zeros(5, np.bool_)))


def test_calibration_error_compares_probabilities_with_frequencies() -> None:
    log_odds = np.log(np.array([0.25, 0.25, 0.25, 0.25]) / 0.75)
    assert calibration_error(log_odds, np.array([True, False, False, False])) == pytest.approx(0)
    assert calibration_error(log_odds, np.ones(4, np.bool_)) == pytest.approx(0.75)
    # Right on the whole, but wrong in each of two bins: 0.25 and 0.35 with the other's frequency.
    two = np.log(np.array([0.25] * 10 + [0.35] * 10) / np.array([0.75] * 10 + [0.65] * 10))
    wrong = np.arange(20) % 10 < np.repeat([3.5, 2.5], 10)
    assert calibration_error(two, wrong) == pytest.approx((abs(0.25 - 0.4) + abs(0.35 - 0.3)) / 2)


def test_planted_errors_change_only_their_words_and_keep_trees() -> None:
    bank = Treebank.from_string(conllu(toy(200)))
    changed, planted = with_planted_errors(bank, 0.02)
    heads = np.asarray(changed.heads) != np.asarray(bank.heads)
    labels = np.array(changed.column("deprel")) != np.array(bank.column("deprel"))
    assert ((heads | labels) == planted).all()
    words = sum(tag != "PUNCT" for tag in bank.column("upos"))
    assert heads.sum() == pytest.approx(0.02 * words, rel=0.2)
    assert labels.sum() == pytest.approx(0.02 * words, rel=0.2)
    assert not changed.problems


def rankings(count: int = 400) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """A good and a bad ranking of the words of 40 sentences, which of them are wrong, and their sentences."""
    random = np.random.default_rng(3)
    wrong = random.random(count) < 0.1
    good, bad = wrong + random.normal(0, 0.5, count), wrong + random.normal(0, 3, count)
    return good, bad, wrong, np.repeat(np.arange(7, 47), count // 40)


def test_the_bootstrap_resamples_whole_sentences() -> None:
    good, bad, wrong, sentence = rankings()
    starts = np.flatnonzero(np.diff(sentence, prepend=0))
    random = np.random.default_rng(1)
    differences = []
    for _ in range(200):
        # The slow twin: the words of the drawn sentences, copied as often as these were drawn.
        copies = random.multinomial(40, np.full(40, 1 / 40))
        words = np.concatenate(
            [np.repeat(np.arange(s, s + 10), c) for s, c in zip(starts, copies, strict=True)]
        )
        differences.append(_tied_precision(good, wrong, words) - _tied_precision(bad, wrong, words))
    low, high = np.quantile(differences, [0.025, 0.975])
    value, lower, upper = bootstrap_difference(good, bad, wrong, sentence)
    assert value == pytest.approx(average_precision(good, wrong) - average_precision(bad, wrong))
    assert (lower, upper) == pytest.approx((low, high))
    assert 0 < lower < value < upper


def _tied_precision(scores: np.ndarray, wrong: np.ndarray, words: np.ndarray) -> float:
    """Average precision of copied words; copies of a word share the rank of the last one."""
    order = words[np.argsort(-scores[words], kind="stable")]
    hits = np.cumsum(wrong[order])
    last = {word: place for place, word in enumerate(order.tolist())}
    precision = [hits[last[word]] / (last[word] + 1) for word in order.tolist() if wrong[word]]
    return float(np.mean(precision))


def test_a_ranking_does_not_differ_from_itself_and_an_equal_one_not_significantly() -> None:
    good, _, wrong, sentence = rankings()
    assert bootstrap_difference(good, good, wrong, sentence) == (0, 0, 0)
    noise = np.random.default_rng(5).normal(0, 0.5, len(good))
    _, lower, upper = bootstrap_difference(good, wrong + noise, wrong, sentence)
    assert lower < 0 < upper


def test_copies_of_a_word_count_as_often_as_they_were_drawn() -> None:
    ranked, copies = np.array([True, False, True]), np.array([2, 1, 0])
    assert weighted_precision(ranked, copies) == pytest.approx(1)
    assert weighted_precision(ranked, np.array([1, 1, 2])) == pytest.approx((1 + 3 / 4 + 3 / 4) / 3)
    assert weighted_precision(ranked, np.zeros(3, np.int64)) == 0


def test_no_word_is_scored_by_a_combiner_that_knows_the_fate_of_its_document(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bank = Treebank.from_string(conllu(toy(45)))
    sentence = np.repeat(np.arange(len(bank)), bank.sentence_lengths)
    document = document_numbers(bank)[sentence]
    assert len(set(document.tolist())) > 4
    count = bank.word_count
    features = ErrorFeatures({}, {"upos": ["X"] * count})
    nothing = np.zeros(count, np.bool_)
    history = RevisionHistory(features, np.arange(count) % 5 > 0, nothing, nothing)
    known: list[np.ndarray] = []

    def trained(histories: Mapping[str, RevisionHistory], *, planted: object) -> SimpleNamespace:
        assert list(histories) == ["other", "own"]
        known.append(histories["own"].compared)
        scores = np.full(count, float(len(known)))
        return SimpleNamespace(log_odds=lambda features: scores)

    monkeypatch.setattr(Combiner, "train", trained)
    words = SimpleNamespace(sentence=sentence)
    mined = SimpleNamespace(
        old=bank,
        pair=SimpleNamespace(name="own"),
        history=history,
        result=SimpleNamespace(words=words, features=features),
    )
    scored_by = own_history(mined, {"other": history}, {}).astype(int) - 1  # type: ignore[arg-type]
    assert sorted(set(scored_by.tolist())) == [0, 1]
    for word in range(count):
        seen = known[scored_by[word]]
        assert not seen[document == document[word]].any()
    # Together the halves are all that was compared.
    assert ((known[0] | known[1]) == history.compared).all()
