"""What a tag or label out of the inventory is taken for."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arcwise import Treebank
from arcwise.treebanks.validation import RELATIONS, UPOS_TAGS, Inventory, check_treebank
from arcwise.treebanks.validation.inventory import edit_distance
from arcwise.treebanks.validation.labels import guess_labels, guess_upos
from treebanks.validation.sound import SENTENCES, SOUND, with_field

ARCS = {
    ("VERB", "NOUN", "nsubj"): 60,
    ("VERB", "NOUN", "obj"): 55,
    ("NOUN", "ADJ", "amod"): 90,
    ("NOUN", "NOUN", "nmod"): 50,
    ("NOUN", "NOUN", "conj"): 20,
    ("", "VERB", "root"): 40,
}


@pytest.mark.parametrize(
    ("label", "head", "upos", "expected"),
    [
        ("subjekt", "VERB", "NOUN", "nsubj"),
        ("objekt", "VERB", "NOUN", "obj"),
        ("dobj", "VERB", "NOUN", "obj"),
        ("nusbj", "VERB", "NOUN", "nsubj"),
        ("amodd", "NOUN", "ADJ", "amod"),
        ("zzz", "NOUN", "ADJ", "amod"),
        ("nsubjpass", "VERB", "NOUN", "nsubj:pass"),
        ("anything", "", "VERB", "root"),
    ],
)
def test_labels(label: str, head: str, upos: str, expected: str) -> None:
    assert guess_labels(Inventory(ARCS), label, head, upos)[0] == expected


def test_nothing_is_guessed_where_nothing_is_likely() -> None:
    assert guess_labels(Inventory(ARCS), "zzz", "VERB", "PRON") == []
    assert guess_labels(Inventory(), "zzz", "VERB", "NOUN") == []
    assert guess_upos(Inventory(), "Q", "obj") == []


@pytest.mark.parametrize(
    ("tag", "expected"),
    [("noun", "NOUN"), ("CONJ", "CCONJ"), ("VRB", "VERB"), ("PORPN", "PROPN"), ("V", "VERB")],
)
def test_tags(tag: str, expected: str) -> None:
    assert guess_upos(Inventory(), tag, "dep")[0] == expected


def test_a_tag_by_its_label() -> None:
    assert guess_upos(Inventory(ARCS), "Q", "amod") == ["ADJ"]


def test_told_with_counts() -> None:
    text = "".join(
        SENTENCES[2].replace("= c", f"= {i}").replace("zoo/1/alt1", f"zoo/{i}") + "\n" for i in range(20)
    )
    text += SENTENCES[2].replace("5\tnsubj\t", "5\tsubjekt\t").replace("zoo/1/alt1", "zoo/x") + "\n"
    text = text.replace("nmod:with", "nmod:w")  # DEPS that differ, so that there is an enhanced graph
    (found,) = check_treebank(Treebank.from_string(text))
    assert found.message == (
        "DEPREL: 'subjekt' is not a universal relation; did you mean nsubj? (subjekt occurs once, nsubj 20 "
        "times)"
    )
    text = with_field(text, "c", "1", "deprel", "root")
    (found,) = check_treebank(Treebank.from_string(text))
    assert found.rule == "root-is-not-0"
    assert found.repair is not None
    assert found.repair.description == "write nsubj in DEPREL"


def test_a_guess_that_would_break_a_rule_is_none() -> None:
    """A second object is not guessed, though ``obbj`` looks like one."""
    text = with_field(SOUND, "d", "9", "deprel", "obbj")
    (found,) = check_treebank(Treebank.from_string(text))
    assert "mean obj" not in found.message


def test_inventory() -> None:
    inventory = Inventory.of(Treebank.from_string(SOUND))
    assert set(inventory.deprel) <= RELATIONS | {"flat:foreign"}
    assert set(inventory.upos) <= UPOS_TAGS
    assert sum(inventory.upos.values()) == Treebank.from_string(SOUND).word_count
    assert list(inventory.upos.values()) == sorted(inventory.upos.values(), reverse=True)
    assert inventory.arcs["", "VERB", "root"] == 3
    assert inventory.arcs["NOUN", "DET", "det"] == 2
    assert Inventory.of(iter([Treebank.from_string(SOUND)] * 2)).arcs["", "VERB", "root"] == 6
    assert inventory.features
    assert not Inventory().features


def _slow_distance(a: str, b: str) -> int:
    """By the definition: the least over the last step (neighbours that are swapped are not touched again)."""
    if not a or not b:
        return len(a) + len(b)
    steps = [
        _slow_distance(a[:-1], b) + 1,
        _slow_distance(a, b[:-1]) + 1,
        _slow_distance(a[:-1], b[:-1]) + (a[-1] != b[-1]),
    ]
    if len(a) > 1 and len(b) > 1 and a[-1] == b[-2] and a[-2] == b[-1]:
        steps.append(_slow_distance(a[:-2], b[:-2]) + 1)
    return min(steps)


@settings(max_examples=100, deadline=None)
@given(st.text("abc", max_size=5), st.text("abc", max_size=5))
def test_edit_distance(a: str, b: str) -> None:
    assert edit_distance(a, b) == _slow_distance(a, b)
