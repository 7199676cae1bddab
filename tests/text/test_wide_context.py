"""Sentence ends in texts without punctuation: the words that show them may be far away."""

from __future__ import annotations

import io
import random
from dataclasses import replace

import pytest

from arcwise.errors import OptionError
from arcwise.evaluation import evaluate
from arcwise.text.plain_text import plain_text
from arcwise.text.text_stream import stream_text
from arcwise.text.tokenizer import Tokenizer, TokenizerConfig
from arcwise.treebanks import Treebank

UNTUNED = TokenizerConfig(folds=0)


def verb_third(count: int, seed: int, *, stop: str = "", before: str = "") -> Treebank:
    """Sentences of which the third word is the verb, known by its ending; nothing nearer shows the end.

    ``before``: what all words start with.
    """
    draw = random.Random(seed)
    nouns, stems = ("bas", "dos", "gus", "kis", "les", "mas"), ("ri", "to", "pa", "nu")
    rows = []
    for _ in range(count):
        words = [draw.choice(nouns) for _ in range(draw.randint(3, 7))]
        words[2] = draw.choice(stems) + "da"
        words = [before + word for word in words] + [stop] * bool(stop)
        rows.append("".join(f"{i}\t{w}\t_\t_\t_\t_\t_\t_\t_\t_\n" for i, w in enumerate(words, 1)))
    return Treebank.from_string("\n".join(rows) + "\n")


def sentence_f1(tokenizer: Tokenizer, gold: Treebank) -> float:
    return evaluate(gold, tokenizer.tokenize(plain_text(gold).text).treebank).conll18["Sentences"].f1


@pytest.fixture(scope="module")
def wide() -> Tokenizer:
    return Tokenizer.train(verb_third(300, 1), config=replace(UNTUNED, context="wide"))


def test_wide_context_sees_what_narrow_context_cannot(wide: Tokenizer) -> None:
    narrow = Tokenizer.train(verb_third(300, 1), config=replace(UNTUNED, context="narrow"))
    gold = verb_third(60, 2)
    assert sentence_f1(wide, gold) > 0.9
    assert sentence_f1(narrow, gold) < 0.6


@pytest.mark.parametrize(("stop", "expected"), [("", True), (".", False)])
def test_context_is_wide_where_sentences_end_without_punctuation(stop: str, expected: bool) -> None:
    tokenizer = Tokenizer.train(verb_third(20, 1, stop=stop), config=UNTUNED)
    assert tokenizer._model.wide_context is expected
    assert ("wide_context" in tokenizer.pack().header) is expected


def test_wide_context_travels_with_the_model(wide: Tokenizer) -> None:
    text = plain_text(verb_third(40, 3)).text
    restored = Tokenizer.unpack(wide.pack("float32"))
    assert restored._model.wide_context
    assert restored.tokenize(text).treebank.data == wide.tokenize(text).treebank.data


@pytest.mark.parametrize("piece", [1, 7, 50, 1000])
def test_pieces_of_a_stream_give_the_same_as_the_whole(wide: Tokenizer, piece: int) -> None:
    text = plain_text(verb_third(40, 4)).text
    pieces = list(stream_text(wide, io.StringIO(text), piece=piece))
    assert b"".join(part.data for part in pieces) == wide.tokenize(text).treebank.data


@pytest.mark.parametrize("piece", [1, 40, 90])
def test_long_words_of_a_stream_are_waited_for(piece: int) -> None:
    """Four words take up more characters than two, by which narrow context is content."""
    wide = Tokenizer.train(verb_third(100, 1, before="ab" * 12), config=UNTUNED)
    assert wide._model.wide_context
    text = plain_text(verb_third(30, 2, before="ab" * 12)).text
    pieces = list(stream_text(wide, io.StringIO(text), piece=piece))
    assert b"".join(part.data for part in pieces) == wide.tokenize(text).treebank.data


def test_what_follows_a_blank_line_decides_nothing(wide: Tokenizer) -> None:
    first, second, other = (plain_text(verb_third(6, seed)).text.strip() for seed in (5, 6, 7))
    alone = wide.tokenize(first + "\n").treebank
    for following in (second, other):
        parts = wide.tokenize(f"{first}\n\n{following}\n").treebank
        assert [s.forms for s in parts[: len(alone)]] == [s.forms for s in alone]


def test_a_given_bias_is_used_and_not_tuned() -> None:
    treebank, config = verb_third(40, 1), TokenizerConfig(folds=3)
    counts = []
    for bias in (-100.0, 0.0, 100.0):
        tokenizer = Tokenizer.train(treebank, config=replace(config, sentence_bias=bias))
        assert tokenizer._model.sentence_bias == bias
        counts.append(len(tokenizer.tokenize(plain_text(treebank).text).treebank))
    assert counts[0] == 1
    assert counts[0] < counts[1] < counts[2] == treebank.word_count
    with pytest.raises(OptionError, match="sentence_bias"):
        TokenizerConfig(sentence_bias=1000.0)
