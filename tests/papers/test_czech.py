"""Simplified tags and nested training trees of the Czech experiments, by their definitions."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from measuring.czech import nested_order, with_nested_trees, with_simplified_tags
from measuring.trainings import Training

from arcwise.graph import GraphConfig
from arcwise.treebanks import Sentence, Treebank
from contracts.small_treebank import small_treebank
from reference.enumerate_trees import all_trees

TAGS = ["NNFS4-----A----", "VpMS----R-AA---", "RR--6----------", "Z:-------------", "_"]


def is_projective(heads: list[int]) -> bool:
    """Whether every word between a head and its dependent descends from the head.

    ``heads``: of the words 1..n."""
    above = [0, *heads]
    for word in range(1, len(above)):
        for between in range(min(word, above[word]) + 1, max(word, above[word])):
            ancestor = between
            while ancestor not in (0, above[word]):
                ancestor = above[ancestor]
            if ancestor != above[word]:
                return False
    return True


@pytest.mark.parametrize("n", range(1, 6))
def test_every_tree_becomes_nested_with_the_same_arcs(n: int) -> None:
    """All trees, with one root or several. Dependents keep their order and the side of their head that they
    are on, and a projective tree does not change."""
    for tree in all_trees(n, projective=False, single_root=False):
        heads = [int(head) for head in tree[1:]]
        order = nested_order(heads)
        places = {0: 0} | {word: place for place, word in enumerate(order, start=1)}
        assert sorted(order) == list(range(1, n + 1))
        assert is_projective([places[heads[word - 1]] for word in order])
        assert (order == list(range(1, n + 1))) == is_projective(heads)
        for head in range(n + 1):
            family = [word for word in range(1, n + 1) if word == head or heads[word - 1] == head]
            assert [places[word] for word in family] == sorted(places[word] for word in family)


def test_a_rearranged_treebank_has_the_words_tags_labels_and_arcs_of_the_old_one() -> None:
    old = small_treebank(crossing=True)
    new = with_nested_trees(old)
    assert any(not is_projective(sentence.heads[1:].tolist()) for sentence in old)
    assert all(is_projective(sentence.heads[1:].tolist()) for sentence in new)
    for before, after in zip(old, new, strict=True):
        assert arcs(before) == arcs(after)


def arcs(sentence: Sentence) -> list[tuple[str, ...]]:
    """Form, tag, label and the form of the head of every word, sorted."""
    heads = [["", *sentence.forms][head] for head in sentence.heads[1:]]
    return sorted(zip(sentence.forms, sentence.upos, sentence.deprels, heads, strict=True))


def test_simplified_tags_are_part_of_speech_and_case_or_its_detail() -> None:
    lines = [
        f"{i}\tw\t_\tX\t{tag}\t_\t{i - 1}\t{'dep' if i > 1 else 'root'}\t_\t_\n"
        for i, tag in enumerate(TAGS, 1)
    ]
    bank = with_simplified_tags(Treebank.from_string("".join(lines) + "\n"))
    assert bank.column("upos") == ["N4", "Vp", "R6", "Z:", "_"]


def test_a_training_rearranges_its_training_part_alone(world: Path) -> None:
    plain = Training("Czech-Mix-rs", GraphConfig())
    nested = Training("Czech-Mix-rs", GraphConfig(), nested=True)
    assert (plain.data("train").heads != nested.data("train").heads).any()
    for part in ("dev", "test"):
        assert np.array_equal(plain.data(part).heads, nested.data(part).heads)


def test_predicted_simplified_tags_are_those_of_a_tagger_that_learned_them(world: Path) -> None:
    """They are rearranged with their words."""
    config = GraphConfig()
    simple = Training("Czech-Mix-rs", config, tag_folds=2, simple_tags=True)
    small_tags = set(Training("Czech-Mix-rs", config, simple_tags=True).data("train").column("upos"))
    plain = Training("Czech-Mix-rs", config, tag_folds=2)
    for part in ("train", "dev"):
        assert set(simple.data(part).column("upos")) <= small_tags
        assert not set(plain.data(part).column("upos")) <= small_tags
    both = Training("Czech-Mix-rs", config, tag_folds=2, simple_tags=True, nested=True)
    for before, after in zip(simple.data("train"), both.data("train"), strict=True):
        assert arcs(before) == arcs(after)


def test_a_training_comes_back_from_json_with_its_tags_and_order() -> None:
    for options in ({}, {"simple_tags": True}, {"nested": True}, {"simple_tags": True, "nested": True}):
        training = Training("Czech-Mix-rs", GraphConfig(), **options)  # type: ignore[arg-type]
        assert Training.from_json(json.loads(json.dumps(training.to_json()))) == training
