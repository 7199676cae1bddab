"""The combiner: boosted trees, rates of kinds, model files; and what it learns from answers."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from arcwise.errors import ModelError
from arcwise.learning.model_file import Packed
from arcwise.mining import Combiner, RevisionHistory, mine
from arcwise.mining.adaptation import Adaptation
from arcwise.mining.boosting import BoostedTrees, binned
from arcwise.mining.combiner import PLANTED_SHIFT, either, mean_log_odds
from arcwise.mining.features import ErrorFeatures
from arcwise.mining.history import TREEBANK_WEIGHT
from arcwise.mining.logistic import LogisticRegression
from arcwise.mining.ranks import log_ranks
from mining.planted import planted


def history(seed: int, count: int = 400) -> RevisionHistory:
    """Words that are wrong if both numbers are high, or mostly if their kind is bad."""
    random = np.random.default_rng(seed)
    a, b = random.normal(size=(2, count))
    kinds = [str(random.choice(["good", "bad"])) for _ in range(count)]
    wrong = ((a > 0.5) & (b > 0.5)) | (np.array([k == "bad" for k in kinds]) & (random.random(count) < 0.5))
    b[::7] = np.nan
    features = ErrorFeatures({"a": a, "b": b}, {"kind": kinds})
    return RevisionHistory(features, np.ones(count, np.bool_), wrong, np.zeros(count, np.bool_))


def test_boosted_trees_learn_an_interaction() -> None:
    random = np.random.default_rng(0)
    values = random.normal(size=(600, 2))
    wrong = (values[:, 0] > 0) & (values[:, 1] > 0)
    trees = BoostedTrees.fit(values, wrong, np.ones(600), rounds=60, depth=2, penalty=1.0)
    assert ((trees.predict(values) > 0) == wrong).mean() > 0.97


def test_prediction_agrees_with_walking_each_tree() -> None:
    random = np.random.default_rng(0)
    values = random.normal(size=(80, 3))
    values[::9, 1] = np.nan
    trees = BoostedTrees.fit(values, values[:, 0] > 0, np.ones(80), rounds=5, depth=3, penalty=1.0)
    codes = binned(values, trees.edges)
    for row, predicted in zip(codes, trees.predict(values), strict=True):
        total = trees.bias
        for features, bins, leaves in zip(trees.features, trees.bins, trees.leaves, strict=True):
            node = 0
            while node < len(features):
                node = 2 * node + (2 if row[features[node]] > bins[node] else 1)
            total += leaves[node - len(features)]
        assert predicted == pytest.approx(total)


def test_rising_columns_never_lower_the_log_odds() -> None:
    random = np.random.default_rng(2)
    values = random.normal(size=(500, 2))
    # The second column is misleading here: higher values are less often wrong.
    wrong = random.random(500) < 1 / (1 + np.exp(2 * values[:, 1] - values[:, 0]))
    free, rising = (
        BoostedTrees.fit(values, wrong, np.ones(500), rising=flags, rounds=30, penalty=1.0)
        for flags in (None, np.array([True, True]))
    )
    steps = np.stack([np.zeros(50), np.linspace(-3, 3, 50)], axis=1)
    assert (np.diff(free.predict(steps)) < -0.1).any()
    assert (np.diff(rising.predict(steps)) >= 0).all()
    assert rising.predict(np.array([[2.0, 0.0]])) > rising.predict(np.array([[-2.0, 0.0]]))


def test_either_is_the_probability_of_a_union() -> None:
    a, b = np.array([-3.0, 0.5, 9.0]), np.array([1.0, -2.0, -9.0])
    p, q = 1 / (1 + np.exp(-a)), 1 / (1 + np.exp(-b))
    union = p + q - p * q
    assert either(a, b) == pytest.approx(np.log(union / (1 - union)))


def test_a_model_of_planted_errors_adds_what_revisions_do_not_show() -> None:
    revised = history(1)
    # Planted errors have a low first number, which says nothing about revisions.
    planted_words = replace(revised, revised=revised.features.numbers["a"] < -1.5)
    features = ErrorFeatures({"a": np.array([0.0, -2.5]), "b": np.zeros(2)}, {"kind": ["good"] * 2})
    flipped = replace(
        planted_words, features=replace(revised.features, numbers={"a": -revised.features.numbers["a"]})
    )
    alone = Combiner.train({"x": revised, "y": history(2)})
    both = Combiner.train({"x": revised, "y": history(2)}, planted={"z": flipped})
    assert alone.planted is None
    assert both.planted is not None
    added = both.planted.log_odds(features) + PLANTED_SHIFT
    before, after = (c.log_odds(features) - c.shift for c in (alone, both))
    assert after == pytest.approx(either(before, added))
    assert (after > before).all()
    mirrored = replace(features, numbers={"a": -features.numbers["a"]})
    assert np.diff(both.planted.log_odds(mirrored))[0] > 1


def test_the_mean_probability_is_that_of_a_usual_treebank() -> None:
    histories = {name: history(seed) for seed, name in enumerate("xyz")}
    # Every word of one treebank was revised: an outlier, which must not make every treebank suspicious.
    histories["z"] = replace(histories["z"], revised=np.ones_like(histories["z"].revised))
    combiner = Combiner.train(histories, planted={"w": history(5)})
    rates = [float(of.revised.mean()) for of in histories.values()]
    means = [float((1 / (1 + np.exp(-combiner.log_odds(of.features)))).mean()) for of in histories.values()]
    assert np.median(means) == pytest.approx(np.median(rates), abs=1e-3)
    assert np.mean(rates) > np.median(rates) + 0.1


def test_a_kind_that_is_often_wrong_elsewhere_is_suspicious() -> None:
    combiner = Combiner.train({name: history(seed) for seed, name in enumerate("xyz")})
    features = ErrorFeatures({"a": np.zeros(2), "b": np.zeros(2)}, {"kind": ["good", "bad"]})
    good, bad = combiner.log_odds(features)
    assert bad > good + 1


def test_a_saved_combiner_gives_the_same_probabilities(tmp_path: Path) -> None:
    histories = {name: history(seed) for seed, name in enumerate("xy")}
    combiner = Combiner.train(histories, planted={"z": history(5)}, rounds=10)
    combiner.save(tmp_path / "combiner.arcwise")
    features = history(9).features
    loaded = Combiner.load(tmp_path / "combiner.arcwise")
    assert loaded.log_odds(features) == pytest.approx(combiner.log_odds(features), abs=1e-5)
    assert loaded.trained_on == ("x", "y")


def test_a_combiner_of_version_2_is_read() -> None:
    combiner = Combiner.train({name: history(seed) for seed, name in enumerate("xy")}, rounds=5)
    packed = combiner.pack()
    features = history(9).features
    header = {name: value for name, value in packed.header.items() if name != "shift"}
    former = Combiner.unpack(Packed(packed.kind, 2, header, packed.arrays))
    assert former.shift == 0
    assert former.log_odds(features) == pytest.approx(combiner.log_odds(features) - combiner.shift, abs=1e-5)


def test_a_damaged_combiner_is_refused() -> None:
    with pytest.raises(ModelError, match="damaged"):
        Combiner.unpack(Packed(Combiner.kind, Combiner.version, {}, {}))


def test_ranks_do_not_depend_on_the_scale_of_a_signal() -> None:
    values = np.array([3.0, 1.0, 2.0, np.nan])
    everyone = np.ones(4, np.bool_)
    assert log_ranks(values, everyone).tolist() == log_ranks(np.exp(5 * values), everyone).tolist()
    # Half the others are as high: -log(1/2 / 2) for the word itself.
    assert log_ranks(np.array([1.0, 1.0]), np.ones(2, np.bool_)) == pytest.approx(np.log([2, 2]) - 1)


def test_logistic_regression_keeps_evidence_from_counting_against_an_error() -> None:
    random = np.random.default_rng(4)
    values = random.normal(size=(500, 3))
    wrong = random.random(500) < 1 / (1 + np.exp(-(2 * values[:, 0] - values[:, 1] - values[:, 2])))
    fit = LogisticRegression.fit(
        values, wrong, np.ones(500), positive=np.array([True, True, False]), penalty=0.1
    )
    assert fit.weights[0] > 1
    assert fit.weights[1] == 0
    assert fit.weights[2] < -0.4


def test_sweeps_weigh_less_than_single_corrections() -> None:
    plain = history(3)
    swept = replace(plain, swept=plain.revised)
    assert swept.weights.sum() < plain.weights.sum() == pytest.approx(TREEBANK_WEIGHT)


def test_the_mean_ignores_signals_without_an_opinion() -> None:
    scores = [np.array([1.0, np.nan, np.nan]), np.array([3.0, 4.0, np.nan])]
    assert mean_log_odds(scores).tolist() == [2.0, 4.0, -10.0]


def test_answers_move_words_of_the_same_kind() -> None:
    bank, _ = planted(40)
    result = mine(bank, signals=["frames", "variation"])
    adaptation = Adaptation(result)
    words = [w for w, label in enumerate(result.words.labels) if label == "obj"]
    asked, unseen = words[:6], words[6:]
    higher = adaptation.log_odds(dict.fromkeys(asked, True))
    lower = adaptation.log_odds(dict.fromkeys(asked, False))
    assert (higher[unseen] > result.log_odds[unseen]).all()
    assert (lower[unseen] < higher[unseen]).all()
    amods = [w for w, label in enumerate(result.words.labels) if label == "amod"]
    gains = higher - result.log_odds
    assert gains[unseen].mean() > gains[amods].mean() + 0.5
    assert adaptation.log_odds({}) is result.log_odds


@pytest.mark.parametrize("level", [0.0, 3.0, 6.0, 9.0])
def test_the_fit_to_answers_is_a_mode_even_where_probabilities_are_extreme(level: float) -> None:
    bank, _ = planted(40)
    result = mine(bank, signals=["frames", "variation"])
    adaptation = Adaptation(replace(result, log_odds=np.full(bank.word_count, level)))
    # Nearly all answers contradict the log-odds: a whole Newton step would overshoot.
    asked = np.arange(200)
    answers = {int(word): word % 20 == 0 for word in asked}
    wrong = np.array([answers[int(word)] for word in asked], np.float64)
    p = 1 / (1 + np.exp(-adaptation.log_odds(answers)[asked]))
    # At the mode of the posterior, the dual weight of an answer is its residual.
    assert adaptation._fit(asked, wrong) == pytest.approx(wrong - p, abs=1e-3)


def test_questions_are_spread_over_kinds_until_these_run_out() -> None:
    bank, _ = planted(40)
    result = mine(bank, signals=["frames", "variation"])
    adaptation = Adaptation(result)
    lexical = list(zip(result.words.lemmas, result.words.labels, strict=True))
    few = adaptation.questions(result.log_odds, (), 20, spread=True)
    assert max(Counter(lexical[word] for word in few).values()) == 1
    # One answer about a kind is enough, whatever it is; skipped words do not come again.
    later = adaptation.questions(
        result.log_odds, dict.fromkeys(few[:10], True), 5, skipped=few[10:], spread=True
    )
    assert not set(few) & set(later)
    asked = Counter(lexical[word] for word in few[:10])
    assert not any(asked[lexical[word]] for word in later)
    everything = adaptation.questions(result.log_odds, (), bank.word_count, spread=True)
    assert sorted(everything) == list(range(bank.word_count))
    assert everything[:20] == few
    first = np.argsort(-result.log_odds, kind="stable").tolist()
    assert adaptation.questions(result.log_odds, first[:3], 20, first[3:5]) == first[5:25]
    hidden = result.log_odds.copy()
    hidden[few] = -np.inf
    assert not set(few) & set(adaptation.questions(hidden, (), bank.word_count))
