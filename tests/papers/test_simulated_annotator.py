"""The simulated annotator of benchmarks/annotation.py counts what it says it counts."""

import numpy as np
import pytest
from benchmarks import annotation
from benchmarks.simulated_annotator import ORDERS, Session, least_sure, until_sure, walk

from annotation.decided import scored_parser, sentence_of
from arcwise.annotation.assistant import Assistant
from arcwise.graph import GraphConfig, GraphParser
from arcwise.treebanks import Treebank
from reference.enumerate_trees import all_trees
from text.toy import toy_treebank

TREES = all_trees(5, projective=True, single_root=True)


def sessions(count=12):
    """Sentences with random gold trees under a parser that knows nothing of them."""
    assistant = Assistant(scored_parser(5, seed=4))
    rng = np.random.default_rng(2)
    trees = [TREES[rng.integers(len(TREES))][1:].tolist() for _ in range(count)]
    return [Session.of(assistant, sentence_of(heads, ["obj"] * 5)) for heads in trees]


@pytest.mark.parametrize("order", ORDERS)
def test_the_walk_ends_when_so_many_heads_are_right(order):
    own = sessions()
    found = walk(own, ORDERS[order], 0.8)
    right = sum(len(one) - one.wrong for one in own)
    assert right >= 0.8 * 60
    assert found.errors_after == 60 - right
    assert found.looked == sum(len(one.looked) for one in own) < 60
    assert 0 < found.decisive <= found.looked
    assert found.share == found.looked / 60
    assert found.repaired == (found.errors_before - found.errors_after) / found.decisive


def test_answers_stay_and_the_rest_follows():
    (one,) = sessions(1)
    proposed = list(one.inferred.heads)
    for word in (3, 1):
        decisive = one.answer(word)
        assert decisive == (proposed[word - 1] != one.gold.heads[word - 1])
        assert one.inferred.heads[word - 1] == one.gold.heads[word - 1]
        proposed = list(one.inferred.heads)
    assert one.open == [2, 4, 5]
    given = one.gold.without(one.open)
    assert proposed == one.scored.under(given).heads


def test_the_least_sure_word_of_all_sentences_is_asked_first():
    own = sessions()
    doubts = [max(least_sure(one.inferred)) for one in own]
    walk(own, least_sure, (60 - sum(one.wrong for one in own) + 0.5) / 60)  # until one more head is right
    asked = [s for s, one in enumerate(own) if one.looked]
    assert asked[0] == int(np.argmax(doubts)) or doubts.count(max(doubts)) > 1


def test_looking_until_the_parser_is_sure():
    for one in sessions():
        until_sure(one, 0.7)
        shares = one.inferred.result.head_probability
        assert all(shares[m - 1] >= 0.7 for m in one.open)


def test_learning_from_answers_and_what_is_sure_around_them(monkeypatch):
    monkeypatch.setattr(
        annotation, "CONFIG", GraphConfig(trainer="log-linear", epochs=2, arc_bits=14, row_bits=14)
    )
    monkeypatch.setattr(annotation, "BATCH", 10)
    treebank = toy_treebank()[:40]
    points = list(annotation.thinking_along(treebank, treebank))
    assert [one.sentences for one in points] == [20, 30, 40]
    assert points[0].answered == treebank[:20].word_count
    asked = points[-1].answered - points[0].answered
    assert 0 <= asked < 0.5 * (treebank.word_count - points[0].answered)
    assert points[-1].uas >= 0.95


def test_what_is_learned_from_are_the_answers_and_nothing_else():
    treebank = toy_treebank()[:10]
    parser = GraphParser.train(treebank, config=GraphConfig(epochs=1, arc_bits=12, row_bits=12))
    for own in treebank:
        session = Session.of(Assistant(parser), own)
        for word in range(1, len(own) + 1, 2):
            session.answer(word)
        (written,) = Treebank(session.answers.in_bytes(own.conllu_bytes))
        for m, (found, right) in enumerate(zip(written.heads[1:], own.heads[1:], strict=True), start=1):
            assert found == (right if m % 2 else -1)


@pytest.mark.parametrize(("choose", "chosen"), [("random", 0), ("half", 5), ("entropy", 10)])
def test_batches_mix_random_sentences_with_those_of_high_entropy(monkeypatch, choose, chosen):
    config = GraphConfig(trainer="log-linear", epochs=1, arc_bits=12, row_bits=12)
    counts = []

    def first(parser, sentences, candidates, count):
        counts.append(count)
        return candidates[-count:]

    for name, value in {"CONFIG": config, "BATCH": 10, "RANDOM": 30, "chosen": first}.items():
        monkeypatch.setattr(annotation, name, value)
    treebank = toy_treebank()[:50]
    points = list(annotation.thinking_along(treebank, treebank, choose=choose, sure=0.4))
    assert [point.sentences for point in points] == [20, 30, 40, 50]
    assert counts == ([chosen] * 2 if chosen else [])
    sure = list(annotation.thinking_along(treebank, treebank, choose=choose, sure=0.9))
    assert sure[-1].answered > points[-1].answered
