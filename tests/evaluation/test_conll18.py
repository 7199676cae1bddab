"""The CoNLL 2018 metrics equal those of the official scorer, and go on where that one stops."""

from __future__ import annotations

import sys
import unicodedata

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arcwise import InputError, Treebank
from arcwise.evaluation import evaluate
from arcwise.evaluation.words import SPACES
from evaluation.damage import damaged
from evaluation.official import accepts, official_figures, our_figures
from evaluation.samples import BIRDS, CONTRACTION, sentence, treebank

ROOT_THEN = "{} {} {} X x Case=Nom {} {}"


def words(*tokens: str) -> str:
    """A sentence of tokens; ``"zum zu dem"`` is the multiword token zum of the words zu and dem."""
    rows: list[str] = []
    count = 0
    for token in tokens:
        form, *parts = token.split(" ")
        if parts:
            rows.append(f"{count + 1}-{count + len(parts)} {form}")
        for part in parts or [form]:
            count += 1
            label = "root" if count == 1 else ("nsubj", "case", "det")[count % 3]
            rows.append(ROOT_THEN.format(count, part, part.lower(), int(count > 1), label))
    return sentence(*rows)


def assert_same(gold: Treebank, system: Treebank) -> None:
    assert our_figures(gold, system) == official_figures(gold, system)


@pytest.mark.parametrize(
    ("gold", "system"),
    [
        (["a"], ["a"]),
        (["abc"], ["a", "b", "c"]),
        (["ab", "c"], ["a", "bc"]),
        (["zum zu dem"], ["zum zu dem"]),
        (["zum zu dem"], ["zum"]),
        (["zum"], ["zum zu dem"]),
        (["zum zu dem", "See"], ["z", "u", "mSee m See"]),
        (["abc a B c", "de d e"], ["ab A b", "cde c D e"]),
        (["x", "abc a b c", "y"], ["xa", "bcy b c y"]),
        (["x", "abc a b a b", "y"], ["x", "abc b a b a", "y"]),
        (["ab a b", "cd c d"], ["a", "bc B c", "d"]),
        (["a\u00a0b", "c"], ["ab", "c"]),
        (["İab i ab"], ["İab İ ab"]),
    ],
)
def test_tokenisations(gold: list[str], system: list[str]) -> None:
    for left, right in ((gold, system), (system, gold)):
        assert_same(treebank(words(*left)), treebank(words(*right)))


@pytest.mark.parametrize("seed", range(5))
def test_damaged_samples(seed: int) -> None:
    gold = treebank(BIRDS, CONTRACTION, BIRDS, CONTRACTION)
    assert_same(gold, damaged(gold, seed=seed, share=0.4))


def test_sentence_splits() -> None:
    whole = words("a", "b", "cd c d", "e")
    parts = [words("a", "b"), words("cd c d"), words("e")]
    assert_same(treebank(whole), treebank(*parts))
    assert_same(treebank(*parts), treebank(whole))


def test_a_missing_gold_lemma_is_matched_by_any() -> None:
    gold = treebank(CONTRACTION)
    system = treebank(CONTRACTION.replace("!\t_", "!\tmark"))
    assert our_figures(gold, system)["Lemmas"][2] == 1
    assert_same(gold, system)


@st.composite
def tokenisations(draw: st.DrawFn, text: str) -> str:
    """Sentences over ``text``, cut at random, some tokens multiword, heads a random tree, labels and tags
    random."""
    out, at = "", 0
    while at < len(text):
        rows: list[tuple[str, str | None]] = []
        for _ in range(draw(st.integers(1, 4))):
            size = draw(st.integers(1, 3))
            token, at = text[at : at + size], at + size
            if token:
                parts = (
                    draw(st.lists(st.sampled_from("abAB"), min_size=1, max_size=3))
                    if draw(st.booleans())
                    else None
                )
                rows.append((token, None if parts is None else " ".join(parts)))
        forms = [part for token, parts in rows for part in (parts.split(" ") if parts else [token])]
        heads = draw(_trees(len(forms)))
        lines: list[str] = []
        number = 0
        for token, parts in rows:
            count = len(parts.split(" ")) if parts else 1
            if parts:
                lines.append(f"{number + 1}-{number + count} {token}")
            for form in parts.split(" ") if parts else [token]:
                number += 1
                label = draw(st.sampled_from(["nsubj", "case", "det:x", "punct", "cop", "root"]))
                tag, feats = (
                    draw(st.sampled_from("NV")),
                    draw(st.sampled_from(["_", "Case=Nom", "Odd=1|Case=Nom"])),
                )
                lines.append(
                    f"{number} {form} {draw(st.sampled_from('_xy'))} {tag} _ {feats} {heads[number - 1]} "
                    f"{label}"
                )
        out += sentence(*lines)
    return out


@st.composite
def _trees(draw: st.DrawFn, n: int) -> list[int]:
    order = draw(st.permutations(range(1, n + 1)))
    heads = [0] * n
    for i in range(1, n):
        heads[order[i] - 1] = order[draw(st.integers(0, i - 1))]
    return heads


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_two_tokenisations(data: st.DataObject) -> None:
    text = data.draw(st.text("abAB", min_size=1, max_size=12))
    assert_same(treebank(data.draw(tokenisations(text))), treebank(data.draw(tokenisations(text))))


