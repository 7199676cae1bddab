"""What the tokenizer does by rule: characters that are read as others, graphemes, addresses, emoji, lines of
lists and headings."""

import io
from dataclasses import replace
from functools import cache
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arcwise.models import load
from arcwise.text.text_stream import stream_text
from arcwise.text.tokenizer import RULES, Tokenizer
from arcwise.treebanks import Treebank
from text.test_tokenizer import text_again
from text.toy import toy_treebank

GRAPHEMES = ["👨‍👩‍👧‍👦", "👍🏽", "🇩🇪", "🏳️‍🌈", "1️⃣", "❤️", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "é", "นี้"]
ADDRESSES = [
    "https://example.org/a?b=c&d=e#f",
    "http://example.org/wiki/Tree_(graph)",
    "www.example.org",
    "docs.example.com/en/latest",
    "someone.else+tag@mail.example.co.uk",
    "mailto:someone@example.org",
    "ftp://example.org:21/x.tar.gz",
    "/usr/local/bin/python3",
    "~/notes/to_do.txt",
]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train(toy_treebank())


def forms(tokenizer: Tokenizer, text: str) -> list[list[str]]:
    found = tokenizer.tokenize(text).treebank
    assert text_again(found).rstrip() == text.rstrip()
    return [sentence.forms for sentence in found]


def with_rows(*sentences: str) -> Treebank:
    """Words between blanks; a word that ends in ~ has no space after it."""
    rows = [
        "".join(
            f"{i}\t{w.rstrip('~')}\t_\t_\t_\t_\t_\t_\t_\t{'SpaceAfter=No' if w.endswith('~') else '_'}\n"
            for i, w in enumerate(s.split(), 1)
        )
        for s in sentences
    ]
    return Treebank.from_string("\n".join(rows) + "\n")


def test_an_apostrophe_of_another_kind_is_read_as_the_known_one(tokenizer: Tokenizer) -> None:
    assert forms(tokenizer, "Dogs don’t see! Cats don't see!") == [
        ["Dogs", "do", "n’t", "see", "!"],
        ["Cats", "do", "n't", "see", "!"],
    ]


def test_a_model_without_stand_ins_and_rules_reads_as_it_did(tokenizer: Tokenizer) -> None:
    packed = tokenizer.pack()
    old = {key: v for key, v in packed.header.items() if key not in ("look_alikes", "rules")}
    before = Tokenizer.unpack(replace(packed, header=old))
    assert before._model.rules == (False, False, False, False)
    assert forms(before, "Dogs don’t see!")[0][1] == "don’t"


@pytest.mark.parametrize("grapheme", GRAPHEMES)
@settings(max_examples=15, deadline=None)
@given(
    before=st.sampled_from(["", "a", "see", "!", "1", "😀", "🇫🇷", " "]),
    after=st.sampled_from(["", "a", ".", "🇫🇷", "😀", " x"]),
)
def test_nothing_is_cut_inside_a_grapheme(
    tokenizer: Tokenizer, grapheme: str, before: str, after: str
) -> None:
    text = before + grapheme + after
    start, end = len(before), len(before) + len(grapheme)
    for sentence in tokenizer.tokenize(text).treebank:
        for row in sentence.rows:
            misc = dict(pair.partition("=")[::2] for pair in row[9].split("|"))
            if "TokenRange" in misc:
                for place in map(int, misc["TokenRange"].split(":")):
                    assert not start < place < end, sentence.forms


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize(
    "around", ["{}", "The dog sees {}.", "({})", "<{}>,", '"{}"', "“{}”!", "birds ({}) cats", "{}…"]
)
def test_addresses_are_words(tokenizer: Tokenizer, address: str, around: str) -> None:
    text = around.format(address)
    assert address in [form for sentence in forms(tokenizer, text) for form in sentence]


@pytest.mark.parametrize(
    "text", ["cats.Dogs", "a@b", "www.", "http://", "and/or", "1/2/2003", "@x.org", "....com", "x@y..z", "/a"]
)
def test_what_is_no_address_is_left_to_the_model(tokenizer: Tokenizer, text: str) -> None:
    plain = Tokenizer.unpack(tokenizer.pack("float32"))
    plain._model.rules = (False, False, True, False)
    assert forms(tokenizer, f"The dog sees {text} birds.") == forms(plain, f"The dog sees {text} birds.")


def test_a_treebank_that_cuts_addresses_is_obeyed() -> None:
    whole = "See www.example.org~ ."
    cut = "See www~ .~ example~ .~ org~ ."
    rules = dict(zip(RULES, Tokenizer.train(with_rows(*[whole] * 9, cut))._model.rules, strict=True))
    assert rules == dict.fromkeys(RULES, True)
    learned = Tokenizer.train(with_rows(*[whole] * 8, cut, cut))
    assert not learned._model.rules[0]
    assert Tokenizer.unpack(learned.pack())._model.rules == learned._model.rules
    joined = Tokenizer.train(with_rows(*["See www.example.org, ."] * 10))
    assert joined._model.rules[:2] == (True, False)


def test_what_stands_beside_names_is_learned_where_the_treebank_has_enough_of_them() -> None:
    """`i_dag"` is cut and `"i_dag"-avis` is not; of few of them nothing can be learned, and the rule of
    addresses holds."""
    quoted, compound, without = 'See "~ big_cats~ "~ .', 'See "big_cats"-fans~ .', "See www.example.org~ ."
    learned = Tokenizer.train(with_rows(*[quoted, compound] * 12, *[quoted] * 9, without))
    assert dict(zip(RULES, learned._model.rules, strict=True))["cut_names_out"] is False
    assert forms(learned, 'See "big_cats".')[0] == ["See", '"', "big_cats", '"', "."]
    assert forms(learned, 'See "big_cats"-fans.')[0] == ["See", '"big_cats"-fans', "."]
    few = Tokenizer.train(with_rows(*[quoted] * 3, *[without] * 9))
    assert all(few._model.rules)
    assert forms(few, "See (max_words)")[0] == ["See", "(", "max_words", ")"]


