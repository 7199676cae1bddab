"""Atoms of words: the same for the same property, in any script, and absent where a column is."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arcwise import native
from arcwise.errors import InputError
from arcwise.features import atom_names, token_atoms
from arcwise.treebanks import Sentence, Treebank


def treebank(*words: str, **columns: list[str]) -> Treebank:
    return Sentence.from_words(list(words), **columns).treebank


CASED_BLOCKS = [
    range(0x41, 0x180),
    range(0x386, 0x3D0),
    range(0x400, 0x530),
    range(0x531, 0x557),
    range(0x10A0, 0x10C6),
    range(0x1C90, 0x1CBB),
    range(0x1E00, 0x1F00),
    range(0x1F00, 0x1F70),
    range(0x2C00, 0x2C2F),
    range(0xFF21, 0xFF3B),
]


@pytest.mark.parametrize("block", CASED_BLOCKS, ids=lambda b: f"{b.start:04X}")
def test_lower_casing_agrees_with_unicode(block: range) -> None:
    for code_point in block:
        letter = chr(code_point)
        if len(letter.lower()) == 1:
            assert native.lower_case(letter.encode()).decode() == letter.lower(), hex(code_point)


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=8))
def test_lower_casing_is_idempotent_and_keeps_the_number_of_letters(text: str) -> None:
    once = native.lower_case(text.encode())
    assert native.lower_case(once) == once
    assert len(once.decode()) == len(text)


@pytest.mark.parametrize(
    "name, same, other",
    [
        ("form", ("Ev", "Ev"), "ev"),
        ("lower", ("ЗДЕСЬ", "здесь"), "там"),
        ("prefix3", ("Εργασία", "εργαλείο"), "αεργία"),
        ("suffix2", ("kitaplar", "evLAR"), "evler"),
        ("shape", ("Haus-3", "Բարև-77"), "haus-3"),
    ],
)
def test_atoms_of_forms(name: str, same: tuple[str, str], other: str) -> None:
    a, b, c = token_atoms(treebank(*same, other), [name])[:, 0]
    assert a == b
    assert a != c


def test_a_suffix_longer_than_the_word_is_the_word() -> None:
    atoms = token_atoms(treebank("ab", "ab", "xab"), ["suffix5"])[:, 0]
    assert atoms[0] == atoms[1] != atoms[2]


def test_columns_and_keys() -> None:
    bank = treebank(
        "a",
        "b",
        "c",
        upos=["X", "X", "Y"],
        feats=["Case=Nom|Number=Sing", "Case=Nom", "_"],
        misc=["Cluster=7", "SpaceAfter=No|Cluster=7", "SpaceAfter=No"],
    )
    upos, case, number, cluster, lemma = token_atoms(
        bank, ["upos", "feats.Case", "feats.Number", "misc.Cluster", "lemma"]
    ).T
    assert upos[0] == upos[1] != upos[2]
    assert case[0] == case[1] != 0
    assert case[2] == 0
    assert number[1] == 0 != number[0]
    assert cluster[0] == cluster[1] != 0 == cluster[2]
    assert not lemma.any()
    assert atom_names(["upos", "lemma", "feats"], bank) == ["upos", "feats"]


def test_an_unknown_atom_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(InputError, match=r"'suffix0'.*expected form, lower"):
        token_atoms(treebank("a"), ["suffix0"])


def test_vocabulary_counts_and_orders() -> None:
    values = np.array([5, 9, 9, 0, 7, 9, 7], np.uint64)
    vocabulary = native.Vocabulary.of(values)
    assert vocabulary.hashes.tolist() == [9, 7, 5]
    assert vocabulary.counts.tolist() == [3, 2, 1]
    again = native.Vocabulary(vocabulary.hashes, vocabulary.counts)
    assert [again.count(v) for v in (9, 7, 5, 0, 1)] == [3, 2, 1, 0, 0]
    assert again.rank(1) == -1


def test_known_codes() -> None:
    bank = treebank("a", "b", "c", upos=["X", "Y", "Z"])
    assert native.known_codes(bank.layout, bank.data, 3, ["Z", "X"]).tolist() == [1, -1, 0]
