"""What the tagger learns besides weights: which tags a word may have, which lemma it takes; and from which
words each is learned."""

from __future__ import annotations

import numpy as np
import pytest

from arcwise import native
from arcwise.features.atoms import token_atoms
from arcwise.text.tagger import Tagger, TaggerConfig
from arcwise.treebanks import Sentence, Treebank

NOUN, VERB, DET = "NOUN", "VERB", "DET"
Word = tuple[str, str, str]
"""Form, UPOS, lemma."""


def treebank_of(words: list[Word]) -> Treebank:
    """One word a sentence."""
    rows = (f"1\t{form}\t{lemma}\t{upos}\t_\t_\t0\troot\t_\t_\n\n" for form, upos, lemma in words)
    return Treebank.from_string("".join(rows))


def times(count: int, form: str, upos: str) -> list[Word]:
    return [(form, upos, form)] * count


OPEN = [(form, VERB, form) for form in ("abcde", "fghijkl", "mnopqrstu")]
"""Words seen once: they make VERB open to new words."""


def states_of(treebank: Treebank) -> tuple[list[str], np.ndarray]:
    names = sorted(set(treebank.column("upos")))
    return names, np.array([names.index(u) for u in treebank.column("upos")], np.int32)


def sets_in_training(words: list[Word], trusted_count: int) -> list[set[str]]:
    """The tags that each word may have while the tagger learns from it."""
    treebank = treebank_of(words)
    names, state = states_of(treebank)
    sets, (starts, states) = native.Tagger.training_sets(treebank.layout, treebank.data, state, trusted_count)
    return [{names[s] for s in states[starts[number] : starts[number + 1]]} for number in sets]


def sets_learned(words: list[Word], trusted_count: int) -> dict[str, set[str]]:
    """The tags that each form may have in the finished tagger."""
    treebank = treebank_of(words)
    tagger = Tagger.train(treebank, config=TaggerConfig(epochs=1, trusted_count=trusted_count))
    (keys, numbers), (starts, states) = tagger._model.dictionary()
    set_of = dict(zip(keys.tolist(), numbers.tolist(), strict=True))
    found = {}
    for form, atom in zip(treebank.column("form"), token_atoms(treebank, ["form"])[:, 0], strict=True):
        number = set_of[int(atom) >> 32]
        upos = (tagger.alphabet.states[s][0] for s in states[starts[number] : starts[number + 1]])
        found[form] = {tagger.alphabet.upos[u] for u in upos}
    return found


@pytest.mark.parametrize(("count", "tags"), [(4, {NOUN, VERB}), (5, {NOUN}), (6, {NOUN})])
def test_a_form_seen_often_takes_no_other_tag(count: int, tags: set[str]) -> None:
    assert sets_learned([*times(count, "dog", NOUN), *OPEN], 5)["dog"] == tags


@pytest.mark.parametrize(("count", "tags"), [(5, {NOUN, VERB}), (6, {NOUN})])
def test_in_training_a_word_is_looked_up_as_if_it_had_not_been_seen_here(count: int, tags: set[str]) -> None:
    found = sets_in_training([*times(count, "dog", NOUN), *OPEN], 5)
    assert found[:count] == [tags] * count


def test_in_training_a_word_knows_of_its_form_what_others_know() -> None:
    found = sets_in_training([("can", NOUN, "can"), ("can", VERB, "can"), *times(3, "the", DET)], 1)
    assert found[:2] == [{VERB}, {NOUN}]


def test_new_words_take_the_tags_of_words_seen_once() -> None:
    """NOUN and DET have no form that occurs once; where no tag has, all are open."""
    words = [*times(9, "dog", NOUN), *times(9, "the", DET)]
    assert sets_in_training([*words, *OPEN], 5)[-1] == {VERB}
    assert sets_in_training([*words, *times(2, "sing", VERB)], 5)[-1] == {NOUN, DET, VERB}


@pytest.mark.parametrize(
    ("word", "tags"),
    [("vwxyz", {VERB, DET}), ("Zbcde", {VERB, DET}), ("xbcde", {VERB, DET}), ("dog", {VERB})],
)
def test_one_form_seen_once_makes_its_tag_open(word: str, tags: set[str]) -> None:
    """Whatever its ending: ``xbcde`` ends like the verb ``abcde``. A tag of forms seen twice is not open."""
    others = [(word, DET, word)] if word != "dog" else times(2, "dot", DET)
    assert sets_in_training([*times(9, "dog", NOUN), *others, *OPEN], 5)[-1] == tags


@pytest.mark.parametrize(("others", "tags"), [(300, {DET, NOUN}), (400, {DET})])
def test_a_tag_seen_next_to_never_with_a_form_is_taken_for_an_error(others: int, tags: set[str]) -> None:
    words = [*times(others, "the", DET), *times(1, "the", NOUN), *times(2, "dog", NOUN), *OPEN]
    assert sets_learned(words, 5)["the"] == tags


def test_a_known_form_takes_its_most_frequent_lemma() -> None:
    words = [("saw", NOUN, "saw"), ("saw", NOUN, "see"), ("saw", NOUN, "see"), ("ox", NOUN, "ox"), *OPEN]
    tagger = Tagger.train(treebank_of(words))
    tagged = tagger.tag(Treebank.from_sentences([Sentence.from_words([form]) for form in ("saw", "ox")]))
    assert tagged.column("lemma") == ["see", "ox"]


def lemma_weights(words: list[Word]) -> np.ndarray:
    tagger = Tagger.train(treebank_of(words), config=TaggerConfig(epochs=1, prune=0.0))
    return np.asarray(tagger._model.linear("lemmas")[3])


def test_lemmas_are_learned_from_different_words_not_from_every_word() -> None:
    words = [("dogs", NOUN, "dog"), ("cats", NOUN, "cat"), ("ox", NOUN, "ox"), ("sheep", NOUN, "sheep")]
    once, twice = lemma_weights([*words, *words]), lemma_weights([*words, *words, *words, *words])
    np.testing.assert_allclose(once, twice)


def test_each_part_has_its_own_least_count() -> None:
    """``bundle_min_count`` is that of XPOS and FEATS, ``min_count`` that of the others."""
    rows = [f"1\tdog{'s' * (i % 2)}\tdog\tNOUN\tN\tNumber={'SP'[i % 2]}\t0\troot\t_\t_\n\n" for i in range(6)]
    rows += [f"1\t{f}\t{f}\tVERB\tV\t_\t0\troot\t_\t_\n\n" for f in ("sing", "run", "see")]
    treebank = Treebank.from_string("".join(rows))

    def sizes(**counts: int) -> list[int]:
        model = Tagger.train(treebank, config=TaggerConfig(epochs=1, prune=0.0, **counts))._model  # type: ignore[arg-type]
        return [len(model.linear(part)[3]) for part in ("states", "bundles")]

    both, fewer_states, fewer_bundles = sizes(), sizes(min_count=4), sizes(bundle_min_count=4)
    assert fewer_states[0] < both[0]
    assert fewer_states[1] == both[1]
    assert fewer_bundles[1] < both[1]
    assert fewer_bundles[0] == both[0]
