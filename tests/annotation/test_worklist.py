"""Worklists: order by definition, incremental scoring, invalidation by sentence."""

import time
from threading import Event

import numpy as np
import pytest

from annotation.decided import open_sentence, scored_parser, sentence_of
from arcwise.annotation.assistant import Assistant
from arcwise.annotation.gains import expected_gains, expected_repairs
from arcwise.annotation.states import ArcDecisions, first_unfinished
from arcwise.annotation.worklist import FAR_REACHING, Worklist
from arcwise.errors import OptionError
from arcwise.parsing.scored import Decoding, ScoredParser
from arcwise.parsing.scorer import FunctionScorer
from arcwise.treebanks import Treebank
from contracts.small_treebank import partial, small_treebank

LABELS = ("nsubj", "obj", "root")


def by_form(sentence):
    """Random scores that depend on the words and on nothing else."""
    seed = sum(map(ord, "".join(sentence.forms)))
    n = len(sentence)
    return np.random.default_rng(seed).normal(size=(len(LABELS), n + 1, n + 1)) * 1.5


@pytest.fixture
def assistant():
    return Assistant(ScoredParser(FunctionScorer(by_form, LABELS), decoding=Decoding("map", True, True)))


@pytest.fixture
def treebank():
    return partial(small_treebank())


def complete(worklist):
    while worklist.step(3):
        pass
    return worklist.items()


def expected(assistant, treebank, by):
    """Number → (value, word), from the thoughts about each sentence."""
    found = {}
    for own in treebank:
        thoughts = assistant.suggest(own, gains=True)
        open_words = [m for m, word in enumerate(thoughts.words, 1) if not word.decided_head]
        least = min(open_words, key=lambda m: thoughts.words[m - 1].probability)
        telling = max(open_words, key=lambda m: thoughts.words[m - 1].gain)
        found[own.number] = {
            "entropy": (thoughts.entropy, least),
            "least-sure": (1 - thoughts.words[least - 1].probability, least),
            "gain": (thoughts.words[telling - 1].gain, telling),
            "repairs": most_repaired(assistant, own),
        }[by]
    return found


def most_repaired(assistant, sentence):
    inferred = assistant.score(sentence).under(ArcDecisions.of(sentence))
    (weights,) = inferred.weights.matrices()
    found = expected_repairs(weights, inferred.marginals, inferred.heads, inferred.trees, least=0.005)
    values = found.expected * found.each**FAR_REACHING
    return values.max(), int(values.argmax()) + 1


@pytest.mark.parametrize("by", ["entropy", "least-sure", "gain", "repairs"])
def test_worklists_by_their_definition(assistant, treebank, by):
    items = complete(Worklist(treebank.__getitem__, len(treebank), assistant, by=by))
    right = {s: own for s, own in expected(assistant, treebank, by).items() if own[0] > 1e-5}
    assert 5 < len(right) < len(treebank)  # of one sentence the decisions leave one tree
    (certain,) = [item for item in items if item.number not in right]
    assert (items[-1], certain.value) == (certain, 0.0)  # unfinished, so it is listed: last
    assert [item.number for item in items[:-1]] == sorted(right, key=lambda s: (-right[s][0], s))
    for item in items[:-1]:
        assert item.value == pytest.approx(right[item.number][0], abs=1e-6)
        assert item.word == right[item.number][1]


@pytest.fixture
def unsure():
    """An assistant with flat probabilities."""
    scorer = FunctionScorer(lambda sentence: by_form(sentence) * 0.3, LABELS)
    return Assistant(ScoredParser(scorer, decoding=Decoding("map", True, True)))


def test_for_training_sentences_are_in_random_order_and_sure_words_are_left_out(unsure, treebank):
    assistant = unsure
    items = complete(Worklist(treebank.__getitem__, len(treebank), assistant, by="training"))
    assert len(items) == len(treebank)
    doubtful = {}
    for own in treebank:
        posterior = assistant.score(own).under(ArcDecisions.of(own))
        (weights,) = posterior.weights.matrices()
        gains = expected_gains(weights, posterior.marginals, posterior.trees, least=0.03).values
        words = [
            m
            for m, word in enumerate(assistant.suggest(own).words, 1)
            if not word.decided_head and word.probability < 0.5
        ]
        if words:
            doubtful[own.number] = max(words, key=lambda m: gains[m - 1])
    listed = [item.number for item in items if item.value]
    assert {number: item.word for number, item in zip(listed, items, strict=False)} == doubtful
    assert 3 < len(listed) < len(treebank)
    assert listed != sorted(listed)
    assert listed == [item.number for item in items][: len(listed)]  # the others come last