@given(st.integers(1, 60), st.lists(st.sampled_from(["Go?", "Go.", "-b ."]), min_size=1, max_size=25))
@settings(max_examples=40, deadline=None)
def test_a_piece_of_a_stream_is_cut_by_what_stands_before_it(piece: int, parts: list[str]) -> None:
    """Behind a question -b is a word, behind a statement it is two: the first decision of a sentence looks
    back over its start."""
    text = " ".join([*parts, "Go? -b . Go. -b . Go?"])
    learned = _looking_back()
    whole = learned.tokenize(text).treebank
    assert [sentence.forms for sentence in whole][-4:-1] == [["-b", "."], ["Go", "."], ["-", "b", "."]]
    pieces = stream_text(learned, io.BytesIO(text.encode()), piece=piece)
    assert b"".join(own.data for own in pieces) == whole.data


@cache
def _looking_back() -> Tokenizer:
    return Tokenizer.train(with_rows(*["Go~ ?", "-b .", "Go~ .", "-~ b ."] * 30))


def test_names_of_earlier_models_are_cut_out_as_addresses_are() -> None:
    packed = load("en").tokenizer.pack()
    packed.header["rules"].pop("cut_names_out")
    assert packed.header["rules"]["cut_addresses_out"] is True
    assert Tokenizer.unpack(packed)._model.rules == (True, True, True, True)


def test_emoji_are_words_unless_the_treebank_has_them_in_words(tokenizer: Tokenizer) -> None:
    assert forms(tokenizer, "birds😀😀cats👍🏽!")[0] == ["birds", "😀", "😀", "cats", "👍🏽", "!"]
    learned = Tokenizer.train(with_rows(*["so fun😀 ."] * 10))
    assert learned._model.rules == (True, True, False, True)
    assert forms(learned, "so fun😀 .")[0] == ["so", "fun😀", "."]


@pytest.mark.parametrize("mark", ["-", "*", "+", "•", "–", "1.", "12)", "b)", "#", "###"])
def test_items_and_headings_are_sentences(tokenizer: Tokenizer, mark: str) -> None:
    text = f"The dog sees birds\n{mark} the cat\n{mark} the birds\n"
    starts = {"".join(words)[: len(mark)] for words in forms(tokenizer, text)}
    assert mark in starts
    assert lines_that_start_sentences(tokenizer, text) == [0, 1, 2]


def lines_that_start_sentences(tokenizer: Tokenizer, text: str) -> list[int]:
    """The numbers of the lines with which a sentence starts."""
    ends = [0]
    for sentence in tokenizer.tokenize(text).treebank:
        ranges = [p for p in sentence.rows[-1][9].split("|") if p.startswith("TokenRange=")]
        ends.append(int(ranges[0].partition(":")[2]) + 1)
    starts = [at for at, c in enumerate("\n" + text) if c == "\n"]
    return [number for number, start in enumerate(starts) if start in ends and start < len(text)]


def test_behind_a_long_line_a_dash_may_be_a_dash(tokenizer: Tokenizer) -> None:
    line = "The dog and the cat and the bird and the teacher"

    def second_starts(text: str) -> bool:
        return 1 in lines_that_start_sentences(tokenizer, text)

    assert not second_starts(f"{line}\n- the birds")
    assert second_starts(f"{line}:\n- the birds")
    assert second_starts("The cat\n- the birds")
    assert second_starts(f"{line}\n# Birds")
    assert second_starts(f"# {line}\nthe birds")
    assert not second_starts(f"{line}\n#birds and cats")
    assert not second_starts(f"{line}\nthe birds")


@pytest.mark.parametrize("piece", [16, 100, 1000])
def test_pieces_of_a_stream_give_the_same_as_the_whole(tokenizer: Tokenizer, piece: int) -> None:
    long = "http://example.org/" + 40 * "abc/" + "d.html"
    paragraph = (
        f"The dog sees birds. See {long}. Cats don’t see!\n- the dog sees cats\n- the cat. It sees "
        f"{ADDRESSES[4]}, too.\n"
        "# Birds\nThe teacher… sees — birds👨‍👩‍👧‍👦🇩🇪🇫🇷. The cat sees\n"
    )
    text = 5 * paragraph
    whole = forms(tokenizer, text)
    pieces = stream_text(tokenizer, io.BytesIO(text.encode()), piece=piece)
    assert [sentence.forms for found in pieces for sentence in found] == whole


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet="a.b@/:wht'’…—-👍🏽🇩🇪\u200d\n #1", max_size=60))
def test_nothing_is_lost(tokenizer: Tokenizer, text: str) -> None:
    found = tokenizer.tokenize(text).treebank
    places = [
        tuple(map(int, pair.removeprefix("TokenRange=").split(":")))
        for sentence in found
        for row in sentence.rows
        for pair in row[9].split("|")
        if pair.startswith("TokenRange=")
    ]
    assert all(first < last for first, last in places)
    assert all(a[1] <= b[0] for a, b in pairwise(places))
    covered = {place for first, last in places for place in range(first, last)}
    assert all(i in covered for i, c in enumerate(text) if not c.isspace())
