"""The words of a treebank as arrays."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arcwise.evaluation import evaluate
from arcwise.evaluation.words import MISSING, ROOT, Codebook, WordColumns
from evaluation.samples import BIRDS, CONTRACTION, sentence, treebank


def test_tokens_words_and_characters() -> None:
    words = WordColumns(treebank(CONTRACTION), Codebook())
    assert words.characters == "WirgehenzumSee!?"
    assert words.token_spans.tolist() == [[0, 3], [3, 8], [8, 11], [11, 14], [14, 16]]
    assert words.spans.tolist() == [[0, 3], [3, 8], [8, 11], [8, 11], [11, 14], [14, 16], [14, 16]]
    assert words.in_multiword.tolist() == [False, False, True, True, False, True, True]
    assert words.sentence_spans.tolist() == [[0, 16]]


def test_heads_are_numbers_of_words_in_the_whole_treebank() -> None:
    words = WordColumns(treebank(CONTRACTION, BIRDS.replace("3\tpunct", "_\tpunct")), Codebook())
    assert words.heads.tolist() == [1, ROOT, 4, 4, 1, 1, 1, 8, 9, ROOT, 12, 12, 9, MISSING]
    assert words.sentence.tolist() == [0] * 7 + [1] * 7


@pytest.mark.parametrize(
    ("rows", "in_multiword"),
    [
        (["1-5 ab", "1 a", "2 b"], [True, True]),  # the range leaves the sentence
        (["1-3 abc", "1 a", "2-3 bc", "2 b", "3 c"], [True, True, True]),  # a range in a range
        (["2-1 x", "1 a"], [False]),  # an empty range
        (["1 a", "2-3 x"], [False]),  # a range at the end
    ],
)
def test_broken_multiword_ranges(rows: list[str], in_multiword: list[bool]) -> None:
    words = WordColumns(treebank(sentence(*rows)), Codebook())
    assert words.in_multiword.tolist() == in_multiword
    assert len(words.spans) == len(in_multiword)


@given(st.lists(st.text("abä", max_size=3).map(lambda s: s or "_"), min_size=1, max_size=20))
def test_codes_stand_for_the_column(lemmas: list[str]) -> None:
    bank = treebank(sentence(*(f"{i} w {lemma}" for i, lemma in enumerate(lemmas, 1))))
    codes, strings = bank.layout.column_codes(bank.data, bank.layout.word_rows, 2)
    assert [strings[code] for code in codes] == lemmas
    assert len(set(strings)) == len(strings)


def test_codes_out_of_range() -> None:
    bank = treebank(BIRDS)
    for rows, column in ((np.array([7], np.uint32), 1), (bank.layout.word_rows, 10)):
        with pytest.raises(IndexError):
            bank.layout.column_codes(bank.data, rows, column)


def test_nothing_at_all() -> None:
    nothing = treebank("# no words\n\n")
    result = evaluate(nothing, nothing, by=["label", "length", "crossing", "sentence"], confusion=True)
    assert result.attachment.uas == result.conll18["LAS"].f1 == 0.0
    assert result.confusions == []