def test_the_spaces_are_those_of_unicode() -> None:
    separators = [c for c in map(chr, range(sys.maxunicode + 1)) if unicodedata.category(c) == "Zs"]
    assert [c for c in map(chr, range(sys.maxunicode + 1)) if SPACES.fullmatch(c)] == separators


# ---- what the official scorer refuses


@pytest.mark.parametrize(
    ("name", "broken", "right_heads"),
    [
        ("two roots", BIRDS.replace("3\tpunct", "0\tpunct"), 6),
        ("no root, a self-loop", BIRDS.replace("0\troot", "3\troot"), 6),
        ("cycle", BIRDS.replace("0\troot", "2\troot"), 6),
        ("head out of range", BIRDS.replace("3\tpunct", "9\tpunct"), 6),
        ("no head", BIRDS.replace("3\tpunct", "_\tpunct"), 6),
        ("head is no number", BIRDS.replace("3\tpunct", "x\tpunct"), 6),
        ("two columns", BIRDS.replace("4\tin\tin\tADP\tIN\t_\t6\tcase\t_\t_", "4\tin"), 6),
        ("wrong id", BIRDS.replace("7\t.", "9\t."), 7),
        ("no blank line at the end", BIRDS.rstrip("\n"), 7),
    ],
)
def test_broken_trees_are_scored(name: str, broken: str, right_heads: int) -> None:
    system = treebank(CONTRACTION, broken)
    assert not accepts(system), name
    result = evaluate(treebank(CONTRACTION, BIRDS), system)
    assert result.conll18["UAS"].correct == 7 + right_heads
    assert result.conll18["UAS"].gold == 14
    assert result.attachment.heads_right == 7 + right_heads
    assert result.system.is_sound == (name == "no blank line at the end")


def test_a_missing_head_is_wrong_even_if_gold_has_none() -> None:
    gold = treebank(BIRDS.replace("3\tpunct", "_\tpunct"))
    result = evaluate(gold, gold)
    assert result.conll18["UAS"].correct == 6
    assert result.gold.missing_heads == 1
    assert str(result.gold) == "<sample>: 1 word without a head"


@pytest.mark.parametrize("head", ["_", "7", "1", "x", "-1"])
def test_a_file_of_one_word_without_a_head_is_scored(head: str) -> None:
    word = "1\tBirds\t_\t_\t_\t_\t{}\troot\t_\t_\n\n"
    gold, system = treebank(word.format(0)), treebank(word.format(head))
    for first, second in ((gold, system), (system, gold), (system, system)):
        result = evaluate(first, second, by=["label", "length", "crossing", "sentence"], confusion=True)
        assert result.conll18["UAS"].correct == result.attachment.heads_right == 0
    assert evaluate(gold, system).system.missing_heads == 1


@pytest.mark.timeout(60)
def test_a_multiword_range_without_characters_ends() -> None:
    text = CONTRACTION + BIRDS
    system = treebank(text[:300] + "1-9\t" + text[301:])
    assert 0 <= evaluate(treebank(text), system).conll18["LAS"].f1 <= 1


@settings(max_examples=100, deadline=None)
@given(
    st.integers(0, len(CONTRACTION + BIRDS)),
    st.sampled_from(["\t", "\n", "", "7", "-", ".", "\n\n", "#", "1-9\t"]),
)
def test_mutilated_files_never_abort(at: int, inserted: str) -> None:
    text = CONTRACTION + BIRDS
    system = treebank(text[:at] + inserted + text[at + 1 :])
    try:
        scores = evaluate(
            treebank(text), system, by=["label", "length", "crossing", "sentence"], confusion=True
        )
    except InputError as error:
        assert "differ" in str(error)
    else:
        assert 0 <= scores.conll18["LAS"].f1 <= 1


def test_differing_texts_are_an_error_that_names_both_places() -> None:
    gold, system = (
        treebank(CONTRACTION, BIRDS, source="gold"),
        treebank(CONTRACTION, BIRDS.replace("sing", "sink")),
    )
    with pytest.raises(
        InputError, match=r"texts .* differ: gold:16 has 'ginthetrees\.', <sample>:16 has 'kinthetrees\.'"
    ):
        evaluate(gold, system)


def test_a_text_that_ends_early_is_an_error() -> None:
    with pytest.raises(InputError, match="has 'the end'"):
        evaluate(treebank(CONTRACTION, BIRDS), treebank(CONTRACTION))


def test_the_alignment_of_equal_tokens_needs_no_search() -> None:
    gold = treebank(BIRDS, CONTRACTION)
    from arcwise.evaluation.conll18 import _Aligner
    from arcwise.evaluation.verdicts import verdicts

    judged = verdicts(gold, damaged(gold, seed=3))
    pairs = np.array(_Aligner(judged.gold, judged.system).pairs())
    assert np.array_equal(pairs, np.stack([judged.alignment.gold, judged.alignment.system], axis=1))
