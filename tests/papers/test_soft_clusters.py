"""Soft clusters of words, by their definition."""

from __future__ import annotations

import numpy as np
import pytest
from measuring.soft_clusters import COLUMN, soft_clusters
from measuring.trainings import Training

from arcwise.graph import GraphConfig, GraphParser
from arcwise.treebanks import Treebank


def two_kinds() -> Treebank:
    """ "the"/"a" stand before nouns, "to"/"will" before verbs; ``run`` is both."""
    pairs = [("the", "dog"), ("a", "dog"), ("the", "cat"), ("a", "cat"), ("to", "sing"), ("will", "sing")]
    pairs += [("to", "see"), ("will", "see"), ("the", "run"), ("to", "run"), ("a", "run"), ("will", "run")]
    return Treebank.from_string(
        "".join(
            f"1\t{a}\t_\tX\t_\t_\t2\tdep\t_\t_\n2\t{b}\t_\tY\t_\t_\t0\troot\t_\t_\n\n" for a, b in pairs * 3
        )
    )


def test_em_never_lowers_the_likelihood_and_posteriors_sum_to_one() -> None:
    found = soft_clusters(two_kinds(), 3)
    steps = np.diff(found.likelihoods)
    assert steps.min() > -1e-9
    assert steps[0] > 0
    for q in found.posteriors.values():
        assert q.min() >= 0
        assert q.sum() == pytest.approx(1)


def test_words_with_the_same_neighbours_are_in_the_same_clusters_and_ambiguous_ones_in_both() -> None:
    best = max((soft_clusters(two_kinds(), 4, seed=s) for s in range(5)), key=lambda c: c.likelihoods[-1])
    q = best.posteriors
    np.testing.assert_allclose(q["dog"], q["cat"], atol=0.05)
    np.testing.assert_allclose(q["sing"], q["see"], atol=0.05)
    np.testing.assert_allclose(q["run"], (q["dog"] + q["sing"]) / 2, atol=0.1)
    assert np.abs(q["dog"] - q["sing"]).sum() > 1


def test_the_parser_takes_them_as_features() -> None:
    bank = two_kinds()
    given = soft_clusters(bank, 4).annotate(bank)
    assert given.column("misc")[0].startswith("Clusters=any,z")
    config = GraphConfig(list_columns=(COLUMN,), epochs=1, arc_bits=10, row_bits=10)
    parser = GraphParser.train(given, config=config)
    assert "h.upos m.upos pairs.misc.Clusters @ direction" in parser.model.alphabets.arc_templates
    assert parser.parse(given).heads.tolist() == bank.heads.tolist()


def test_a_training_with_soft_clusters_says_so_and_others_keep_their_place() -> None:
    plain, soft = (Training("X", GraphConfig(), soft_clusters=k) for k in (0, 8))
    assert "soft_clusters" not in plain.to_json()
    assert soft.to_json()["soft_clusters"] == 8
    assert Training.from_json(soft.to_json()) == soft
    assert plain.folder != soft.folder
