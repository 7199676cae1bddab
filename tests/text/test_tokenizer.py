"""Raw text into words and sentences: nothing is lost, offsets are exact, what was learned is found again."""

import io
import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arcwise.errors import InputError, ModelError
from arcwise.models import load
from arcwise.text.linear import unpack_keys
from arcwise.text.plain_text import plain_text
from arcwise.text.text_stream import stream_text
from arcwise.text.tokenizer import Tokenizer, TokenizerConfig
from arcwise.treebanks import Treebank
from text.toy import toy_treebank


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train(toy_treebank())


def ranges(treebank: Treebank) -> list[tuple[int, int, str]]:
    """Place and form of each token that has a TokenRange."""
    found = []
    for sentence in treebank:
        for row in sentence.rows:
            for pair in row[9].split("|"):
                if pair.startswith("TokenRange="):
                    first, _, last = pair.removeprefix("TokenRange=").partition(":")
                    found.append((int(first), int(last), row[1]))
    return found


def unescaped(spaces: str) -> str:
    pairs = {"s": " ", "t": "\t", "n": "\n", "r": "\r", "p": "|", "\\": "\\"}
    out, at = "", 0
    while at < len(spaces):
        out += pairs[spaces[at + 1]] if spaces[at] == "\\" else spaces[at]
        at += 2 if spaces[at] == "\\" else 1
    return out


def text_again(treebank: Treebank) -> str:
    """The text, from forms and MISC alone."""
    text = ""
    for sentence in treebank:
        inside = 0
        for row in sentence.rows:
            number, _, last = row[0].partition("-")
            if not last and int(number) <= inside:
                continue
            inside = int(last or 0) or inside
            misc = dict(p.partition("=")[::2] for p in row[9].split("|"))
            text += unescaped(misc.get("SpacesBefore", "")) + row[1]
            text += "" if misc.get("SpaceAfter") == "No" else unescaped(misc.get("SpacesAfter", "\\s"))
    return text


def test_training_text_is_cut_as_it_was(tokenizer: Tokenizer) -> None:
    gold = toy_treebank()
    found = tokenizer.tokenize(plain_text(gold).text).treebank
    assert [s.forms for s in found] == [s.forms for s in gold]


def test_new_words_are_cut(tokenizer: Tokenizer) -> None:
    found = tokenizer.tokenize("The wolf sees foxes. Wolves don't chase!").treebank
    assert [s.forms for s in found] == [
        ["The", "wolf", "sees", "foxes", "."],
        ["Wolves", "do", "n't", "chase", "!"],
    ]
    assert [row[1] for row in found[1].rows if "-" in row[0]] == ["don't"]


def test_capitals_of_a_multiword_token_are_kept(tokenizer: Tokenizer) -> None:
    assert tokenizer.tokenize("Birds DON'T see!").treebank[0].forms == ["Birds", "DO", "N'T", "see", "!"]


def test_a_blank_line_ends_a_sentence(tokenizer: Tokenizer) -> None:
    assert len(tokenizer.tokenize("The dog\n\nsees cats").treebank) == 2
    assert len(tokenizer.tokenize("The dog\nsees cats").treebank) == 1


@pytest.mark.slow
@given(st.text(max_size=80))
@settings(max_examples=300, deadline=None)
def test_nothing_of_the_text_is_lost(tokenizer: Tokenizer, text: str) -> None:
    text = text.encode("utf-8", "replace").decode()
    found = tokenizer.tokenize(text)
    Treebank(found.treebank.data)  # sound CoNLL-U
    for first, last, form in ranges(found.treebank):
        assert text[first:last] == form
    if len(found.treebank):
        assert text_again(found.treebank) == text
        assert found.places == len(text)
        assert found.bytes == len(text.encode())


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "\n\n\t",
        "\ufeff",
        "🙂",
        "👩‍👩‍👧 ok",
        "a\x00b",
        "\x07bell\x1b[0m",
        "日本語 and العربية и ещё.",
        "_",
        "a|b\\c",
        "#",
        "1\t2",
    ],
)
def test_odd_texts(tokenizer: Tokenizer, text: str) -> None:
    found = tokenizer.tokenize(text).treebank
    Treebank(found.data)
    assert text_again(found) == (text if len(found) else "")


