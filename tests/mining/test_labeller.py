"""The classifier of labels given the rest of the tree."""

from __future__ import annotations

import numpy as np
import pytest

from arcwise.mining.crossfit import Crossfitted
from arcwise.mining.labeller import Labeller, _row_sums, feature_ids, labels_given_tree
from arcwise.mining.mine import no_evidence
from arcwise.mining.words import FlatWords
from arcwise.treebanks import Treebank
from mining.planted import planted


def folded(bank: Treebank, count: int = 3) -> Crossfitted:
    nothing = no_evidence(bank)
    return Crossfitted({}, nothing.tags, np.arange(len(bank)) % count)


def test_no_feature_of_a_word_reads_its_own_label() -> None:
    sentence = planted(3)[0][1]
    n = len(sentence)
    for word in range(n):
        labels = [*sentence.deprels[:word], "vocative", *sentence.deprels[word + 1 :]]
        changed = sentence.annotate(deprel=labels)
        ids = feature_ids(FlatWords(Treebank.from_sentences([sentence, changed])))
        assert (ids[word] == ids[n + word]).all()
        assert (ids[:n] != ids[n:]).any()


def test_gradients_of_a_batch_are_summed_by_feature() -> None:
    ids = np.array([[3, 1], [1, 2], [3, 3]])
    gradient = np.arange(6, dtype=np.float32).reshape(3, 2)
    rows, sums = _row_sums(ids, gradient)
    expected = {row: np.zeros(2) for row in (1, 2, 3)}
    for word, features in enumerate(ids):
        for feature in features:
            expected[int(feature)] += gradient[word]
    assert rows.tolist() == [1, 2, 3]
    assert sums.tolist() == [expected[row].tolist() for row in (1, 2, 3)]


def test_the_classifier_learns_labels() -> None:
    random = np.random.default_rng(1)
    labels = random.integers(0, 3, 900)
    ids = np.column_stack([labels + 5, random.integers(10, 50, 900)])
    probabilities = Labeller.train(ids, labels, 3).probabilities(ids)
    assert probabilities.sum(axis=1) == pytest.approx(np.ones(900), abs=1e-5)
    assert (probabilities.argmax(axis=1) == labels).mean() > 0.99


def test_planted_labels_are_improbable_given_the_rest_of_the_tree() -> None:
    bank, wrong = planted(120)
    words = FlatWords(bank)
    measured = labels_given_tree(words, folded(bank))
    relabelled = [
        int(words.starts[s]) + w - 1 for s, w in wrong if bank[s].deprels[w - 1] in ("nsubj", "obl")
    ]
    others = np.setdiff1d(np.arange(len(words)), relabelled)
    assert np.median(measured.score[relabelled]) > np.quantile(measured.score[others], 0.97)


def test_without_folds_there_is_no_opinion() -> None:
    bank, _ = planted(5)
    measured = labels_given_tree(FlatWords(bank), no_evidence(bank))
    assert np.isnan(measured.score).all()
