"""What the tokenizer learns from: at which characters it decides, among what, and what is right there."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from arcwise import native
from arcwise.text.tokenizer import Tokenizer, TokenizerConfig
from arcwise.treebanks import Treebank
from reference.log_linear import Options

INSIDE, WORD, SENTENCE = 0, 1, 2
AFTER_SPACE, ANYWHERE = 0, 1
"""Sets of candidates: before white space a word or a sentence ends; elsewhere the word may go on."""


def marked(text: str) -> tuple[bytes, Any, Any, Any]:
    """A text whose words end at ``|`` and whose sentences end at ``#``, as native input."""
    plain, first, last, ends = "", [], [], []
    start = 0
    for character in text:
        if character in "|#":
            first.append(start + len(plain[start:]) - len(plain[start:].lstrip()))
            last.append(len(plain))
            ends.append(character == "#")
            start = len(plain)
        else:
            plain += character
    return plain.encode(), np.array(first, np.uint32), np.array(last, np.uint32), np.array(ends, np.uint8)


def decisions(text: str) -> list[tuple[int, int]]:
    _, sets, gold = native.Tokenizer.training_items(*marked(text))
    return list(zip(sets.tolist(), gold.tolist(), strict=True))


def features(text: str) -> list[set[int]]:
    (starts, keys), _, _ = native.Tokenizer.training_items(*marked(text))
    return [set(keys[a:b].tolist()) for a, b in pairwise(starts)]


def test_decisions_stand_at_the_ends_of_words_and_between_characters_that_may_be_cut() -> None:
    # a|b cut nowhere; letter and full stop are cut; the last character ends the text.
    assert decisions("ab| cd|.# ef|.#") == [
        (AFTER_SPACE, WORD),  # ab
        (ANYWHERE, WORD),  # cd before the stop
        (AFTER_SPACE, SENTENCE),  # . before a space
        (ANYWHERE, WORD),  # ef
    ]


def test_where_a_pair_of_classes_is_cut_at_times_each_is_a_decision() -> None:
    assert decisions("a-b| c|-|d|#") == [
        (ANYWHERE, INSIDE),  # a before -
        (ANYWHERE, INSIDE),  # - before b
        (AFTER_SPACE, WORD),
        (ANYWHERE, WORD),  # c
        (ANYWHERE, WORD),  # -
    ]


def test_a_blank_line_is_no_decision() -> None:
    assert decisions("ab#\n\ncd| ef#") == [(AFTER_SPACE, WORD)]


def test_words_with_spaces_make_a_space_a_decision() -> None:
    assert decisions("1 000| 2| a#") == [(ANYWHERE, INSIDE), (ANYWHERE, WORD), (AFTER_SPACE, WORD)]


def test_pairs_cut_next_to_never_are_no_decisions() -> None:
    """Once among more than 5,000 (RARE_CUT); then the word is learned as if it went on."""
    once, more_often = "ab " * 6000 + "a|b|#", "ab " * 4000 + "a|b|#"
    for text, count in ((once, 6000), (more_often, 8001)):
        assert len(decisions(text.replace("ab ", "ab| "))) == count


def test_words_that_have_a_space_next_to_never_are_learned_as_two() -> None:
    assert set(decisions("1| 2| " * 3000 + "1 2| a#")) == {(AFTER_SPACE, WORD)}


def test_words_seen_more_than_once_are_known() -> None:
    def vocabulary(text: str) -> set[int]:
        return set(native.Tokenizer.train(*marked(text), Options().as_tuple()).vocabulary().tolist())

    assert len(vocabulary("ab| cd| Ab| ef#")) == 1
    assert vocabulary("ab| cd| Ab| ef#") == vocabulary("ab| gh| ab| ab#")
    assert len(vocabulary("ab| cd| cd| ab#")) == 2


def test_a_long_sentence_is_learned_from_as_it_is() -> None:
    """In decoding it is cut after 300 words; features of training do not see such a cut."""
    found = features("a| " * 400 + "a#")
    assert len(found) == 400
    assert found[299 + 20] == found[290] == found[380]
    assert found[5] != found[290]


def test_weights_are_those_of_a_choice_among_three_cuts() -> None:
    text = marked("ab| cd|.# ef| gh|,| ab|.# cd|.#")
    (starts, keys), sets, gold = native.Tokenizer.training_items(*text)
    candidates = (np.array([0, 1, 2, 3], np.uint32), np.array([0, 1, 2], np.uint32))
    competing = (np.array([0, 2, 5], np.uint32), np.array([1, 2, 0, 1, 2], np.uint32))
    options = Options(epochs=4, damping=0.1, l2=1e-3, dropout=0.3, prune=0.01, seed=3).as_tuple()
    expected = native.softmax_train((starts, keys), candidates, competing, 3, sets, gold, options)
    found = native.Tokenizer.train(*text, options).cuts()
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    "changed",
    [{"dropout": 0.0}, {"damping": 1.0}, {"rate": 0.01}, {"l2": 0.5}, {"min_count": 3}, {"epochs": 2}],
)
def test_options_reach_the_trainer(changed: dict[str, float]) -> None:
    rows = (
        "1\tNo\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No\n2\t.\t_\t_\t_\t_\t_\t_\t_\t_\n\n"
        "1\tYes\t_\t_\t_\t_\t_\t_\t_\t_\n\n"
    )
    weights = [
        Tokenizer.train(Treebank.from_string(5 * rows), config=TokenizerConfig(**options))._model.cuts()[3]  # type: ignore[arg-type]
        for options in ({}, changed)
    ]
    assert weights[0].tobytes() != weights[1].tobytes()
