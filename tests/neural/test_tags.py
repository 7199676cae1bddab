"""Tags as numbers and back: nothing is lost, attributes come in the order of CoNLL-U, unknown values are told as such."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arcwise.neural.tags import NO_VALUE, TagAlphabets
from arcwise.treebanks import Treebank

WORDS = [
    ("NOUN", "NN", "Case=Nom|Number=Sing"),
    ("NOUN", "NNS", "Case=Acc|Number=Plur"),
    ("VERB", "VB", "_"),
    ("PRON", "_", "abbr=Yes|Number=Sing|PronType=Prs"),
]


def bank(words: list[tuple[str, str, str]]) -> Treebank:
    rows = [
        f"{i}\tw{i}\t_\t{upos}\t{xpos}\t{feats}\t{i - 1}\tdep\t_\t_\n"
        for i, (upos, xpos, feats) in enumerate(words, 1)
    ]
    return Treebank.from_string("".join(rows) + "\n")


def back(tags: TagAlphabets, treebank: Treebank) -> dict[str, list[str]]:
    found = tags.annotations(tags.codes(treebank))
    return {name: [coded.strings[code] for code in coded.codes] for name, coded in found.items()}


def test_names_and_values() -> None:
    tags = TagAlphabets.learn(bank(WORDS), ("upos", "xpos", "feats"))
    assert tags.names == ("upos", "xpos", "feats.abbr", "feats.Case", "feats.Number", "feats.PronType")
    assert tags.columns == ("upos", "xpos", "feats")
    assert tags.values[0] == ("NOUN", "PRON", "VERB")
    assert tags.values[1] == ("NN", "NNS", "VB", "_")
    assert tags.values[2:4] == ((NO_VALUE, "Yes"), (NO_VALUE, "Acc", "Nom"))


def test_what_was_learned_comes_back_as_it_was() -> None:
    treebank = bank(WORDS)
    tags = TagAlphabets.learn(treebank, ("upos", "xpos", "feats"))
    assert back(tags, treebank) == {name: treebank.column(name) for name in ("upos", "xpos", "feats")}


def test_attributes_are_in_the_order_of_conllu_whatever_the_case() -> None:
    tags = TagAlphabets.learn(bank([("X", "_", "aspect=Imp|Animacy=Anim|Zed=1|abbr=Yes")]), ("feats",))
    assert back(tags, bank([("X", "_", "Zed=1|abbr=Yes|Animacy=Anim|aspect=Imp")]))["feats"] == [
        "abbr=Yes|Animacy=Anim|aspect=Imp|Zed=1"
    ]


def test_unknown_values_have_no_number() -> None:
    tags = TagAlphabets.learn(bank(WORDS), ("upos", "feats"))
    codes = dict(zip(tags.names, tags.codes(bank([("ADJ", "_", "Case=Dat|Degree=Pos")])), strict=True))
    assert codes["upos"].tolist() == [-1]
    assert codes["feats.Case"].tolist() == [-1]
    assert codes["feats.Number"].tolist() == [0]  # the word has none


def test_columns_without_values_are_left_out() -> None:
    treebank = bank([("_", "_", "_")])
    assert TagAlphabets.learn(treebank, ("upos", "xpos", "feats")) == TagAlphabets()
    assert TagAlphabets().annotations([]) == {}


def test_from_a_header_of_a_model() -> None:
    tags = TagAlphabets.learn(bank(WORDS), ("upos", "feats"))
    header: dict[str, Any] = {"names": list(tags.names), "values": [list(own) for own in tags.values]}
    assert TagAlphabets.read(header) == tags


VALUES = {"Case": ["Nom", "Acc"], "Number": ["Sing"], "Voice": ["Act", "Pass", "Mid"]}


@settings(max_examples=50, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["NOUN", "VERB", "X"]),
            st.just("_"),
            st.fixed_dictionaries({}, optional={k: st.sampled_from(v) for k, v in VALUES.items()}).map(
                lambda own: "|".join(f"{key}={own[key]}" for key in sorted(own)) or "_"
            ),
        ),
        min_size=1,
        max_size=8,
    )
)
def test_any_tags_come_back(words: list[tuple[str, str, str]]) -> None:
    treebank = bank(words)
    tags = TagAlphabets.learn(treebank, ("upos", "feats"))
    found = back(tags, treebank)
    assert found.get("upos") == treebank.column("upos")
    assert found.get("feats", ["_"] * len(words)) == treebank.column("feats")


@pytest.mark.parametrize("count", [0, 1])
def test_no_words(count: int) -> None:
    tags = TagAlphabets.learn(bank(WORDS), ("upos", "feats"))
    found = tags.codes(bank(WORDS[:count]) if count else Treebank.from_string(""))
    assert [len(codes) for codes in found] == [count] * len(tags.names)
    assert all(np.asarray(own.codes).dtype == np.int32 for own in tags.annotations(found).values())
