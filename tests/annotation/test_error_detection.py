"""Cross-fitting finds planted errors, using only parsers that have not seen the sentence."""

import numpy as np
import pytest

from arcwise.annotation.error_detection import ErrorDetection
from arcwise.annotation.states import only_decided
from arcwise.annotation.training import suspicious_words
from arcwise.engine import Processes
from arcwise.errors import InputError
from arcwise.graph import GraphConfig, GraphParser
from arcwise.treebanks import Treebank
from text.toy import toy_treebank

CONFIG = GraphConfig(epochs=3, arc_bits=14, row_bits=14)
WRONG = (7, 2)
"""Sentence and word (1..n) of the planted error."""


@pytest.fixture(scope="module")
def planted():
    """A treebank with one wrong head and one wrong label."""
    whole = toy_treebank()[:40]
    heads, labels = whole.heads.copy(), whole.column("deprel")
    place = int(whole.sentence_words[WRONG[0]]) + WRONG[1] - 1
    heads[place] = next(
        h for h in (1, 3, 4) if h not in (heads[place], WRONG[1]) and heads[place - WRONG[1] + h] != WRONG[1]
    )
    label = int(whole.sentence_words[20])
    labels[label] = "vocative"
    return whole.annotate(heads=heads, deprel=labels)


def test_planted_errors_are_doubted_first(planted):
    found = suspicious_words(planted, config=CONFIG)
    assert {(own.sentence, own.word) for own in found[:2]} == {WRONG, (20, 1)}
    right = toy_treebank()
    for own in found[:2]:
        gold = right[own.sentence]
        assert (own.instead_head, own.instead_label) == (
            gold.heads[own.word],
            gold.deprels[own.word - 1],
        )
        assert own.probability < 0.1 < own.instead_probability
        assert (own.head, own.label) == (
            planted[own.sentence].heads[own.word],
            planted[own.sentence].deprels[own.word - 1],
        )


def test_a_label_that_no_other_sentence_has_and_no_other_annotation_has_probability_0(planted):
    found = suspicious_words(planted, config=CONFIG, below=1.1)
    assert [own.probability > 0 for own in found] == [False, True]
    assert {own.label for own in found if own.probability == 0} == {"vocative"}


def test_each_sentence_is_judged_by_a_parser_that_never_saw_it(planted, monkeypatch):
    asked = []
    real = GraphParser.train.__func__

    def train(cls, treebank, *args, **options):
        asked.append({own.to_conllu() for own in treebank})
        return real(cls, treebank, *args, **options)

    monkeypatch.setattr(GraphParser, "train", classmethod(train))
    suspicious_words(planted, folds=4, config=CONFIG)
    every = {own.to_conllu() for own in planted}
    assert len(asked) == 4
    for fold, seen in enumerate(asked):
        part = {planted[s].to_conllu() for s in range(fold, len(planted), 4)}
        assert seen == every - part


def test_open_words_are_not_doubted(planted):
    heads = planted.heads.copy()
    place = int(planted.sentence_words[WRONG[0]]) + WRONG[1] - 1
    heads[place] = -1
    open_one = planted.annotate(heads=heads)
    assert WRONG not in {(own.sentence, own.word) for own in suspicious_words(open_one, config=CONFIG)}


def test_a_head_without_label_is_judged_by_itself(planted):
    labels = planted.column("deprel")
    labels[int(planted.sentence_words[20])] = "_"
    found = suspicious_words(planted.annotate(deprel=labels), config=CONFIG)
    assert (20, 1) not in {(own.sentence, own.word) for own in found}


def test_the_bound(planted):
    assert suspicious_words(planted, below=0.0, config=CONFIG) == []
    assert all(own.probability < 0.02 for own in suspicious_words(planted, below=0.02, config=CONFIG))
    with pytest.raises(InputError, match="found 3 annotated sentences, expected at least 5"):
        suspicious_words(planted[:3])


# ---- in the background


@pytest.mark.slow
def test_doubts_in_a_process_of_their_own(planted):
    blank = Treebank.from_string(toy_treebank()[0].to_conllu())
    blank = blank.annotate(heads=np.full(blank.word_count, -1, np.int32), deprel=["_"] * blank.word_count)
    treebank = Treebank.from_sentences([*blank, *planted])  # numbers are those of the file
    states = []
    found = ErrorDetection(on_change=states.append)
    found.start(treebank)
    with pytest.raises(InputError, match="already running"):
        found.start(treebank)
    found.changed([21])
    assert found.wait(120).state == "idle", found.state
    assert [own.word for own in found.of(WRONG[0] + 1)] == [WRONG[1]]
    assert found.of(21) == []  # it was edited meanwhile
    assert found.all()[0].sentence == WRONG[0] + 1
    assert len(states) > 3
    found.changed([WRONG[0] + 1])
    assert found.of(WRONG[0] + 1) == []


def test_a_change_of_the_number_of_sentences_forgets_what_follows(planted):
    found = ErrorDetection()
    right = suspicious_words(only_decided(planted), config=CONFIG)
    found._words = {own.sentence: [own] for own in right}
    found.changed([10], count=41)
    assert {own.sentence for own in found.all()} == {own.sentence for own in right if own.sentence < 10}


def test_too_little_to_doubt(planted):
    with pytest.raises(InputError, match=r"found 9 sentences with annotated heads.* needs at least 10"):
        ErrorDetection().start(planted[:9])


def test_cancelling(planted):
    found = ErrorDetection()
    found.start(Treebank(planted.data * 20))
    found.cancel()
    assert found.state.state == "cancelled"
    assert found.all() == []


@pytest.mark.slow
def test_doubts_are_the_same_in_processes(planted):
    few = planted[:12]
    assert suspicious_words(few, folds=2, config=CONFIG, engine=Processes(2)) == suspicious_words(
        few, folds=2, config=CONFIG
    )
