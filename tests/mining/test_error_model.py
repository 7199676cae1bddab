"""``ErrorModel`` and ``RevisionHistory`` against their definitions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from arcwise.mining import RevisionHistory, Revisions, mine
from arcwise.mining.boosting import BoostedTrees
from arcwise.mining.error_model import (
    _ALL_RULES,
    _PRIOR,
    _RULE_PRIOR,
    _RULE_WORDS,
    _UNSEEN_RULE,
    ErrorModel,
    _is_evidence,
    _matrix,
    _rates,
    _rates_of_others,
    _ratios,
    _rule_rates,
)
from arcwise.mining.features import ErrorFeatures
from arcwise.mining.history import SWEPT, TREEBANK_WEIGHT
from arcwise.mining.ranks import log_ranks, log_ranks_within
from arcwise.treebanks import Treebank
from mining.planted import conllu, toy


def history(seed: int, count: int = 200) -> RevisionHistory:
    """Words of three kinds, a tenth of which are punctuation; every third word is not compared."""
    random = np.random.default_rng(seed)
    signal = random.normal(size=count)
    kinds = random.choice(["a", "b", f"only {seed}"], count).tolist()
    upos = random.choice(["NOUN", "VERB", "PUNCT"], count, p=[0.5, 0.4, 0.1]).tolist()
    features = ErrorFeatures(
        {"parsers.mean": signal, "arc.length": random.random(count)}, {"label": kinds, "upos": upos}
    )
    wrong = random.random(count) < np.where(np.array(kinds) == "a", 0.4, 0.1)
    compared = np.arange(count) % 3 > 0
    return RevisionHistory(features, compared, wrong & compared, np.zeros(count, np.bool_))


def counted_ratio(of: RevisionHistory, name: str, kind: str) -> float:
    """The slow twin of ``_ratios``: one pass over the words for one kind."""
    words = [w for w in range(of.features.count) if of.compared[w]]
    base = sum(bool(of.revised[w]) for w in words) / len(words)
    mine = [w for w in words if of.features.kinds[name][w] == kind]
    rate = (sum(bool(of.revised[w]) for w in mine) + _PRIOR * base) / (len(mine) + _PRIOR)
    return float(np.log(rate / base))


def test_ratios_compare_the_rate_of_a_kind_with_that_of_all_words() -> None:
    one = history(1)
    ratios = _ratios(one, "label")
    assert set(ratios) == {"a", "b", "only 1"}
    for kind, ratio in ratios.items():
        assert ratio == pytest.approx(counted_ratio(one, "label", kind), abs=1e-4)
    assert ratios["a"] > 0.3 > 0 > ratios["b"]


def test_rates_are_means_over_treebanks_and_shrink_where_few_have_the_kind() -> None:
    histories = {name: history(seed) for seed, name in enumerate("xyz")}
    rates = _rates(histories)
    of_a = [counted_ratio(h, "label", "a") for h in histories.values()]
    assert rates["label"]["a"] == pytest.approx(sum(of_a) / 4, abs=1e-4)
    alone = counted_ratio(histories["y"], "label", "only 1")
    assert rates["label"]["only 1"] == pytest.approx(alone / 2, abs=1e-4)


def test_a_treebank_is_described_by_the_rates_of_the_others_in_training() -> None:
    histories = {name: history(seed) for seed, name in enumerate("xyz")}
    rates = _rates_of_others(histories, "y")
    assert "only 1" not in rates["label"]
    assert rates == _rates({name: histories[name] for name in "xz"})
    assert _rates_of_others({"x": histories["x"]}, "x") == {"label": {}, "upos": {}}
    # Turning the fate of a treebank's words round changes the other treebanks' columns only.
    turned = replace(histories["y"], revised=histories["y"].compared & ~histories["y"].revised)
    changed = histories | {"y": turned}
    assert _rates_of_others(changed, "y") == rates
    assert _rates_of_others(changed, "x") != _rates_of_others(histories, "x")


def test_columns_are_ranks_ranks_within_kinds_and_rates() -> None:
    features = history(2).features
    numbers = ("parsers.mean", "arc.length", "unheard of")
    rates = {"label": {"a": 0.7}, "upos": {"NOUN": -0.2}}
    columns = _matrix(features, numbers, rates).T
    words = features.is_word
    assert not words.all()
    for column, name in zip(columns, numbers[:2], strict=False):
        assert column.tolist() == log_ranks(features.numbers[name], words).tolist()
    assert not columns[2].any()
    within = log_ranks_within(features.numbers["parsers.mean"], features.kinds["label"])
    assert columns[3].tolist() == within.tolist()
    assert len(columns) == 3 + 4 + 2
    assert columns[-2].tolist() == [0.7 if kind == "a" else 0.0 for kind in features.kinds["label"]]
    assert columns[-1].tolist() == [-0.2 if tag == "NOUN" else 0.0 for tag in features.kinds["upos"]]


def test_only_signals_and_rates_are_evidence() -> None:
    names = ("parsers.mean", "arc.length", "sentence.length", "tags.upos")
    assert _is_evidence(names, np.zeros((1, 6))).tolist() == [True, False, False, True, True, True]


def ruled(seed: int, rules: dict[str, tuple[int, int]], count: int = 400) -> RevisionHistory:
    """Words of which some break a rule: rule → (errors, words); of all others, every twentieth is an error."""
    plain = history(seed, count)
    kinds, wrong = [""] * count, np.arange(count) % 20 == 0
    first = 0
    for rule, (errors, words) in rules.items():
        kinds[first : first + words] = [rule] * words
        wrong[first : first + words] = np.arange(words) < errors
        first += words
    features = replace(plain.features, kinds={**plain.features.kinds, "tree_rule": kinds})
    return replace(plain, features=features, compared=np.ones(count, np.bool_), revised=wrong)


def test_rates_of_rules_are_weighted_means_of_log_odds() -> None:
    one, two = ruled(1, {"leaf": (18, 20), "cc": (1, 10)}), ruled(2, {"leaf": (6, 8), "gap": (0, 60)})

    def rise(of: RevisionHistory, errors: int, words: int) -> float:
        base = of.revised.mean()
        rate = (errors + _RULE_PRIOR * base) / (words + _RULE_PRIOR)
        return float(np.log(rate / (1 - rate)) - np.log(base / (1 - base)))

    rises = [rise(one, 18, 20), rise(two, 6, 8), rise(one, 1, 10), rise(two, 0, 60)]
    weights = [n / (n + _RULE_WORDS) for n in (20, 8, 10, 60)]
    average = np.average(rises, weights=weights)
    rates = _rule_rates([one, two], "tree_rule")
    assert set(rates) == {"leaf", "cc", "gap", _UNSEEN_RULE}
    assert rates[_UNSEEN_RULE] == pytest.approx(average, abs=1e-4)
    leaf = (_ALL_RULES * average + rises[0] * weights[0] + rises[1] * weights[1]) / (
        _ALL_RULES + weights[0] + weights[1]
    )
    assert rates["leaf"] == pytest.approx(leaf, abs=1e-4)
    assert _ALL_RULES * average + rises[3] * weights[3] < 0
    assert rates["gap"] == 0


def test_the_rates_of_rules_about_trees_are_added_to_the_log_odds() -> None:
    histories = {"x": ruled(1, {"leaf": (18, 20)}), "y": ruled(2, {"leaf": (9, 10), "cc": (0, 30)})}
    model = ErrorModel.train(histories, rounds=5)
    features = history(7, 4).features
    blank = replace(features, kinds={**features.kinds, "tree_rule": [""] * 4})
    broken = replace(features, kinds={**features.kinds, "tree_rule": ["", "leaf", "cc", "unheard of"]})
    rates = model.rates["tree_rule"]
    expected = [0.0, rates["leaf"], rates["cc"], rates[_UNSEEN_RULE]]
    assert rates["leaf"] > rates[_UNSEEN_RULE] > rates["cc"] >= 0
    assert model.log_odds(broken) - model.log_odds(blank) == pytest.approx(expected)
    assert model.log_odds(features).tolist() == model.log_odds(blank).tolist()


def test_the_severity_of_rules_is_not_read() -> None:
    plain = history(1)
    numbers = {**plain.features.numbers, "rules.arc": plain.revised.astype(float)}
    severe = replace(plain, features=replace(plain.features, numbers=numbers))
    model = ErrorModel.train({"x": severe, "y": severe}, rounds=5)
    assert model.numbers == ("parsers.mean", "arc.length")


def test_the_log_odds_are_the_mean_of_both_models() -> None:
    histories = {name: history(seed) for seed, name in enumerate("xy")}
    model = ErrorModel.train(histories, rounds=5)
    features = history(7).features
    values = _matrix(features, model.numbers, model.rates)
    expected = (model.regression.predict(values) + model.trees.predict(values)) / 2
    assert model.log_odds(features).tolist() == expected.tolist()


def test_stronger_evidence_never_lowers_the_probability() -> None:
    model = ErrorModel.train({name: history(seed) for seed, name in enumerate("xyz")}, rounds=40)
    features = history(7).features
    values = _matrix(features, model.numbers, model.rates)
    for column in np.flatnonzero(_is_evidence(model.numbers, values)):
        higher = values.copy()
        higher[:, column] += 1.5
        assert (model.trees.predict(higher) >= model.trees.predict(values) - 1e-12).all()
        assert (model.regression.predict(higher) >= model.regression.predict(values) - 1e-12).all()


@pytest.mark.parametrize("seed", range(8))
def test_trees_rise_everywhere_although_other_features_interact(seed: int) -> None:
    random = np.random.default_rng(seed)
    values = random.normal(size=(400, 3))
    # Whether the first column speaks for or against an error depends on the second.
    wrong = random.random(400) < 1 / (1 + np.exp(2 * values[:, 0] * values[:, 1] - values[:, 2]))
    rising = np.array([True, True, False])
    trees = BoostedTrees.fit(
        values, wrong, np.ones(400), rising=rising, rounds=20, depth=3, penalty=1.0, seed=seed
    )
    free = BoostedTrees.fit(values, wrong, np.ones(400), rounds=20, depth=3, penalty=1.0, seed=seed)
    for column in (0, 1):
        lines = np.repeat(random.normal(size=(20, 3)), 30, axis=0)
        lines[:, column] = np.tile(np.linspace(-3, 3, 30), 20)
        assert (np.diff(trees.predict(lines).reshape(20, 30)) >= -1e-12).all()
        assert (np.diff(free.predict(lines).reshape(20, 30)) < -0.05).any()


def test_the_weight_of_a_treebank_does_not_depend_on_its_size() -> None:
    small, large = history(1, 90), history(2, 900)
    assert small.weights.sum() == pytest.approx(TREEBANK_WEIGHT) == large.weights.sum()
    assert len(small.weights) == small.compared.sum()
    swept = replace(small, swept=small.revised)
    assert (swept.weights / small.weights).tolist() == [
        pytest.approx(SWEPT if flag else 1.0) for flag in small.revised[small.compared]
    ]


def test_a_history_tells_sweeps_and_new_labels_under_the_same_head() -> None:
    sentences = toy(40)
    old = Treebank.from_string(conllu(sentences))
    for rows in sentences[:30]:
        rows[0][3] = "nmod:poss"  # a sweep
    noun = next(i for i, row in enumerate(sentences[35]) if row[1] == "NOUN")
    verb = next(i for i, row in enumerate(sentences[35]) if row[1] == "VERB")
    sentences[35][noun][3] = "vocative"
    sentences[36][0][2] = str(next(i for i, row in enumerate(sentences[36]) if row[1] == "VERB") + 1)
    assert noun != verb
    new = Treebank.from_string(conllu(sentences))
    features = mine(old, signals=["frames"]).features
    told = RevisionHistory.of(features, Revisions.between(old, new))
    starts = old.sentence_words.astype(int)
    assert np.flatnonzero(told.swept).tolist() == starts[:30].tolist()
    assert np.flatnonzero(told.revised & ~told.swept).tolist() == [starts[35] + noun, starts[36]]
    assert told.relabelled[int(starts[0])] == "nmod"
    assert told.relabelled[int(starts[35]) + noun] == "vocative"
    assert told.relabelled[int(starts[36])] == ""  # it moved
    precedents = told.precedents("toy")
    assert precedents is not None
    assert replace(told, relabelled=()).precedents("toy") is None
    assert replace(told, features=replace(features, lemmas=())).precedents("toy") is None
