"""Scores of dependency graphs."""

import pytest

from arcwise.errors import InputError
from arcwise.evaluation.deps import deps_arcs, deps_scores
from arcwise.treebanks import Sentence, Treebank


def one(*deps: str) -> Treebank:
    words = [f"w{i}" for i in range(len(deps))]
    return Treebank.from_sentences([Sentence.from_words(words, deps=list(deps))])


def test_precision_recall_and_f1() -> None:
    scores = deps_scores(one("2:a|3:b", "0:root", "2:c"), one("2:a", "0:root", "2:x|1:y"))
    assert (scores.unlabelled.gold, scores.unlabelled.system, scores.unlabelled.both) == (4, 4, 3)
    assert (scores.labelled.both, scores.labelled.f1) == (2, 0.5)
    assert scores.unlabelled.precision == scores.unlabelled.recall == 0.75


def test_nothing_at_all_scores_nothing() -> None:
    scores = deps_scores(one("_"), one("_"))
    assert (scores.labelled.f1, scores.labelled.precision, scores.labelled.recall) == (0, 0, 0)


def test_empty_nodes_and_labels_with_colons_are_read() -> None:
    assert deps_arcs(one("8.1:conj:and|0:root")[0]) == [("8.1", 1, "conj:and"), ("0", 1, "root")]


def test_bad_deps_are_named() -> None:
    with pytest.raises(InputError, match="found 'nsubj' in DEPS of word 1"):
        deps_arcs(one("nsubj")[0])
    with pytest.raises(InputError, match="must have the same sentences and words"):
        deps_scores(one("0:root"), one("0:root", "1:x"))