def test_a_very_long_line_is_cut_into_sentences(tokenizer: Tokenizer) -> None:
    found = tokenizer.tokenize("dog " * 10_000).treebank
    assert found.word_count == 10_000
    assert max(len(s) for s in found) <= 300


@pytest.mark.parametrize("piece", [7, 64, 1000])
def test_pieces_of_a_stream_give_the_same_as_the_whole(tokenizer: Tokenizer, piece: int) -> None:
    sentences = [
        "The dog sees cats.",
        "Birds don't hear!",
        "The child likes dogs.",
        "\n\nThe bird — é — helps cats.\n",
    ]
    text = " ".join(random.Random(3).choices(sentences, k=40))
    whole = tokenizer.tokenize(text).treebank
    pieces = list(stream_text(tokenizer, io.BytesIO(text.encode()), piece=piece))
    assert b"".join(p.data for p in pieces) == whole.data


@pytest.mark.slow
@pytest.mark.parametrize("piece", [3, 11, 29])
def test_a_piece_ends_where_what_follows_no_longer_matters(piece: int) -> None:
    """Whether "p.m." ends a sentence depends on the next two words, which may be in the next piece."""
    tokenizer = load("en").tokenizer
    text = (
        "He came at 5 p.m. Friday. We left. Why? no idea ... Mr. Smith, of Acme Inc. He knows. ok. "
        "It is e.g. This one. No. 5 is alive! yes it is. I said so etc. And then? Dr. Who? It's approx. 5 "
        "km. "
    )
    whole = tokenizer.tokenize(6 * text).treebank
    pieces = list(stream_text(tokenizer, io.BytesIO(6 * text.encode()), piece=piece))
    assert b"".join(p.data for p in pieces) == whole.data


@pytest.mark.parametrize("text", ["a1-b2.c3/", "x", "don't-", "é—日。本"])
def test_nothing_of_a_word_without_end_is_lost(text: str) -> None:
    """How long it takes is measured by ``python -m benchmarks.program``."""
    data = (text * 32_000)[:32_000]
    found = load("en").tokenizer.tokenize(data).treebank
    assert "".join(row.fields[1] for sentence in found for row in sentence.token_rows) == data


