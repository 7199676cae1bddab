"""The simulated annotator of benchmarks/annotation.py counts what it says it counts."""

from dataclasses import replace

import numpy as np
import pytest
from benchmarks import annotation, annotation_learning
from benchmarks.annotation_learning import Committee, Point, Strategy, learning, visible
from benchmarks.simulated_annotator import ORDERS, Session, least_sure, walk

from annotation.decided import scored_parser, sentence_of
from arcwise.annotation.assistant import Assistant
from arcwise.graph import GraphConfig, GraphParser
from arcwise.treebanks import Treebank
from reference.enumerate_trees import all_trees
from text.toy import toy_treebank

TREES = all_trees(5, projective=True, single_root=True)


def trees(count=12):
    """Sentences with random gold trees."""
    rng = np.random.default_rng(2)
    heads = [TREES[rng.integers(len(TREES))][1:].tolist() for _ in range(count)]
    return [sentence_of(own, ["obj"] * 5) for own in heads]


def sessions(count=12):
    """Sentences with random gold trees under a parser that knows nothing of them."""
    assistant = Assistant(scored_parser(5, seed=4))
    return [Session.of(assistant, sentence) for sentence in trees(count)]


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


@pytest.mark.parametrize("members", [1, 3])
def test_words_are_answered_until_the_parsers_are_sure_of_the_others(members):
    assistants = [Assistant(scored_parser(5, seed=seed)) for seed in range(4, 4 + members)]
    for sentence in trees():
        committee = Committee(assistants, sentence, labels=False)
        committee.annotate(0.7, 1.0)
        assert {frozenset(session.looked) for session in committee.sessions} == {
            frozenset(committee.first.looked)
        }
        shares = np.mean([session.inferred.marginals for session in committee.sessions], axis=0).max(axis=0)
        if members == 1:
            shares = [1.0, *committee.first.inferred.result.head_probability]
        assert all(shares[m] >= 0.7 for m in committee.first.open)


def test_a_committee_is_as_sure_as_its_members_on_average():
    first, second = (Assistant(scored_parser(5, seed=seed)) for seed in (4, 5))
    (sentence,) = trees(1)
    both = Committee([first, second], sentence, labels=False)
    alone = [Committee([one], sentence, labels=False) for one in (first, second)]
    mean = np.mean([one.marginals() for one in alone], axis=0)
    np.testing.assert_allclose(both.confidence(), mean.max(axis=0)[1:])


def test_at_most_a_share_of_the_words_is_answered():
    assistant = Assistant(scored_parser(5, seed=4))
    for sentence in trees():
        committee = Committee([assistant], sentence, labels=False)
        committee.annotate(1.1, 0.4)
        assert len(committee.first.looked) == 2


SMALL = GraphConfig(trainer="log-linear", epochs=2, arc_bits=14, row_bits=14)


@pytest.mark.parametrize(
    "strategy",
    [
        Strategy(),
        Strategy(members=2),
        Strategy(calibrated=True),
        Strategy(completed=0.9),
        Strategy(labels=True, sure=0.4),
        Strategy(choose="novelty", active=20),
        Strategy(sure=0.6, last=0.3),
    ],
    ids=str,
)
def test_learning_from_answers_and_what_is_sure_around_them(strategy):
    treebank = toy_treebank()[:40]
    points = list(learning(treebank, treebank, replace(strategy, batch=10, config=SMALL)))
    assert [one.sentences for one in points] == [20, 30, 40]
    assert points[0].answered == treebank[:20].word_count
    asked = points[-1].answered - points[0].answered
    assert 0 <= asked < 0.5 * (treebank.word_count - points[0].answered)
    assert points[-1].uas >= 0.95


def test_the_threshold_moves_with_the_sentences():
    strategy = Strategy(sure=0.6, last=0.4)
    assert [strategy.threshold(n) for n in (0, 500, 1000, 3000)] == pytest.approx([0.6, 0.5, 0.4, 0.4])
    assert Strategy(sure=0.6).threshold(500) == 0.6


def test_without_tags_the_parser_sees_words_alone():
    treebank = toy_treebank()[:3]
    assert visible(treebank, Strategy()) is treebank
    blank = visible(treebank, Strategy(tags=False))
    assert {*blank.column("upos"), *blank.column("lemma"), *blank.column("feats")} == {"_"}
    assert blank.heads.tolist() == treebank.heads.tolist()


def test_confident_heads_complete_the_trees_that_the_next_parser_learns_from(monkeypatch):
    seen = []
    train = annotation_learning.trained
    monkeypatch.setattr(
        annotation_learning, "trained", lambda data, strategy: seen.append(data) or train(data, strategy)
    )
    treebank = toy_treebank()[:30]
    for completed in (None, 0.5):
        list(learning(treebank, treebank, Strategy(batch=10, config=SMALL, sure=0.3, completed=completed)))
    answered, more = (int((data.heads >= 0).sum()) for data in (seen[1], seen[3]))
    assert answered < more


def test_the_curve_is_interpolated_between_trainings():
    points = (Point(20, 100, 0.5, 0.4), Point(70, 300, 0.7, 0.6))
    race = annotation.Race("toy", Point(50, 1000, 0.7, 0.6), points)
    assert race.uas_at(0.2) == pytest.approx(0.6)
    assert race.uas_at(0.1) == 0.5
    assert race.uas_at(0.05) is None
    assert race.uas_at(0.4) is None
    assert race.share == 0.3
    assert race.reached


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
    counts = []

    def first(parser, sentences, candidates, count, strategy, known):
        counts.append(count)
        return candidates[-count:]

    monkeypatch.setattr(annotation_learning, "chosen", first)
    treebank = toy_treebank()[:50]
    config = replace(SMALL, epochs=1)
    strategy = Strategy(choose=choose, sure=0.4, batch=10, active=30, config=config)
    points = list(learning(treebank, treebank, strategy))
    assert [point.sentences for point in points] == [20, 30, 40, 50]
    assert counts == ([chosen] * 2 if chosen else [])
    sure = list(learning(treebank, treebank, replace(strategy, sure=0.9)))
    assert sure[-1].answered > points[-1].answered
