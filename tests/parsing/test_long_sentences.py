"""Sentences longer than max_words: cut at the best places, parsed in pieces, and one sound tree at the
end."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import arcwise
from arcwise.errors import InputError
from arcwise.graph import GraphConfig, GraphParser
from arcwise.inference import Constraints
from arcwise.parsing import FunctionScorer, ScoredParser
from arcwise.parsing.long_sentences import PIECE_WORDS, cut_points, cut_sentence
from arcwise.parsing.parser import ParseOptions
from arcwise.parsing.scored import Decoding
from arcwise.transition import TransitionConfig, TransitionParser
from arcwise.treebanks import Sentence, Treebank
from arcwise.trees.properties import is_projective
from text.toy import toy_treebank


@pytest.fixture(scope="module")
def graph() -> GraphParser:
    return GraphParser.train(toy_treebank(), config=GraphConfig(epochs=2, arc_bits=14, row_bits=13))


def long_sentence(words: int, *, ids: str = "a") -> Treebank:
    """Sentences of the toy treebank in one."""
    forms = [form for sentence in toy_treebank() for form in sentence.forms]
    forms = (forms * (words // len(forms) + 1))[:words]
    tags = {f: u for s in toy_treebank() for f, u in zip(s.forms, s.upos, strict=True)}
    return Treebank.from_sentences(
        [Sentence.from_words(forms, upos=[tags[f] for f in forms], comments={"sent_id": ids})]
    )


forms = st.lists(st.sampled_from(["a", "b", ",", ";", ".", "end."]), min_size=1, max_size=60)


@given(forms, st.integers(1, 12))
def test_pieces_are_the_sentence(words: list[str], most: int) -> None:
    sentence = Sentence.from_words(words)
    ends = cut_points(sentence, most)
    lengths = np.diff([0, *ends])
    assert ends[-1] == len(words)
    assert lengths.min() > 0
    assert lengths.max() <= most
    assert cut_sentence(sentence, ends).column("form") == words
    strong = {"a": 0, "b": 0, ",": 2, ";": 3, ".": 4, "end.": 4}
    for start, end in zip(
        [0, *ends], ends[:-1], strict=False
    ):  # no better place in the second half of the piece
        window = words[start + (most + 1) // 2 - 1 : start + most]
        assert strong[words[end - 1]] == max(strong[w] for w in window)


def test_multiword_tokens_are_not_cut_and_empty_nodes_go() -> None:
    rows = ["1\ta", "2-3\tbc", "2\tb", "3\tc", "3.1\te", "4\td"]
    sentence = Treebank.from_string(
        "".join(f"{row}{8 * chr(9) + '_'}\n".replace(8 * "\t", "\t_" * 7 + "\t") for row in rows) + "\n"
    )[0]
    ends = cut_points(sentence, 2)
    assert ends == [1, 3, 4]
    pieces = cut_sentence(sentence, ends)
    assert [s.forms for s in pieces] == [["a"], ["b", "c"], ["d"]]
    assert [row[0] for row in pieces[1].rows] == ["1-2", "1", "2"]


@settings(deadline=None, max_examples=20)
@given(st.integers(1, 40), st.integers(3, 12), st.booleans())
def test_one_sound_tree(n: int, most: int, projective: bool) -> None:
    scores = np.random.default_rng(n).normal(size=(200, 200))
    parser = ScoredParser(
        FunctionScorer(lambda s: scores[: len(s) + 1, : len(s) + 1]), decoding=Decoding(projective=projective)
    )
    bank = Treebank.from_sentences([Sentence.from_words(["w"] * k) for k in (2, n, 1)])
    options = ParseOptions(max_words=most, confidence=True, alternatives=1)
    found = parser.analyse(bank, options=options)
    assert found.parses is not None
    assert found.treebank.heads.tolist() == found.parses.heads.tolist()
    for sentence in found.treebank:
        assert (sentence.tree.heads[1:] == 0).sum() == 1
        assert not projective or is_projective(sentence.tree)
    Treebank(found.treebank.data)  # strict: no cycles
    plain = parser.analyse(bank, options=ParseOptions(confidence=True, alternatives=1))
    assert (found.treebank.data == plain.treebank.data) == (n <= most)
    assert len(found.notes) == (n > most)
    assert found.treebank[0].to_conllu() == plain.treebank[0].to_conllu()
    assert found.treebank[2].to_conllu() == plain.treebank[2].to_conllu()


def test_pieces_are_parsed_as_sentences_are(graph: GraphParser) -> None:
    bank = long_sentence(500)
    options = ParseOptions(max_words=100)
    found = graph.analyse(bank, options=options)
    ends = cut_points(bank[0], 100)
    alone = graph.parse(cut_sentence(bank[0], ends))
    heads = found.treebank.heads
    starts = np.repeat([0, *ends[:-1]], np.diff([0, *ends]))
    inside = alone.heads > 0
    assert (heads[inside] == alone.heads[inside] + starts[inside]).all()
    roots = np.flatnonzero(~inside)
    assert heads[roots].tolist() == [0] + [roots[0] + 1] * (len(roots) - 1)
    comments = found.treebank[0].comments
    assert comments["sent_id"] == "a"
    assert comments["parse_note"] == f"500 words, more than max_words=100: parsed in {len(ends)} pieces"
    assert str(found.notes[0]).endswith(comments["parse_note"])
    several = graph.parse(bank, options=ParseOptions(max_words=100, single_root=False))
    assert (several.heads == 0).sum() >= len(ends)


def test_k_best_gives_a_long_sentence_one_tree(graph: GraphParser) -> None:
    bank = Treebank(toy_treebank()[:1].data + long_sentence(300).data + toy_treebank()[1:2].data)
    found = graph.parse(bank, options=ParseOptions(max_words=100, k_best=2))
    assert [len(s) for s in found] == [5, 5, 300, 5, 5]


def test_what_is_kept_stays(graph: GraphParser) -> None:
    bank = long_sentence(300)
    heads = np.full(300, -1, np.int32)
    heads[2], heads[299] = 2, 299
    labels = ["_"] * 300
    labels[150] = "mine"
    given_bank = bank.annotate(heads=heads, deprel=labels, strict=False)
    keep = ParseOptions(max_words=100, keep_heads=True)
    found = graph.parse(given_bank, options=keep)
    assert (found.heads[2], found.heads[299], found[0].deprels[150]) == (2, 299, "mine")
    heads[3] = 250
    across = bank.annotate(heads=heads, deprel=labels, strict=False)
    left = graph.analyse(across, options=keep)
    assert left.treebank.heads.tolist() == across.heads.tolist()
    assert "left unchanged: 300 words" in left.treebank[0].comments["parse_note"]
    constrained = graph.analyse(
        bank, options=ParseOptions(max_words=100), constraints=[Constraints(required=[(1, 2)])]
    )
    assert "left unchanged" in constrained.notes[0].text


def test_transition_parsers_take_it_whole() -> None:
    config = TransitionConfig(epochs=1, move_bits=12, label_bits=10)
    parser = TransitionParser.train(toy_treebank(), config=config)
    found = parser.analyse(long_sentence(300), options=ParseOptions(max_words=100))
    assert found.notes == ()


@pytest.mark.parametrize(("name", "pieces"), [("en-fast", 1), ("en", 3000 // (PIECE_WORDS - 3) + 1)])
def test_three_thousand_words_with_the_models_that_ship(name: str, pieces: int) -> None:
    nlp = arcwise.load(name)
    bank = Treebank.from_sentences([Sentence.from_words(["Birds", "sing", ",", "and"] * 750)])
    found = nlp.parse(bank, options=ParseOptions(confidence=True))
    note = found[0].comments.get("parse_note", "")
    assert (f"parsed in {pieces} pieces" in note) == (pieces > 1)  # a greedy parser takes linear time
    assert set(found[0].upos) <= {"NOUN", "VERB", "PUNCT", "CCONJ", "PROPN"}
    assert (found.heads == 0).sum() == 1


def test_the_limit_is_checked() -> None:
    with pytest.raises(InputError, match="max_words: found 0, expected"):
        ParseOptions(max_words=0)
