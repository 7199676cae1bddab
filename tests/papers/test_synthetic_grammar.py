"""The synthetic instances of the experiment on Gormley & Eisner (2013) are not degenerate."""

from itertools import pairwise

import numpy as np
import pytest

from arcwise.induction import TagSentences
from reference.enumerate_trees import all_trees

pytest.importorskip("highspy")

from experiments.grammar_searches import (
    PAPER_PRODUCTS,
    TAGS,
    english_grammar,
    nested_pairs,
    optimum,
    product_count,
    root_bound,
    synthetic,
)


@pytest.mark.parametrize("count", [5, 8])
def test_the_instances_have_many_parses_and_every_tag(count: int) -> None:
    corpus = synthetic(count)
    assert len(corpus) == count
    assert {tag for sentence in corpus.strings for tag in sentence} == set(TAGS)
    assert len(set(map(tuple, corpus.strings))) >= 5
    parses = np.prod(
        [float(len(all_trees(len(s), projective=True, single_root=True))) for s in corpus.strings]
    )
    assert parses > 10_000
    assert synthetic(8).strings[:5] == synthetic(5).strings


def test_the_number_of_products_is_near_the_paper_s() -> None:
    assert product_count(synthetic(5)) == pytest.approx(PAPER_PRODUCTS, rel=0.02)
    assert product_count(synthetic(20)) == pytest.approx(4_056_498, rel=0.3)


def test_the_grammar_favours_short_sentences_in_english_order() -> None:
    corpus, trees = english_grammar().sample(500, seed=0, max_length=30)
    assert np.mean([len(s) for s in corpus.strings]) < 5
    before = after = 0
    for sentence, tree in zip(corpus.strings, trees, strict=True):
        for m, h in enumerate(tree.heads[1:], 1):
            if h and sentence[m - 1] == "Adjective" and sentence[h - 1] == "Noun":
                before, after = before + (m < h), after + (m > h)
    assert before > 5 * after
    verbs_first = sum(s[0] == "Verb" for s in corpus.strings if len(s) > 1)
    assert verbs_first < len(corpus) / 3


def test_draws_are_nested() -> None:
    draws = [set(nested_pairs(40, share)) for share in (0.0, 0.1, 0.3, 0.5, 0.7, 1.0)]
    assert all(smaller < larger for smaller, larger in pairwise(draws))
    assert len(draws[-1]) == 40 * 41 // 2
    assert all(0 <= i <= j < 40 for i, j in draws[-1])


@pytest.mark.slow
def test_bounds_at_the_root_fall_with_nested_draws() -> None:
    corpus = TagSentences.from_tags([["Noun", "Verb"]])
    whole = product_count(corpus)
    bounds = [root_bound(corpus, share, 20.0) for share in (0.0, 0.3, 0.6, 1.0)]
    assert [rows for _, rows, _, _ in bounds] == [round(share * whole) for share, *_ in bounds]
    assert all(done for *_, done in bounds)
    assert all(larger[2] <= smaller[2] + 1e-6 for smaller, larger in pairwise(bounds))
    assert bounds[-1][2] >= optimum(corpus) - 1e-9
