"""What benchmarks/mining.py computes from rankings and plants in treebanks."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.mining import average_precision, calibration_error, with_planted_errors

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
