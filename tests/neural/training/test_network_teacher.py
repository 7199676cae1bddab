"""Neural parsers as one teacher: the soft targets of an ensemble of marginals, and tags for a student."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from arcwise.distillation import Distillation, DistillationConfig, SoftTags, SoftTargets
from arcwise.errors import InputError
from arcwise.neural import NeuralConfig, NeuralParser
from arcwise.neural.network_teacher import NetworkTeacher
from arcwise.parsing.ensemble import MarginalEnsemble
from arcwise.parsing.scored import Temperatures
from arcwise.treebanks import Treebank
from contracts.small_treebank import small_treebank
from neural.random_models import SMALL, random_model

TREES: list[dict[str, Any]] = [
    {"projective": projective, "single_root": single_root}
    for projective in (False, True)
    for single_root in (True, False)
]
CASES: list[dict[str, Any]] = [
    {},
    {"members": 2},
    {"root_label": "root"},
    {"clusters": 2},
    {"labelled": False},
    {"order": 2, "sibling_size": 5},
]
WORDS = small_treebank(crossing=True)


def parsers(**options: Any) -> list[NeuralParser]:
    """Two parsers with random weights and temperatures of their own."""
    return [
        NeuralParser(
            random_model(seed=seed, learns=("upos", "feats"), **options).with_temperatures(
                Temperatures(1.5 * seed, 0.5 * seed)
            )
        )
        for seed in (1, 2)
    ]


def dense(targets: SoftTargets, words: int) -> np.ndarray:
    """P(head, label) of each word, (words, heads, labels)."""
    out = np.zeros((words, int(targets.heads.max()) + 1, max(len(targets.label_names), 1)))
    out[targets.words, targets.heads, np.maximum(targets.labels, 0)] = targets.probabilities
    return out


@pytest.mark.parametrize("options", CASES, ids=str)
@pytest.mark.parametrize("trees", TREES, ids=str)
def test_soft_targets_are_those_of_an_ensemble_of_marginals(
    options: dict[str, Any], trees: dict[str, bool]
) -> None:
    members = parsers(**options)
    predictions = NetworkTeacher(members, device="cpu").soft_predictions(WORDS, **trees, least=0.01)
    mixture = MarginalEnsemble([network for parser in members for network in parser.members]).distributions(
        WORDS, **trees
    )
    names = mixture.labels or ()
    marginals = mixture.label_marginals if names else mixture.marginals
    expected = SoftTargets.from_marginals(marginals, names, least=0.01)
    assert predictions.targets.label_names == tuple(names)
    count = WORDS.word_count
    assert np.abs(dense(predictions.targets, count) - dense(expected, count)).max() < 2e-3
    best = mixture.minimum_risk()
    assert predictions.heads.tolist() == [head for tree in best for head in tree.heads[1:].tolist()]


def test_tags_are_the_mean_of_the_networks() -> None:
    members = parsers()
    predictions = NetworkTeacher(members, device="cpu").soft_predictions(WORDS, **TREES[0], least=0.01)
    assert predictions.tags is not None
    by_member = [parser.scorer.tags(WORDS) for parser in members]
    for tag, codes in enumerate(predictions.tags.codes):
        shares = predictions.tags.probabilities[tag]
        assert np.abs(shares.sum(1) - 1).max() < 1e-5
        assert (np.diff(shares, axis=1) <= 1e-6).all()
        if codes.shape[1] == len(predictions.tags.values[tag]):  # nothing was cut off
            for member in by_member:
                best, probability = member[tag]
                mean_share = (np.where(codes == best[:, None], shares, 0)).sum(1)
                assert (mean_share >= probability / 2 - 1e-4).all()


def test_parsers_of_different_treebanks_are_refused() -> None:
    one = NeuralParser(random_model())
    with pytest.raises(InputError, match="different label sets"):
        NetworkTeacher([one, NeuralParser(random_model(labelled=False))])
    fewer = NeuralParser(random_model(small_treebank()[:2], learns=("upos",), labelled=False))
    tagged = [NeuralParser(random_model(learns=("upos",), labelled=False)), fewer]
    with pytest.raises(InputError, match="different tag sets"):
        NetworkTeacher(tagged)
    with pytest.raises(InputError, match="found none"):
        NetworkTeacher([])


def test_soft_tags_in_another_alphabet() -> None:
    codes, shares = np.array([[1, 0], [2, -1]], np.int32), np.array([[0.6, 0.4], [1.0, 0.0]], np.float32)
    tags = SoftTags(("upos",), (("ADJ", "NOUN", "X"),), (codes,), (shares,))
    own, missing = tags.in_alphabets(("upos", "xpos"), (("NOUN", "VERB"), ("NN",)))
    assert own[0].tolist() == [[0, -1], [-1, -1]]
    assert own[1].tolist() == [[1.0, 0.0], [0.0, 0.0]]
    assert missing[0].tolist() == [[-1], [-1]]
    both = SoftTags.concatenate([tags, tags]).select_words(np.array([-1, 3, 0]))
    assert both.codes[0].tolist() == [[-1, -1], [2, -1], [1, 0]]
    assert both.probabilities[0][0].tolist() == [0.0, 0.0]


def untagged(treebank: Treebank) -> Treebank:
    nothing = ["_"] * treebank.word_count
    return treebank.annotate(upos=nothing, xpos=nothing, feats=nothing)


@pytest.mark.slow
def test_a_student_learns_the_tags_of_the_teacher() -> None:
    """Its own treebank has two sentences; the text has the words of the others, without tags."""
    treebank = small_treebank()
    words: dict[str, Any] = {"inputs": ("lower", "suffix2"), "learns": ("upos",)}
    quick: dict[str, Any] = {"epochs": 150, "warm_up": 2, "learning_rate": 0.02, "average": 0.9}
    quick |= {"dropout": 0.0, "word_dropout": 0.0, "affix_dropout": 0.0}
    config = NeuralConfig(**(SMALL | words | quick))
    teacher = NetworkTeacher([NeuralParser.train(treebank, None, config=config)], device="cpu")
    own, text = treebank[:2], untagged(treebank)
    accuracy = {}
    for weight in (0.001, 1.0):
        settings = DistillationConfig(gold_share=1.0, text_weight=weight)
        distillation = Distillation(teacher, treebank, settings)
        data = distillation.prepare(own, projective=False, single_root=True, labelled=True)
        assert data.text_tags is not None
        assert len(data.text_tags) == treebank.word_count
        student = NeuralParser.train(own, None, config=config, distillation=distillation)
        tags = zip(student.parse(text).column("upos"), treebank.column("upos"), strict=True)
        accuracy[weight] = np.mean([tag == gold for tag, gold in tags])
    assert accuracy[0.001] < 0.9 < accuracy[1.0]
