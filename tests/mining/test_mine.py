"""``mine``: planted errors come first, and odd treebanks have results or clear messages."""

from __future__ import annotations

import numpy as np
import pytest

from arcwise.engine import local_engine
from arcwise.errors import InputError, OptionError
from arcwise.mining import MiningResult, Revisions, mine
from arcwise.mining.crossfit import Effort
from arcwise.treebanks import Treebank
from mining.planted import conllu, planted, toy

QUICK = Effort(folds=2, epochs=2, parsers=("graph", "greedy"))


def average_precision(result: MiningResult, wrong: set[tuple[int, int]]) -> float:
    words = result.words
    hits = [
        (int(words.sentence[w]), int(words.position[w])) in wrong
        for w in result.ranking()
        if words.upos[w] != "PUNCT"
    ]
    ranks = np.flatnonzero(hits) + 1
    return float(np.mean(np.arange(1, len(ranks) + 1) / ranks))


@pytest.mark.slow
def test_planted_errors_come_first_with_the_right_proposals() -> None:
    bank, wrong = planted(160)
    result = mine(bank, time=QUICK)
    assert average_precision(result, wrong) > 0.8
    first = result.suspects(len(wrong))
    hits = [s for s in first if (s.sentence, s.word) in wrong]
    original = Treebank.from_string(conllu(toy(160)))
    right = [
        s.proposed_head == original[s.sentence].head_ids[s.word]
        and s.proposed_label == original[s.sentence].deprels[s.word - 1]
        for s in hits
    ]
    assert np.mean(right) > 0.8
    assert all(s.reasons for s in hits)


def test_statistics_alone_rank_planted_errors_high() -> None:
    bank, wrong = planted(120)
    result = mine(bank, signals=["variation", "frames", "lexicon", "rules"])
    assert average_precision(result, wrong) > 0.5


@pytest.mark.process
@pytest.mark.slow
def test_the_result_does_not_depend_on_the_number_of_processes() -> None:
    bank, _ = planted(24)
    effort = Effort(folds=2, epochs=1, parsers=("graph", "greedy"))
    results = [mine(bank, time=effort, engine=local_engine(count)) for count in (1, 2)]
    assert results[0].log_odds.tolist() == results[1].log_odds.tolist()
    assert results[0].suspects() == results[1].suspects()


def test_a_treebank_of_one_sentence_has_a_ranking() -> None:
    bank = Treebank.from_string(conllu(toy(1)))
    result = mine(bank, time=QUICK)
    assert len(result.suspects()) == bank.word_count


@pytest.mark.slow
def test_twenty_sentences_without_labels_or_tags_have_a_ranking() -> None:
    bank = Treebank.from_string(conllu(toy(20)))
    blank = ["_"] * bank.word_count
    bare = bank.annotate(deprel=blank, upos=blank, lemma=blank)
    result = mine(bare, time=QUICK)
    assert len(result.suspects()) == bank.word_count
    assert all(s.label == "_" for s in result.suspects())


@pytest.mark.slow
def test_words_without_a_head_are_not_listed() -> None:
    bank = Treebank.from_string(conllu(toy(20)))
    heads = np.array(bank.heads)
    heads[::3] = -1
    partial = bank.annotate(heads=heads, strict=False)
    result = mine(partial, time=QUICK)
    suspects = result.suspects()
    assert len(suspects) == int((heads >= 0).sum())
    assert all(suspect.head >= 0 for suspect in suspects)


def test_a_treebank_without_heads_is_refused() -> None:
    bank = Treebank.from_string("1\tgo\t_\t_\t_\t_\t_\t_\t_\t_\n\n", source="bare.conllu")
    with pytest.raises(InputError, match=r"^bare\.conllu: no head is annotated"):
        mine(bank)


def test_unknown_signals_and_times_are_refused() -> None:
    bank = Treebank.from_string(conllu(toy(2)))
    with pytest.raises(OptionError, match="signals: found 'guess'"):
        mine(bank, signals=["guess"])
    with pytest.raises(OptionError, match="time: found 'slow'"):
        mine(bank, time="slow")


def test_revisions_compare_sentences_with_the_same_words() -> None:
    sentences = toy(30)
    old = Treebank.from_string(conllu(sentences))
    for rows in sentences[:25]:
        rows[0][3] = "nmod:poss"  # a sweep
    sentences[26][1][3] = "appos"
    sentences[28][0][0] = "another"
    new = Treebank.from_string(conllu(sentences))
    revisions = Revisions.between(old, new)
    starts = old.sentence_words.astype(int)
    assert revisions.revised.sum() == 26
    assert np.flatnonzero(revisions.scattered).tolist() == [starts[26] + 1]
    assert not revisions.compared[starts[28] : starts[29]].any()
    assert revisions.labels[starts[0]] == "nmod"