def test_the_random_order_for_training_stays_while_words_are_answered(unsure, treebank):
    def order(bank):
        items = complete(Worklist(bank.__getitem__, len(bank), unsure, by="training"))
        return [item.number for item in items if item.value]

    gold = small_treebank()
    begun = Treebank.from_sentences(
        gold[own.number] if own.number % 2 else own for own in treebank
    )  # every other sentence is finished
    assert order(begun) == [number for number in order(treebank) if number % 2 == 0]


def test_disagreement_is_what_the_parser_alone_finds_improbable(assistant, treebank):
    items = complete(Worklist(treebank.__getitem__, len(treebank), assistant, by="disagreement"))
    assert len(items) == len(treebank)
    for item in items:
        own = treebank[item.number]
        free = Assistant(assistant.parser, alternatives=1000, least=0).suggest(sentence_of_open(own))
        shares = {}
        for m, (head, label) in enumerate(zip(own.heads[1:].tolist(), own.deprels, strict=True), 1):
            if head >= 0:
                arcs = {(h, name): p for h, name, p in free.words[m - 1].alternatives}
                shares[m] = arcs.get((head, label), 0.0)
        word = min(shares, key=shares.__getitem__)
        assert item.word == word
        assert item.value == pytest.approx(1 - shares[word], abs=1e-6)


def sentence_of_open(sentence):
    blank = np.full(len(sentence), -1, np.int32)
    return sentence.annotate(heads=blank, deprel=["_"] * len(sentence))


def test_search_keeps_the_order_of_the_file(treebank):
    found = Worklist(
        treebank.__getitem__, len(treebank), None, by="search", hits=lambda own: 2 if len(own) == 5 else None
    )
    assert [(item.number, item.word) for item in complete(found)] == [
        (own.number, 2) for own in treebank if len(own) == 5
    ]


def test_sentences_with_nothing_to_do_are_not_listed(assistant):
    whole = small_treebank()
    for by in ("entropy", "least-sure", "gain", "training"):
        assert complete(Worklist(whole.__getitem__, len(whole), assistant, by=by)) == []


@pytest.mark.parametrize("by", ["entropy", "least-sure", "gain", "repairs", "training", "disagreement"])
def test_every_unfinished_sentence_is_in_every_list(assistant, by):
    """One word, whose head is certain; all heads but one label missing; a UPOS missing; nothing annotated."""
    row = "{}\t{}\t_\t{}\t_\t_\t{}\t{}\t_\t_\n"
    one_word = row.format(1, "Hi", "INTJ", "_", "_")
    no_label = row.format(1, "Birds", "NOUN", 2, "_") + row.format(2, "sing", "VERB", 0, "root")
    no_tag = row.format(1, "Birds", "NOUN", 2, "nsubj") + row.format(2, "sing", "_", 0, "root")
    blank = row.format(1, "Birds", "_", "_", "_") + row.format(2, "sing", "_", "_", "_")
    done = no_tag.replace("sing\t_\t_", "sing\t_\tVERB")
    treebank = Treebank.from_string("\n".join([one_word, no_label, no_tag, blank, done, ""]))

    def listed(**options):
        worklist = Worklist(treebank.__getitem__, len(treebank), assistant, by=by, **options)
        return {item.number: item.word for item in complete(worklist)}

    finished = {4} if by == "disagreement" else set()  # what is annotated is what it is about
    tags = listed(unfinished=lambda sentence: first_unfinished(sentence, tags=True))
    assert tags.keys() - finished == {0, 1, 2, 3}
    assert tags[0] == 1
    assert finished or tags[1] == 1
    assert listed().keys() - finished - {2} == {0, 1, 3}


