"""Characters that are read as others: which ones a treebank teaches, and that nothing but FORM is read so."""

import pickle

import pytest

from arcwise.features.look_alikes import OFTEN, STAND_INS, LookAlikes
from arcwise.treebanks import Treebank


def bank(*words: str) -> Treebank:
    rows = "".join(f"{i}\t{w}\t_\t_\t_\t_\t_\t_\t_\tNote=’\n" for i, w in enumerate(words, 1))
    return Treebank.from_string(f"# text = {' '.join(words)}\n{rows}\n")


def test_a_stand_in_must_be_known() -> None:
    assert "’" not in LookAlikes.learn(bank(*["it's"] * (OFTEN - 1))).stand_ins
    assert LookAlikes.learn(bank(*["it's"] * OFTEN)).stand_ins["’"] == "'"


def test_a_character_that_is_seen_often_is_read_as_itself() -> None:
    often = bank(*["it's"] * 100, *["it’s"] * 10)
    assert "’" not in LookAlikes.learn(often).stand_ins
    assert "’" in LookAlikes.learn(bank(*["it's"] * 101, *["it’s"] * 10)).stand_ins


def test_a_character_that_is_a_word_often_enough_is_read_as_itself() -> None:
    quotes = ['"'] * 500
    assert "“" in LookAlikes.learn(bank(*quotes, *["“"] * (OFTEN - 1))).stand_ins
    assert "“" not in LookAlikes.learn(bank(*quotes, *["“"] * OFTEN)).stand_ins


@pytest.mark.parametrize(
    ("known", "character", "expected"),
    [
        ('"', "“", '"'),
        ("``", "“", "``"),
        ("''", "”", "''"),
        ("«", "“", "«"),
        ("»", "”", "»"),
        ("--", "—", "--"),
        ("-", "—", "-"),
        ("...", "…", "..."),
        ("’s", "'", "’"),
        ("«", '"', "«"),
        ("a", "ａ", "a"),
        ("office", "ﬃ", "ffi"),
    ],
)
def test_of_several_stand_ins_the_treebank_chooses(known: str, character: str, expected: str) -> None:
    assert LookAlikes.learn(bank(*[known] * OFTEN)).stand_ins[character] == expected


def test_what_is_read_is_the_form_alone() -> None:
    look_alikes = LookAlikes({"’": "'", "—": "--", "`": "'"})
    treebank = bank("They", "’re", "late", "—", "it", "`s")
    read = look_alikes.view(treebank)
    assert read[0].forms == ["They", "'re", "late", "--", "it", "'s"]
    changed = treebank.annotate(form=read[0].forms)
    assert read.data == changed.data
    assert treebank[0].forms[1] == "’re"


def test_a_treebank_without_such_characters_is_its_own_view() -> None:
    treebank = bank("plain", "words", "naïve", "'s")
    assert LookAlikes({"’": "'"}).view(treebank) is treebank
    assert LookAlikes().view(bank("it’s")).data == bank("it’s").data


def test_no_stand_in_needs_another() -> None:
    """A text that is read is read as itself: no chain, whatever the treebank."""
    for words in (["'"], ['"', "'", "-", "--", "...", "*"], ["«", "»"], ["``", "''"], ["“", "”", "’", "—"]):
        look_alikes = LookAlikes.learn(bank(*[w for w in words for _ in range(OFTEN)]))
        everything = "".join(STAND_INS) + "plain"
        assert look_alikes.read(look_alikes.read(everything)) == look_alikes.read(everything)


def test_packed_and_pickled() -> None:
    look_alikes = LookAlikes({"’": "'", "…": "..."})
    assert LookAlikes.unpack(look_alikes.pack()) == look_alikes
    assert pickle.loads(pickle.dumps(look_alikes)).read("it’s…") == "it's..."
    assert LookAlikes.unpack(None).read("it’s") == "it’s"
    for broken in ({"ab": "c"}, {"’": ""}):
        with pytest.raises(ValueError, match="look_alikes"):
            LookAlikes.unpack(broken)
