"""What a network sees of words: rows of tables for unknown, absent, rare and known values."""

from __future__ import annotations

import numpy as np
import pytest

from arcwise.errors import InputError, ModelError
from arcwise.learning.model_file import Packed
from arcwise.neural.inputs import FIRST, NOTHING, ROOT, UNKNOWN, Inputs, is_affix, is_word
from arcwise.treebanks import Treebank


def bank(*words: str) -> Treebank:
    """Words as form/upos; ``_`` where there is no tag."""
    rows = []
    for number, word in enumerate(words, start=1):
        form, upos = word.split("/")
        rows.append(f"{number}\t{form}\t_\t{upos}\t_\t_\t{number - 1}\tdep\t_\t_\n")
    return Treebank.from_string("".join(rows) + "\n")


TRAIN = bank("the/DET", "the/DET", "the/DET", "The/DET", "cat/NOUN", "cat/NOUN", "sings/_")


def rows_of(inputs: Inputs, word: str) -> list[int]:
    return inputs.rows(bank(word))[0].tolist()


def test_the_first_rows_are_kept_for_what_is_no_value() -> None:
    assert (UNKNOWN, NOTHING, ROOT, FIRST) == (0, 1, 2, 3)


def test_values_have_rows_the_most_frequent_ones_first() -> None:
    inputs = Inputs.learn(TRAIN, ("lower", "form", "upos"), rare=0)
    assert rows_of(inputs, "the/DET") == [FIRST, FIRST, FIRST]
    assert rows_of(inputs, "cat/NOUN") == [FIRST + 1, FIRST + 1, FIRST + 1]
    assert rows_of(inputs, "THE/DET")[:2] == [FIRST, UNKNOWN]
    assert inputs.table_rows == (FIRST + 3, FIRST + 4, FIRST + 2)


def test_unknown_and_absent_values() -> None:
    inputs = Inputs.learn(TRAIN, ("lower", "upos", "xpos"), rare=0)
    assert rows_of(inputs, "zebra/ADJ") == [UNKNOWN, UNKNOWN, NOTHING]
    assert rows_of(inputs, "the/_") == [FIRST, NOTHING, NOTHING]


@pytest.mark.parametrize("rare, known", [(0, 3), (1, 2), (2, 1), (4, 0)])
def test_rare_words_and_affixes_are_unknown_and_rare_tags_are_not(rare: int, known: int) -> None:
    inputs = Inputs.learn(TRAIN, ("lower", "suffix2", "upos"), rare=rare)
    assert inputs.table_rows == (FIRST + known, FIRST + known, FIRST + 2)
    assert (rows_of(inputs, "sings/NOUN")[0] == UNKNOWN) == (rare >= 1)
    assert rows_of(inputs, "sings/NOUN")[2] == FIRST + 1


def test_unknown_characters_and_empty_treebanks() -> None:
    inputs = Inputs.learn(TRAIN, ("lower", "prefix3", "suffix3", "shape"), rare=0)
    for form in ("𒀀𒀁", "\u200b", "é́́", "🙂" * 500):
        assert set(inputs.rows(bank(f"{form}/X"))[0, :3].tolist()) == {UNKNOWN}
    assert inputs.rows(Treebank.from_string("")).shape == (0, 4)


def test_what_is_packed_is_read_again() -> None:
    inputs = Inputs.learn(TRAIN, ("lower", "upos"), rare=1)
    again = Inputs.read(Packed("neural", 1, {}, inputs.arrays()), inputs.atoms)
    assert again.atoms == inputs.atoms
    np.testing.assert_array_equal(again.rows(TRAIN), inputs.rows(TRAIN))
    with pytest.raises(ModelError, match=r"has no array 'values.1'"):
        Inputs.read(Packed("neural", 1, {}, {"values.0": np.zeros(1, np.uint64)}), inputs.atoms)


def test_kinds_of_atoms() -> None:
    assert [is_word(a) for a in ("form", "lower", "lemma", "upos", "suffix2")] == [True] * 3 + [False] * 2
    assert [is_affix(a) for a in ("prefix1", "suffix9", "shape", "form", "feats.Case")] == [True] * 3 + [
        False
    ] * 2


def test_atoms_that_do_not_exist_are_named() -> None:
    with pytest.raises(InputError, match="magic"):
        Inputs.learn(TRAIN, ("magic",), rare=0)