def test_a_stream_without_a_sentence_is_not_read_over_and_over(
    tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = []
    tokenize = Tokenizer.tokenize

    def counting(self: Tokenizer, text: str, **options: object) -> object:
        given.append(len(text))
        return tokenize(self, text, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Tokenizer, "tokenize", counting)
    text = "a" * 100_000
    found = list(stream_text(tokenizer, io.BytesIO(text.encode()), piece=100))
    assert [s.forms for t in found for s in t] == [[text]]
    assert sum(given) < 4 * len(text)


def test_broken_utf8_is_named_or_replaced(tokenizer: Tokenizer) -> None:
    broken = b"The dog " * 10 + b"\xff sees cats."
    with pytest.raises(InputError, match=r"notes.txt: found byte 0xff at offset 80, expected UTF-8"):
        list(stream_text(tokenizer, io.BytesIO(broken), source="notes.txt", piece=16))
    (treebank,) = stream_text(tokenizer, io.BytesIO(broken), errors="replace")
    assert "\ufffd" in treebank.text


def test_a_packed_tokenizer_is_the_same(tokenizer: Tokenizer) -> None:
    text = plain_text(toy_treebank()).text
    again = Tokenizer.unpack(tokenizer.pack())
    assert again.tokenize(text).treebank.data == tokenizer.tokenize(text).treebank.data


def test_a_damaged_tokenizer_is_refused(tokenizer: Tokenizer) -> None:
    packed = tokenizer.pack()
    arrays = packed.arrays
    for damaged in (
        {k: v for k, v in arrays.items() if not k.startswith("cuts.keys")},
        {**arrays, "may_cut": arrays["may_cut"][:3]},
        {**arrays, "cuts.outputs": arrays["cuts.outputs"] + 3},
        {**arrays, "cuts.keys": unpack_keys("cuts.keys", arrays)[::-1], "cuts.keys.gaps": None},  # not sorted
    ):
        with pytest.raises(ModelError, match="damaged"):
            Tokenizer.unpack(replace(packed, arrays={k: v for k, v in damaged.items() if v is not None}))


def test_the_same_seed_gives_the_same_tokenizer() -> None:
    first, second = (Tokenizer.train(toy_treebank()[:60]).pack().arrays for _ in range(2))
    assert all((first[name] == second[name]).all() for name in first)


def test_a_script_without_spaces() -> None:
    words = [
        ["猫", "が", "いる", "。"],
        ["犬", "が", "いる", "。"],
        ["猫", "は", "犬", "を", "見る", "。"],
        ["犬", "は", "猫", "を", "見る", "。"],
    ]
    rows = ["".join(f"{i}\t{w}\t_\t_\t_\t_\t_\t_\t_\t_\n" for i, w in enumerate(s, 1)) + "\n" for s in words]
    treebank = Treebank.from_string("".join(rows) * 5)
    assert plain_text(treebank).text.startswith("猫がいる。犬がいる。")
    tokenizer = Tokenizer.train(treebank)
    assert [s.forms for s in tokenizer.tokenize("犬が猫を見る。猫がいる。").treebank] == [
        ["犬", "が", "猫", "を", "見る", "。"],
        ["猫", "が", "いる", "。"],
    ]


def test_words_with_spaces() -> None:
    numbers = [
        "1 000",
        "2 000",
        "3 500",
        "10 000",
        "12 250",
        "20 000",
        "25 000",
        "30 100",
        "44 000",
        "50 000",
    ]
    sentences = [
        f"# text = They paid {number} crowns.\n"
        + "".join(
            f"{i}\t{form}\t_\t_\t_\t_\t_\t_\t_\t{'SpaceAfter=No' if form == 'crowns' else '_'}\n"
            for i, form in enumerate(["They", "paid", number, "crowns", "."], 1)
        )
        + "\n"
        for number in numbers
    ]
    tokenizer = Tokenizer.train(Treebank.from_string("".join(sentences)))
    text = "They paid 17 000 crowns. They paid 3\n000 crowns. They paid 4  000 crowns."
    found = tokenizer.tokenize(text).treebank
    assert [s.forms for s in found] == [
        ["They", "paid", "17 000", "crowns", "."],
        ["They", "paid", "3", "000", "crowns", "."],
        ["They", "paid", "4", "000", "crowns", "."],
    ]
    assert text_again(found) == text
    again = Tokenizer.unpack(tokenizer.pack())
    assert again.tokenize(text).treebank.data == found.data


def test_an_empty_treebank_teaches_nothing() -> None:
    with pytest.raises(InputError, match="found no sentence"):
        Tokenizer.train(Treebank.from_string(""))


@pytest.mark.parametrize(
    "changed", [{"damping": 5.0}, {"dropout": 0.6}, {"rate": 0.01}, {"epochs": 2}, {"prune": 0.5}]
)
def test_options_reach_the_trainer(changed: dict[str, float]) -> None:
    weights = [
        Tokenizer.train(toy_treebank(), config=TokenizerConfig(**options)).pack().arrays  # type: ignore[arg-type]
        for options in ({}, changed)
    ]
    names = ("cuts.largest", "cuts.codes")
    assert any(weights[0][name].tobytes() != weights[1][name].tobytes() for name in names)
