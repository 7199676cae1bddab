"""Probable errors of a document: found in the background by mining, ranked anew by answers."""

from __future__ import annotations

import numpy as np
import pytest

from arcwise.annotation.error_detection import ErrorDetection
from arcwise.annotation.mining_task import mining_task
from arcwise.errors import InputError
from arcwise.treebanks import Treebank
from arcwise.treebanks.search import MassEdit
from text.toy import toy_treebank

WRONG = (7, 2)
"""Sentence and word (1..n) of the planted error."""
SAME = (20, 24)
"""Sentences whose first word has the same wrong label."""


@pytest.fixture(scope="module")
def planted() -> Treebank:
    """A treebank with one wrong head and a wrong label, twice."""
    whole = toy_treebank()[:40]
    heads, labels = whole.heads.copy(), whole.column("deprel")
    place = int(whole.sentence_words[WRONG[0]]) + WRONG[1] - 1
    heads[place] = next(
        h for h in (1, 3, 4) if h not in (heads[place], WRONG[1]) and heads[place - WRONG[1] + h] != WRONG[1]
    )
    for number in SAME:
        labels[int(whole.sentence_words[number])] = "vocative"
    return whole.annotate(heads=heads, deprel=labels)


@pytest.fixture(scope="module")
def message(planted: Treebank) -> dict[str, object]:
    """What the child process answers."""
    request = {"source": "<decided>", "answered": []}
    return dict(mining_task(request, planted.data, lambda progress: None))


def detection(planted: Treebank, message: dict[str, object]) -> ErrorDetection:
    """As after a search, without a child process."""
    made = ErrorDetection()
    made._numbers = list(range(len(planted)))
    made._done(message)
    return made


def test_planted_errors_come_first_with_the_right_proposal(
    planted: Treebank, message: dict[str, object]
) -> None:
    found = detection(planted, message).all()
    assert {(word.sentence, word.word) for word in found[:3]} == {WRONG, *((number, 1) for number in SAME)}
    right = toy_treebank()
    for word in found[:3]:
        gold = right[word.sentence]
        assert (word.instead_head, word.instead_label) == (gold.heads[word.word], gold.deprels[word.word - 1])
        assert word.reasons
        assert word.probability > 0.1
        edited = MassEdit.parse(word.query, word.changes).apply(planted) if word.changes else right
        same = edited[word.sentence]
        assert (same.heads[word.word], same.deprels[word.word - 1]) == (word.instead_head, word.instead_label)
    assert [word.probability for word in found] == sorted((w.probability for w in found), reverse=True)


def test_words_annotated_alike_are_changed_together(planted: Treebank, message: dict[str, object]) -> None:
    """“Apply to all like this”: the query of one wrong label finds the other one."""
    word = next(word for word in detection(planted, message).all() if word.label == "vocative")
    edited = MassEdit.parse(word.query, word.changes).apply(planted)
    changed = [
        n for n, (a, b) in enumerate(zip(planted, edited, strict=True)) if a.to_conllu() != b.to_conllu()
    ]
    alike = [
        number
        for number in SAME
        if (planted[number].lemmas[0], planted[number].upos[0])
        == (planted[word.sentence].lemmas[0], planted[word.sentence].upos[0])
    ]
    assert changed == alike


def test_an_answer_takes_a_word_off_the_list_and_moves_the_others(
    planted: Treebank, message: dict[str, object]
) -> None:
    made = detection(planted, message)
    one, other = (next(word for word in made.of(number) if word.label == "vocative") for number in SAME)
    made.answer(one.key, "correct")
    assert one.key not in {word.key for word in made.all()}
    less = next(word for word in made.all() if word.key == other.key)
    assert less.probability < other.probability
    made.answer(other.key, "acknowledged")
    assert not [word for word in made.all() if word.label == "vocative"]


def test_words_judged_before_are_not_listed(planted: Treebank, message: dict[str, object]) -> None:
    first = detection(planted, message).all()[0]
    again = ErrorDetection(verdicts=lambda: {first.key: "correct"})
    again._answers = {first.key: "correct"}
    again._numbers = list(range(len(planted)))
    again._done(message)
    assert first.key not in {word.key for word in again.all()}


@pytest.mark.slow
def test_a_search_in_a_process_of_its_own(planted: Treebank) -> None:
    blank = Treebank.from_string(toy_treebank()[0].to_conllu())
    blank = blank.annotate(heads=np.full(blank.word_count, -1, np.int32), deprel=["_"] * blank.word_count)
    treebank = Treebank.from_sentences([*blank, *planted])  # numbers are those of the file
    states = []
    made = ErrorDetection(on_change=states.append)
    made.start(treebank)
    with pytest.raises(InputError, match="already running"):
        made.start(treebank)
    made.changed([21])
    assert made.wait(120).state == "idle", made.state
    assert WRONG[1] in [word.word for word in made.of(WRONG[0] + 1)]
    assert made.of(21) == []  # it was edited meanwhile
    assert made.all()[0].sentence == WRONG[0] + 1
    assert len(states) > 3
    made.changed([WRONG[0] + 1])
    assert made.of(WRONG[0] + 1) == []


def test_a_change_of_the_number_of_sentences_forgets_what_follows(
    planted: Treebank, message: dict[str, object]
) -> None:
    made = detection(planted, message)
    before = {word.sentence for word in made.all()}
    made.changed([10], count=41)
    assert {word.sentence for word in made.all()} == {number for number in before if number < 10}


def test_too_few_sentences(planted: Treebank) -> None:
    with pytest.raises(InputError, match=r"found 9 sentences with annotated heads.* needs at least 10"):
        ErrorDetection().start(planted[:9])


def test_cancelling(planted: Treebank) -> None:
    made = ErrorDetection()
    made.start(Treebank(planted.data * 20))
    made.cancel()
    assert made.state.state == "cancelled"
    assert made.all() == []
