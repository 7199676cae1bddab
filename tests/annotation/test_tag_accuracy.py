"""Confidences of suggested tags and lemmas: counted on annotated words that the tagger has not seen."""

from __future__ import annotations

import pytest

from arcwise.annotation.suggestions import SentenceSuggestions, WordSuggestion
from arcwise.annotation.tag_accuracy import TagAccuracy, tagged_sentences, untagged
from arcwise.learning.folds import Folds
from arcwise.treebanks import Treebank


def bank(*words: tuple[str, str, str, str, str], misc: str = "_") -> Treebank:
    """One sentence of (form, lemma, UPOS, XPOS, FEATS)."""
    rows = [
        f"{i}\t{form}\t{lemma}\t{upos}\t{xpos}\t{feats}\t{i - 1}\tdep\t_\t{misc}\n"
        for i, (form, lemma, upos, xpos, feats) in enumerate(words, 1)
    ]
    return Treebank.from_string("".join(rows) + "\n")


DOGS = bank(("dogs", "dog", "NOUN", "_", "Number=Plur"), ("ran", "run", "VERB", "_", "_"))
GUESS = bank(
    ("dogs", "dog", "NOUN", "N", "Number=Sing"), ("ran", "ran", "VERB", "V", "_"), misc="UposProb=0.97"
)


def test_accuracy_is_the_share_of_right_suggestions_drawn_towards_the_column() -> None:
    accuracy = TagAccuracy.measure([(DOGS[0], GUESS[0])])
    assert accuracy.counts["lemma"] == {"3 new": (1, 2)}
    assert accuracy.counts["feats"] == {"3 new": (0, 1)}  # nothing was suggested for the second word
    assert accuracy.counts["xpos"] == {}  # the file has none to compare with
    assert accuracy.estimate("xpos", 0.97, "dogs") is None
    overall = (1 + 1) / (2 + 2)
    assert accuracy.estimate("lemma", 0.97, "unseen") == pytest.approx((1 + 2 * overall) / (2 + 2))
    assert accuracy.estimate("lemma", 0.2, "unseen") == pytest.approx(overall)  # nothing of that kind
    assert TagAccuracy.from_json(accuracy.to_json()) == accuracy


def test_every_suggested_column_gets_its_estimate() -> None:
    accuracy = TagAccuracy.measure([(DOGS[0], GUESS[0])])
    tags = {"upos": "NOUN", "lemma": "dog", "xpos": "N"}
    word = WordSuggestion(False, False, 0, "root", tags=tags, tag_probabilities={"upos": 0.97})
    (completed,) = accuracy.complete(DOGS[0], SentenceSuggestions((word,))).words
    assert completed.tag_probabilities == {
        "upos": 0.97,
        "lemma": accuracy.estimate("lemma", 0.97, "dogs"),
    }
    assert completed.upos_probability == 0.97


def test_cross_validation_never_asks_a_tagger_about_its_own_sentences() -> None:
    # Each form occurs in one fold only, so that a tagger knows it only if it was trained on it.
    blocks = "".join(
        bank((f"w{i % 5}", f"lemma{i % 5}", "NOUN", "_", "_"), ("the", "the", "DET", "_", "_")).text
        for i in range(20)
    )
    accuracy = TagAccuracy.cross_validated(Treebank.from_string(blocks), Folds(5))
    right, total = map(sum, zip(*accuracy.counts["lemma"].values(), strict=True))
    assert (right, total) == (20, 40)  # every "the", no other word


def test_only_whole_sentences_with_tags_count() -> None:
    partial = bank(("dogs", "_", "NOUN", "_", "_"), ("ran", "_", "_", "_", "_"))
    assert len(tagged_sentences([partial, DOGS, DOGS], 1)) == 1
    assert tagged_sentences([partial], 9) == []
    assert set(untagged(DOGS).column("lemma")) == {"_"}
