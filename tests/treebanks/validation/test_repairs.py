"""A repair takes its finding away and breaks nothing else."""

from __future__ import annotations

import pytest

from arcwise import Treebank
from arcwise.treebanks.edits import edited
from arcwise.treebanks.validation import RULES, Inventory, check_sentence, check_treebank
from treebanks.validation.defects import DEFECTS
from treebanks.validation.repairing import failures
from treebanks.validation.sound import SOUND, with_field


@pytest.mark.parametrize("rule", DEFECTS)
def test_repairs_of_the_defects(rule: str) -> None:
    treebank = Treebank.from_string(DEFECTS[rule].text, strict=False)
    inventory = Inventory.of(treebank)
    count, failed = failures(treebank, inventory)
    assert failed == []
    own = [f for sentence in treebank for f in check_sentence(sentence, inventory) if f.rule == rule]
    if DEFECTS[rule].repaired is not None:
        assert any(f.repair for f in own)
    assert count or not any(f.repair for f in own)


def _repaired(text: str, sentence: int = 2) -> str:
    """The sentence after the repair of the first finding."""
    treebank = Treebank.from_string(text, strict=False)
    found = next(f for f in check_treebank(treebank) if f.sentence == sentence)
    assert found.repair is not None
    return edited(treebank[sentence].source_bytes, found.repair.edits).decode()


def _sound(sentence: int = 2) -> str:
    return Treebank.from_string(SOUND)[sentence].to_conllu()


def test_the_text_follows_the_words() -> None:
    assert _repaired(SOUND.replace("# text = Rex is a big", "# text = Rex was a big")) == _sound()
    text = with_field(SOUND, "c", "4", "form", "very  big").replace("a big dog", "a very  big dog")
    repaired = _repaired(text)
    assert "# text = Rex is a very big dog with one ear!\n" in repaired
    assert "\n4\tvery big\t" in repaired


def test_blanks_of_the_text_become_space_after() -> None:
    assert _repaired(with_field(SOUND, "c", "8", "misc", "_")) == _sound()
    assert _repaired(with_field(SOUND, "c", "5", "misc", "SpaceAfter=No")) == _sound()
    assert _repaired(with_field(SOUND, "a", "3-4", "misc", "Note=x|SpaceAfter=No"), 0).replace(
        "Note=x", "_"
    ) == _sound(0)


def test_space_after_is_not_repaired_against_the_text() -> None:
    """``spaceafter=No`` is misspelt; but the text has a blank there, so that the right spelling would be
    wrong too."""
    (found,) = check_treebank(Treebank.from_string(with_field(SOUND, "c", "5", "misc", "spaceafter=No")))
    assert (found.rule, found.repair) == ("misc-attr-typo", None)


def test_no_repair_where_rows_cannot_be_named() -> None:
    text = with_field(with_field(SOUND, "c", "4", "lemma", " big"), "c", "9", "id", "10")
    found = {f.rule: f for f in check_treebank(Treebank.from_string(text, strict=False))}
    assert found["leading-whitespace"].repair is None


def test_no_repair_that_would_lose_bytes() -> None:
    """A lemma with a byte that is no UTF-8 cannot be written again as it is, without the blank before it."""
    for lemma, repaired in (("é".encode(), True), (b"\xe9", False)):
        data = with_field(SOUND, "c", "4", "lemma", " LEMMA").encode().replace(b"LEMMA", lemma)
        found = {f.rule: f for f in check_treebank(Treebank(data, strict=False))}
        assert ("invalid-utf" in found) is not repaired
        assert (found["leading-whitespace"].repair is not None) is repaired


def test_every_kind_of_repair_that_is_declared_occurs() -> None:
    offered = set()
    for rule, defect in DEFECTS.items():
        found = check_treebank(Treebank.from_string(defect.text, strict=False))
        offered |= {f.rule for f in found if f.repair and f.rule == rule}
    declared = {rule.name for rule in RULES.values() if rule.repair and rule.official}
    assert declared - offered == {"root-is-not-0"}  # see test_guesses
