"""Folds for cross-fitting: documents stay together, and no parser sees a copy of what it judges."""

from __future__ import annotations

import numpy as np
import pytest

from arcwise.graph import GraphParser
from arcwise.mining.crossfit import Effort, crossfit
from arcwise.mining.folds import (
    SIMILARITY,
    document_folds,
    document_numbers,
    duplicate_groups,
    normalised_words,
)
from arcwise.treebanks import Treebank
from mining.planted import conllu, toy


def treebank(sentences: list[str]) -> Treebank:
    """Sentences of words attached to the first one."""
    blocks = []
    for text in sentences:
        words = text.split()
        rows = [
            f"{i}\t{word}\t_\tX\t_\t_\t{min(i - 1, 1)}\t{'root' if i == 1 else 'dep'}\t_\t_"
            for i, word in enumerate(words, 1)
        ]
        blocks.append("\n".join(rows) + "\n\n")
    return Treebank.from_string("".join(blocks))


def test_documents_stay_in_one_fold() -> None:
    text = conllu(toy(40))
    for number in (1, 9, 17, 25, 33):
        text = text.replace(f"# sent_id = s{number}\n", f"# newdoc id = d{number}\n# sent_id = s{number}\n")
    bank = Treebank.from_string(text)
    assert document_numbers(bank).tolist() == np.repeat(np.arange(5), 8).tolist()
    distinct = duplicate_groups(bank) == np.arange(40)
    folds = document_folds(bank, 3)
    for document in range(5):
        # A near-duplicate of an earlier sentence may have moved; the others are together.
        members = (document_numbers(bank) == document) & distinct
        assert len(set(folds[members].tolist())) == 1


def test_blocks_of_consecutive_sentences_stand_for_documents() -> None:
    bank = Treebank.from_string(conllu(toy(800)))
    assert document_numbers(bank).tolist() == (np.arange(800) // 20).tolist()


def test_near_duplicates_are_in_one_fold() -> None:
    long = "the committee will meet on 12 May in the old town hall of the city"
    copy = long.replace("12", "27").replace("the city", "the City !")
    changed = long.replace("old", "new")
    unlike = "every other sentence has words of its own that nobody repeats anywhere"
    bank = treebank([long, unlike, copy, changed, "yes .", "no", "Yes !"])
    assert duplicate_groups(bank).tolist() == [0, 1, 0, 0, 4, 5, 4]


def test_similar_pairs_agree_with_all_pairs() -> None:
    sentences = [" ".join(row[0] for row in rows) for rows in toy(60, seed=3)]
    bank = treebank(sentences)
    groups = duplicate_groups(bank)
    words = [normalised_words(s.split()) for s in sentences]
    for a in range(60):
        for b in range(a):
            grams = [set(zip(w, w[1:], w[2:], strict=False)) for w in (words[a], words[b])]
            similar = len(grams[0] & grams[1]) >= SIMILARITY * len(grams[0] | grams[1])
            if words[a] == words[b] or (similar and min(len(words[a]), len(words[b])) >= 6):
                assert groups[a] == groups[b]


def test_no_parser_is_trained_on_the_sentence_that_it_judges_or_on_a_copy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sentences = toy(30)
    sentences[21] = [list(row) for row in sentences[2]]  # the planted duplicate
    bank = Treebank.from_string(conllu(sentences))
    trainings: list[set[tuple[str, ...]]] = []
    train = GraphParser.train

    def recorded(others: Treebank, *rest: object, **options: object) -> GraphParser:
        trainings.append({normalised_words(s.forms) for s in others})
        return train(others, *rest, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(GraphParser, "train", recorded)
    evidence = crossfit(bank, effort=Effort(folds=3, epochs=1, parsers=("graph",)))
    assert evidence.folds[2] == evidence.folds[21]
    assert np.isfinite(evidence.parsers["graph"].arc).all()
    assert len(trainings) == 3
    for fold, training in zip(np.unique(evidence.folds), trainings, strict=True):
        for number in np.flatnonzero(evidence.folds == fold):
            assert normalised_words(bank[int(number)].forms) not in training
