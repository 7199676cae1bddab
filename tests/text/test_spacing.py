"""Spaces of treebanks that do not record them: as in print around punctuation."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from arcwise.text.plain_text import plain_text, spacing_of
from arcwise.text.tokenizer import Tokenizer
from arcwise.treebanks import Treebank


def treebank_of(*sentences: str, misc: str = "_") -> Treebank:
    """A treebank of sentences whose words are separated by spaces."""
    texts = (sentence.split() for sentence in sentences)
    return Treebank.from_string("".join(rows(words, misc) for words in texts))


def rows(words: Sequence[str], misc: str) -> str:
    lines = (f"{i}\t{word}\t_\tX\t_\t_\t{i - 1}\tdep\t_\t{misc}\n" for i, word in enumerate(words, 1))
    return "".join(lines) + "\n"


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("Ba do .", "Ba do."),
        ("Ba , do ; mi : la ! ? …", "Ba, do; mi: la!?…"),
        ("Ba ( do [ mi ] ) la", "Ba (do [mi]) la"),
        ('" Ba " , do " mi "', '"Ba", do "mi"'),
        ("„ Ba “ do » mi «", "„Ba“ do »mi«"),
        ("« Ba ' do ' mi »", "«Ba 'do' mi»"),
        ("Ba - do / mi 's", "Ba - do / mi 's"),
        (". Ba ...", ". Ba..."),
    ],
)
def test_spaces_are_those_of_print(words: str, text: str) -> None:
    assert plain_text(treebank_of(words)).text == f"{text}\n"


def test_recorded_spaces_are_kept() -> None:
    marked = treebank_of("Ba do .", misc="SpaceAfter=No")
    assert (spacing_of(marked), spacing_of(treebank_of("Ba do ."))) == ("marked", "printed")
    assert plain_text(marked).text == "Bado.\n"
    stated = Treebank.from_string("# text = Ba do .\n" + rows(["Ba", "do", "."], "_"))
    assert plain_text(stated).text == "Ba do .\n"


def test_scripts_without_spaces_get_none() -> None:
    assert spacing_of(treebank_of("猫 が 寝る 。")) == "none"
    assert plain_text(treebank_of("猫 が 寝る 。")).text == "猫が寝る。\n"


def test_every_token_is_where_the_text_has_it() -> None:
    plain = plain_text(treebank_of("Ba ( do ) , mi .", '" Ba "'))
    assert [plain.text[token.first : token.last] for token in plain.tokens] == [t.form for t in plain.tokens]


def test_a_tokenizer_splits_punctuation_that_its_treebank_has_apart() -> None:
    words = ("bado", "mila", "sore", "kivu", "tano")
    sentences = [f"{a} {b} , {c} ." for a in words for b in words for c in words]
    tokenizer = Tokenizer.train(treebank_of(*sentences))
    tokenized = tokenizer.tokenize("bado sore, mila.").treebank
    assert tokenized[0].forms == ["bado", "sore", ",", "mila", "."]
