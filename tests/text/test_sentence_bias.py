"""How readily sentences end: the bias moves ends only, is chosen on text not learned from, and travels with
the model."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from arcwise.errors import ModelError, OptionError
from arcwise.evaluation import evaluate
from arcwise.text.plain_text import plain_text
from arcwise.text.sentence_bias import BIASES, best_bias, choose_bias, sentences_in_common
from arcwise.text.tokenizer import Tokenizer, TokenizerConfig
from arcwise.treebanks import Treebank


def headlines(count: int) -> Treebank:
    """Sentences that end in nothing, or in a stop that may also stand inside."""
    rng = np.random.default_rng(5)
    texts = []
    for _ in range(count):
        words = [str(rng.choice(["Ada", "Bo", "cat", "dog", "etc."])) for _ in range(rng.integers(1, 6))]
        texts.append("".join(f"{i}\t{w}\t_\t_\t_\t_\t_\t_\t_\t_\n" for i, w in enumerate(words, 1)) + "\n")
    return Treebank.from_string("".join(texts))


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train(headlines(80), config=TokenizerConfig(folds=0))


TEXT = "Ada cat etc. Bo dog cat Ada Bo etc. cat dog"


def ends(tokenizer: Tokenizer, text: str, biases: list[float]) -> list[set[int]]:
    starts, found = tokenizer._model.sentence_ends(text.encode(), biases)
    return [set(found[a:b].tolist()) for a, b in pairwise(starts)]


def test_ends_at_a_bias_are_those_of_a_tokenizer_that_has_it(tokenizer: Tokenizer) -> None:
    for bias in (-1.0, 0.0, 1.5):
        tokenizer._model.sentence_bias = bias
        found = tokenizer.tokenize(TEXT).treebank
        last = {int(s.rows[-1][9].rpartition(":")[2]) for s in found}
        tokenizer._model.sentence_bias = 0.0
        assert [last] == ends(tokenizer, TEXT, [bias])


def test_extreme_biases_end_every_word_or_none_but_the_last(tokenizer: Tokenizer) -> None:
    never, always = ends(tokenizer, TEXT, [-1000.0, 1000.0])
    assert never == {len(TEXT)}
    assert always == {i for i in range(1, len(TEXT) + 1) if TEXT[i : i + 1] in ("", " ")}


def test_words_do_not_depend_on_the_bias() -> None:
    """Not even where a word may go on: "x-y" is one, "c-d" three."""
    forms = [["x-y", "cat"], ["c", "-", "d", "cat"], ["x-y", "dog"], ["c", "-", "d", "dog"]]
    sentences = [
        "".join(
            f"{i}\t{w}\t_\t_\t_\t_\t_\t_\t_\t{'SpaceAfter=No' if w in 'c-' else '_'}\n"
            for i, w in enumerate(words, 1)
        )
        for words in forms
    ]
    treebank = Treebank.from_string("\n".join(sentences * 5) + "\n")
    trained = Tokenizer.train(treebank, config=TokenizerConfig(folds=0))
    gold = [form for s in treebank for form in s.forms]
    for bias in (-1000.0, 0.0, 1000.0):
        trained._model.sentence_bias = bias
        assert [
            form for s in trained.tokenize(plain_text(treebank).text).treebank for form in s.forms
        ] == gold


def test_the_bias_chosen_is_the_best_on_parts_not_learned_from() -> None:
    """Against a slow twin: train and tokenize once for each part and bias, and ask the official measure."""
    treebank, folds = headlines(60), 3
    config = TokenizerConfig(folds=0)
    right = np.zeros(len(BIASES))
    counted = np.zeros(len(BIASES))
    for fold in range(folds):
        part = treebank[20 * fold : 20 * fold + 20]
        others = Treebank.from_sentences([s for s in treebank if not 20 * fold <= s.number < 20 * fold + 20])
        trained = Tokenizer.train(others, config=config)
        for number, bias in enumerate(BIASES):
            trained._model.sentence_bias = bias
            found = trained.tokenize(plain_text(part).text).treebank
            score = evaluate(part, found).conll18["Sentences"]
            right[number] += round(score.recall * len(part))
            counted[number] += len(part) + len(found)
    expected = best_bias(2 * right / counted)
    assert expected != 0
    assert Tokenizer.train(treebank, config=replace(config, folds=folds))._model.sentence_bias == expected


def test_a_bias_is_chosen_only_where_there_are_enough_sentences() -> None:
    def fail(_: Treebank) -> object:
        raise AssertionError("trained")

    assert choose_bias(headlines(2), 3, fail) == 0.0  # type: ignore[arg-type]
    assert choose_bias(headlines(9), 0, fail) == 0.0  # type: ignore[arg-type]
    assert choose_bias(headlines(9), 1, fail) == 0.0  # type: ignore[arg-type]


def test_a_small_gain_chooses_no_bias() -> None:
    scores = [0.5] * len(BIASES)
    scores[3] = 0.504
    assert best_bias(scores) == 0.0
    scores[3] = 0.506
    assert best_bias(scores) == BIASES[3]


def test_flat_scores_choose_no_bias() -> None:
    assert best_bias([0.5] * len(BIASES)) == 0.0


def test_sentences_in_common_by_enumeration() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        gold, found = (np.unique(rng.integers(1, 12, 6)).astype(np.uint32) for _ in range(2))
        expected = sum(
            any(a == c and b == d for c, d in zip([0, *found], found, strict=False))
            for a, b in zip([0, *gold], gold, strict=False)
        )
        assert sentences_in_common(gold, found) == expected


def test_the_bias_travels_and_old_models_have_none(tokenizer: Tokenizer) -> None:
    tokenizer._model.sentence_bias = 1.5
    packed = tokenizer.pack()
    tokenizer._model.sentence_bias = 0.0
    assert Tokenizer.unpack(packed)._model.sentence_bias == 1.5
    old = replace(packed, header={k: v for k, v in packed.header.items() if k != "sentence_bias"})
    assert Tokenizer.unpack(old)._model.sentence_bias == 0.0


@pytest.mark.parametrize("bias", [math.nan, math.inf, "much", None, [1.0]])
def test_a_damaged_bias_is_refused(tokenizer: Tokenizer, bias: object) -> None:
    packed = tokenizer.pack()
    with pytest.raises(ModelError, match="damaged"):
        Tokenizer.unpack(replace(packed, header={**packed.header, "sentence_bias": bias}))


@pytest.mark.parametrize("folds", [-1, 101, 2.5])
def test_folds_out_of_bounds(folds: float) -> None:
    with pytest.raises(OptionError, match="folds"):
        TokenizerConfig(folds=folds)  # type: ignore[arg-type]
