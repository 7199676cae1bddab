"""Neural parsers at the edges: one word, a thousand, nothing, words and tags that nobody has seen; and never
torch."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arcwise.neural import NeuralParser
from arcwise.parsing import ParseOptions
from arcwise.treebanks import Treebank
from contracts.small_treebank import conllu, small_treebank
from neural.random_models import PARSERS, random_parser


@pytest.fixture(params=PARSERS.values(), ids=PARSERS, scope="module")
def parser(request: pytest.FixtureRequest) -> NeuralParser:
    return random_parser(**request.param)


def test_one_word(parser: NeuralParser) -> None:
    treebank = Treebank.from_string(conllu(["Yes/INTJ/_/_"]))
    for options in (ParseOptions(confidence=True), ParseOptions(k_best=3), ParseOptions(alternatives=2)):
        (sentence,) = parser.parse(treebank, options=options)
        assert sentence.heads.tolist() == [-1, 0]
    (trees,) = parser.distributions(treebank)
    assert trees.marginals[0, 1] == pytest.approx(1.0)


@pytest.mark.slow
def test_a_thousand_words_among_short_sentences() -> None:
    words = ["Birds/NOUN/_/_", "sing/VERB/_/_", "in/ADP/_/_", "spring/NOUN/_/_"] * 250
    long = Treebank.from_string(conllu([" ".join(words)]))
    treebank = Treebank.from_sentences([*small_treebank()[:3], *long, *small_treebank()[3:]])
    for parser in (random_parser(), random_parser(bits=8, members=2, labelled=False)):
        for projective in (True, False):
            options = ParseOptions(projective=projective, confidence=True)
            parsed = parser.parse(treebank, options=options, threads=2)
            assert all(sentence.tree.is_complete for sentence in parsed)
            assert len(parsed[3].tree.roots) == 1
            alone = parser.parse(long, options=options)
            assert parsed[3].heads.tolist() == alone[0].heads.tolist()
            assert parsed[3].misc == alone[0].misc


def test_nothing(parser: NeuralParser) -> None:
    for options in (ParseOptions(), ParseOptions(k_best=2), ParseOptions(confidence=True)):
        assert parser.parse(Treebank.from_string(""), options=options).data == b""


@pytest.mark.parametrize(
    "word",
    ["𒀀𒀁/X/_/_", "\u200b/PUNCT/_/_", "é́́/NOUN/_/_", f"{'long' * 200}/NOUN/_/_", "a/UNHEARD/_/_", "b/_/_/_"],
)
def test_unknown_characters_and_tags(parser: NeuralParser, word: str) -> None:
    treebank = Treebank.from_string(conllu([f"The/DET/_/_ {word} sings/VERB/_/_", word]))
    parsed = parser.parse(treebank, options=ParseOptions(confidence=True))
    assert all(sentence.tree.is_complete for sentence in parsed)
    assert parsed.column("form") == treebank.column("form")


def test_a_sentence_is_parsed_the_same_whatever_stands_beside_it(parser: NeuralParser) -> None:
    options = ParseOptions(confidence=True, alternatives=2)
    treebank = small_treebank(crossing=True)
    together = parser.parse(treebank, options=options, threads=3)
    for s, sentence in enumerate(treebank):
        alone = parser.parse(Treebank.from_sentences([sentence]), options=options)
        assert alone[0].to_conllu() == together[s].to_conllu()


def test_tags_are_filled_in_beside_trees_unless_they_are_kept() -> None:
    parser = random_parser(learns=("upos",), seed=13)
    treebank = small_treebank()
    half = treebank.annotate(upos=["_" if w % 2 else tag for w, tag in enumerate(treebank.column("upos"))])
    for options in (ParseOptions(), ParseOptions(k_best=2), ParseOptions(decode="greedy")):
        parsed = parser.parse(half, options=options)
        assert "_" not in parsed.column("upos")
        assert set(parsed.column("upos")) <= set(treebank.column("upos"))
    assert parser.parse(half).column("upos") != half.column("upos")
    options = ParseOptions(keep=("upos",), confidence=True)
    kept = parser.parse(half, options=options)
    assert [new for old, new in zip(half.column("upos"), kept.column("upos"), strict=True) if old != "_"] == [
        old for old in half.column("upos") if old != "_"
    ]
    sure = [float(misc.split("UposProb=")[1].split("|")[0]) for misc in kept.column("misc")]
    assert all(
        (p == 1.0) == (old != "_") or p > 0.999 for p, old in zip(sure, half.column("upos"), strict=True)
    )
    # The network sees the tags that were there, whatever it writes.
    assert kept.heads.tolist() == parser.parse(half).heads.tolist()


def test_what_a_model_does_not_write_stays() -> None:
    from dataclasses import replace

    model = random_parser(learns=("upos",), seed=13).model
    parsed = NeuralParser(replace(model, writes=())).parse(small_treebank())
    assert parsed.column("upos") == small_treebank().column("upos")


def test_an_ensemble_of_equal_networks_is_the_network() -> None:
    from dataclasses import replace

    one = random_parser(clusters=2)
    two = NeuralParser(replace(one.model, members=one.model.members * 2))
    for a, b in zip(
        one.distributions(small_treebank()).label_marginals,
        two.distributions(small_treebank()).label_marginals,
        strict=True,
    ):
        np.testing.assert_allclose(a, b, atol=1e-6)


PARSING = """
import sys
from arcwise.models import open_model
from arcwise.parsing import ParseOptions
from arcwise.treebanks import Treebank
parser = open_model(sys.argv[1])
parsed = parser.parse(Treebank.read(sys.argv[2]), options=ParseOptions(confidence=True))
parser.distributions(parsed).marginals
parser.save(sys.argv[1])
assert "torch" not in sys.modules, "parsing has imported torch"
"""


def test_parsing_never_imports_torch(tmp_path: Path) -> None:
    random_parser(members=2, learns=("upos",)).save(tmp_path / "m")
    small_treebank().write(tmp_path / "in.conllu")
    paths = [str(tmp_path / name) for name in ("m", "in.conllu")]
    done: Any = subprocess.run([sys.executable, "-c", PARSING, *paths], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