def test_what_is_scored_can_be_used_before_the_rest_is(assistant, treebank):
    worklist = Worklist(treebank.__getitem__, len(treebank), assistant, by="entropy")
    assert (worklist.scored, worklist.ready, worklist.items()) == (0, False, [])
    assert worklist.step(3) == 3
    assert {item.number for item in worklist.items()} == {0, 1, 2}
    complete(worklist)
    assert worklist.ready


def test_an_edit_scores_its_sentence_anew_and_no_other(assistant, treebank):
    sentences = list(treebank)
    asked = []

    def sentence(s):
        asked.append(s)
        return sentences[s]

    worklist = Worklist(sentence, len(sentences), assistant, by="entropy")
    before = {item.number: item.value for item in complete(worklist)}
    asked.clear()
    sentences[2] = small_treebank()[2]
    worklist.changed([2])
    assert not worklist.ready
    assert 2 not in {item.number for item in worklist.items()}
    complete(worklist)
    assert asked == [2]
    assert {item.number: item.value for item in worklist.items()} == {
        s: value for s, value in before.items() if s != 2
    }


def test_what_was_edited_is_scored_before_what_waits(assistant, treebank):
    worklist = Worklist(treebank.__getitem__, len(treebank), assistant, by="entropy")
    worklist.step(2)
    worklist.changed([1, 4])
    worklist.step(2)
    assert {item.number for item in worklist.items()} == {0, 1, 4}


def test_a_sentence_that_changes_while_it_is_scored_is_scored_again(assistant, treebank):
    worklist = Worklist(lambda s: sentence(s), len(treebank), assistant, by="entropy")
    late = []

    def sentence(s):
        if s == 1 and not late:
            late.append(s)
            worklist.changed([1])
        return treebank[s]

    worklist.step(100)
    assert worklist.scored == len(treebank) - 1
    assert not worklist.ready
    assert worklist.step() == 1
    assert worklist.ready


def test_a_split_sentence_moves_all_that_follow(assistant, treebank):
    sentences = list(treebank)
    worklist = Worklist(lambda s: sentences[s], len(sentences), assistant, by="entropy")
    complete(worklist)
    sentences.insert(3, sentences[0])
    worklist.changed([2], count=len(sentences))
    assert {item.number for item in worklist.items()} == {0, 1}
    items = {item.number: item.value for item in complete(worklist)}
    assert items[3] == items[0]
    del sentences[3:]
    worklist.changed([3], count=3)
    assert {item.number for item in complete(worklist)} == {0, 1, 2}
    assert worklist.ready


def test_the_thread_scores_everything_and_goes_on_with_edits(assistant, treebank):
    worklist = Worklist(treebank.__getitem__, len(treebank), assistant, by="gain")
    worklist.start()
    worklist.start()
    try:
        wait_for(lambda: worklist.ready)
        worklist.changed([4])
        wait_for(lambda: worklist.ready)
    finally:
        worklist.stop()
    assert len(worklist.items()) == len(treebank)


def test_stopping_does_not_wait_for_the_rest(assistant):
    going = Event()

    def sentence(s):
        going.set()
        time.sleep(0.001)
        return open_sentence(3)

    worklist = Worklist(sentence, 1_000_000, Assistant(scored_parser(3)), by="least-sure")
    worklist.start()
    going.wait(5)
    worklist.stop()
    assert worklist.scored < 1_000_000


def test_a_sentence_that_cannot_be_read_spoils_no_other(assistant):
    broken = Treebank(b"1\ta\n\n", strict=False)
    sentences = [open_sentence(3), *broken, sentence_of([2, 1, -1]), open_sentence(2)]
    worklist = Worklist(lambda s: sentences[s], 5, assistant, by="entropy")
    items = {item.number for item in complete(worklist)}
    assert items >= {0, len(sentences) - 2, len(sentences) - 1}
    assert worklist.ready


def test_options_are_checked():
    with pytest.raises(OptionError, match="by: found 'size', expected one of entropy"):
        Worklist(open_sentence, 1, Assistant(scored_parser(1)), by="size")
    with pytest.raises(OptionError, match="which needs a parser with probabilities"):
        Worklist(open_sentence, 1, None, by="gain")
    with pytest.raises(OptionError, match="hits: found none"):
        Worklist(open_sentence, 1, None, by="search")


def wait_for(condition):
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)
