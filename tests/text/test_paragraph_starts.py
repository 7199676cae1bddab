"""Sentence ends at the start of a paragraph: titles and greetings have no end mark."""

from __future__ import annotations

import io
import random
from dataclasses import replace

import pytest

from arcwise.evaluation import evaluate
from arcwise.text.plain_text import plain_text
from arcwise.text.text_stream import stream_text
from arcwise.text.tokenizer import Tokenizer, TokenizerConfig
from arcwise.treebanks import Treebank

NAMES = ("Ada", "Bo", "Cy", "Dee", "Ed", "Flo")


def letters(count: int, seed: int) -> Treebank:
    """Paragraphs that start with two names, a sentence of their own; names follow names elsewhere too."""
    draw = random.Random(seed)
    rows = []
    for _ in range(count):
        sentences = [[draw.choice(NAMES), draw.choice(NAMES)]]
        for _ in range(draw.randint(1, 3)):
            sentences.append([*(draw.choice(NAMES) for _ in range(draw.randint(3, 6))), "."])
        for number, words in enumerate(sentences):
            start = "# newpar\n" if number == 0 else ""
            rows.append(
                start + "".join(f"{i}\t{w}\t_\t_\t_\t_\t_\t_\t_\t_\n" for i, w in enumerate(words, 1))
            )
    return Treebank.from_string("\n".join(rows) + "\n")


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train(letters(200, 1), config=TokenizerConfig(folds=0))


def sentence_f1(tokenizer: Tokenizer, gold: Treebank) -> float:
    return evaluate(gold, tokenizer.tokenize(plain_text(gold).text).treebank).conll18["Sentences"].f1


def test_what_starts_a_paragraph_ends_without_a_mark(tokenizer: Tokenizer) -> None:
    assert sentence_f1(tokenizer, letters(40, 2)) > 0.95


@pytest.mark.parametrize("piece", [1, 9, 60, 1000])
def test_pieces_of_a_stream_give_the_same_as_the_whole(tokenizer: Tokenizer, piece: int) -> None:
    """Where a paragraph started is known from the text before a piece."""
    text = plain_text(letters(30, 3)).text
    pieces = list(stream_text(tokenizer, io.StringIO(text), piece=piece))
    assert b"".join(part.data for part in pieces) == tokenizer.tokenize(text).treebank.data


def test_models_without_the_features_cut_as_before(tokenizer: Tokenizer) -> None:
    text = plain_text(letters(10, 4)).text
    packed = tokenizer.pack("float32")
    assert packed.header["paragraphs"]
    assert Tokenizer.unpack(packed).tokenize(text).treebank.data == tokenizer.tokenize(text).treebank.data
    header = {name: value for name, value in packed.header.items() if name != "paragraphs"}
    earlier = Tokenizer.unpack(replace(packed, header=header))
    assert not earlier._model.paragraphs
    assert "paragraphs" not in earlier.pack().header
    assert len(earlier.tokenize(text).treebank) < len(tokenizer.tokenize(text).treebank)
