"""Precedents: what maintainers of another treebank of the same language revised."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from arcwise.mining import Combiner, Revisions, mine
from arcwise.mining.crossfit import Effort
from arcwise.mining.history import RevisionHistory
from arcwise.mining.precedents import Precedent, Precedents, PrecedentsOfWords
from arcwise.treebanks import Treebank
from mining.planted import conllu, toy

KINDS = ["when mark"] * 4 + ["that mark"] * 16
LEMMAS = [kind.split()[0] for kind in KINDS]


def precedents() -> Precedents:
    """All four “when” became advmod, two of them with another head; one of sixteen “that” was revised."""
    fates = [(word, word < 5, "advmod" if word in (0, 1) else "") for word in range(20)]
    return Precedents.of("Other", KINDS, LEMMAS, fates)


def test_kinds_revised_more_often_than_others_are_precedents() -> None:
    assert precedents().kinds == {"when mark": Precedent(4, 4, "advmod")}
    # (4 + 2 · ¼) / (0 + 2 · ¾) against odds of ⅓, half of which carries over.
    added = precedents().log_odds(["when mark", "that mark"])
    assert added[0] == pytest.approx(0.5 * np.log(4.5 / 1.5 * 3))
    assert np.isnan(added[1])


def test_precedents_of_another_language_or_of_the_same_treebank_do_not_apply() -> None:
    labels = ["mark"] * 20
    # Two new words: another treebank, not another release of the same one.
    same = PrecedentsOfWords.of([precedents()], [*LEMMAS[:-2], "if", "as"], labels)
    assert (same.add_to(np.zeros(20)) > 0).tolist() == [True] * 4 + [False] * 16
    assert same.reasons(0) == ["maintainers of Other revised 4 of 4 “when” with mark, mostly to advmod"]
    assert same.reasons(10) == []
    release = PrecedentsOfWords.of([precedents()], LEMMAS, labels)
    assert release.add_to(np.zeros(20)).tolist() == [0] * 20
    other = PrecedentsOfWords.of([precedents()], ["when"] * 4 + ["dass"] * 16, labels)
    assert other.add_to(np.zeros(20)).tolist() == [0] * 20
    assert other.reasons(0) == []


@pytest.fixture(scope="module")
def swept() -> tuple[Combiner, Treebank]:
    """A combiner trained on a treebank in which “often” became obl, and a treebank of the same language."""
    histories = {}
    for name, seed in (("a", 1), ("b", 2)):
        sentences = toy(60, seed=seed)
        old = Treebank.from_string(conllu(sentences))
        for rows in sentences if name == "a" else ():
            for row in rows:
                row[3] = "obl" if row[0] == "often" else row[3]
        result = mine(old, signals=["frames"], time=Effort(folds=2, epochs=1))
        revisions = Revisions.between(old, Treebank.from_string(conllu(sentences)))
        histories[name] = RevisionHistory.of(result.features, revisions)
    return Combiner.train(histories, rounds=2), Treebank.from_string(conllu(toy(30, seed=3)))


def test_a_sweep_in_one_treebank_is_found_in_another(swept: tuple[Combiner, Treebank]) -> None:
    combiner, bank = swept
    result = mine(bank, time=Effort(folds=2, epochs=1, parsers=("graph",)), combiner=combiner)
    often = {word for word, form in enumerate(result.words.forms) if form == "often"}
    assert often
    assert set(result.ranking()[: len(often)]) == often
    suspect = result.suspect(result.ranking()[0])
    assert (suspect.proposed_head, suspect.proposed_label) == (suspect.head, "obl")
    assert any("“often” with advmod, mostly to obl" in reason for reason in suspect.reasons)
    assert "precedents" in suspect.signals


def test_precedents_are_saved_with_the_combiner(swept: tuple[Combiner, Treebank], tmp_path: Path) -> None:
    combiner, _ = swept
    combiner.save(tmp_path / "combiner.arcwise")
    assert Combiner.load(tmp_path / "combiner.arcwise").precedents == combiner.precedents
