"""Agreement of two annotators, held to calculations of its own: tables of all pairs, and examples of the
papers."""

from __future__ import annotations

from collections import Counter
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arcwise.evaluation import agreement
from arcwise.evaluation.agreement import coefficients
from evaluation.samples import BIRDS, CONTRACTION, sentence, treebank


def cohen(a: list[int], b: list[int]) -> float | None:
    """From the table of all pairs of values."""
    values = sorted({*a, *b})
    table = np.array(
        [[sum((x, y) == (p, q) for x, y in zip(a, b, strict=True)) for q in values] for p in values]
    )
    shares = table / table.sum()
    chance = sum(shares[i].sum() * shares[:, i].sum() for i in range(len(values)))
    return None if chance > 1 - 1e-12 else (np.trace(shares) - chance) / (1 - chance)


def krippendorff(a: list[int], b: list[int]) -> float | None:
    """From the coincidences of values within words (Krippendorff 2011, section C), and all pairs of values
    without regard to words."""
    observed: Counter[tuple[int, int]] = Counter()
    for unit in zip(a, b, strict=True):
        for pair in permutations(unit, 2):
            observed[pair] += 1
    everything = [*a, *b]
    pairs = [(x, y) for (i, x), (j, y) in product(enumerate(everything), repeat=2) if i != j]
    expected = sum(x != y for x, y in pairs) / len(pairs)
    wrong = sum(n for (x, y), n in observed.items() if x != y) / sum(observed.values())
    return None if expected == 0 else 1 - wrong / expected


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=1, max_size=20))
def test_coefficients_are_their_formulas(pairs: list[tuple[int, int]]) -> None:
    a, b = ([pair[side] for pair in pairs] for side in (0, 1))
    found = coefficients(a, b)
    assert found.share == pytest.approx(sum(x == y for x, y in pairs) / len(pairs))
    assert found.kappa == (None if cohen(a, b) is None else pytest.approx(cohen(a, b), abs=1e-12))
    assert found.alpha == (
        None if krippendorff(a, b) is None else pytest.approx(krippendorff(a, b), abs=1e-12)
    )


def test_examples_of_the_textbooks() -> None:
    a = [1] * 25 + [0] * 25
    b = [1] * 20 + [0] * 5 + [1] * 10 + [0] * 15
    assert coefficients(a, b).kappa == pytest.approx(0.4)
    binary = [0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]
    assert coefficients(*binary).alpha == pytest.approx(0.095, abs=5e-4)
    nominal = [[ord(c) for c in row] for row in ("aabbdcccedda", "babbbccceddd")]
    assert coefficients(*nominal).alpha == pytest.approx(0.692, abs=5e-4)


def test_what_is_not_defined_is_none() -> None:
    assert coefficients([], []).share is None
    one = coefficients([1, 1], [1, 1])
    assert (one.share, one.kappa, one.alpha) == (1.0, None, None)


def test_other_libraries_say_the_same() -> None:
    metrics = pytest.importorskip("sklearn.metrics", reason="needs scikit-learn to compare with")
    generator = np.random.default_rng(0)
    a, b = generator.integers(0, 5, (2, 200))
    assert coefficients(a, b).kappa == pytest.approx(metrics.cohen_kappa_score(a, b))


# ---- of treebanks


def test_words_and_sentences() -> None:
    a = treebank(BIRDS, CONTRACTION)
    b = treebank(
        BIRDS.replace("nsubj", "obj").replace("NOUN\tNNS\tNumber=Plur\t3\tobl:loc", "PROPN\tNNS\t_\t5\tobl"),
        CONTRACTION,
    )
    found = agreement(a, b)
    words = len(a[0]) + len(a[1])
    assert (found.sentences, found.words, found.same_trees) == (2, words, 1)
    assert found.uas == (words - 1) / words
    assert found.las == (words - 2) / words
    assert (found.labels.same, found.upos.same, found.feats.same) == (words - 2, words - 1, words - 1)
    assert (found.labels_of_same_heads.words, found.labels_of_same_heads.same) == (words - 1, words - 2)
    assert [(p.a, p.b, p.count) for p in found.label_pairs] == [("nsubj", "obj", 1), ("obl:loc", "obl", 1)]
    cut = agreement(a, b, subtypes="cut")
    assert [(p.a, p.b) for p in cut.label_pairs] == [("nsubj", "obj")]
    assert cut.las == found.las  # its head differs


def test_heads_are_compared_by_their_distance() -> None:
    rows = ["1 a _ _ _ _ 2 x", "2 b _ _ _ _ 0 x", "3 c _ _ _ _ 2 x", "4 d _ _ _ _ 3 x"]
    other = ["1 a _ _ _ _ 2 x", "2 b _ _ _ _ 0 x", "3 c _ _ _ _ 1 x", "4 d _ _ _ _ 2 x"]
    found = agreement(treebank(sentence(*rows)), treebank(sentence(*other)))
    distances = [1, 0, -1, -1], [1, 0, -2, -2]
    assert found.heads == coefficients(*distances)
    assert found.heads.kappa == pytest.approx(cohen(*distances))
    assert found.heads.alpha == pytest.approx(krippendorff(*distances))
    labelled = [d * 100 for d in distances[0]], [d * 100 for d in distances[1]]
    assert found.arcs == coefficients(*labelled)


def test_open_words_do_not_count() -> None:
    a = treebank(sentence("1 a _ X _ _ 2 x", "2 b _ _ _ _ 0 _", "3 c _ Y _ _ _ _"))
    b = treebank(sentence("1 a _ X _ _ 2 x", "2 b _ Z _ _ 0 y", "3 c _ Z _ _ 2 y"))
    found = agreement(a, b)
    assert (found.heads.words, found.heads.same) == (2, 2)
    assert (found.labels.words, found.upos.words, found.upos.same) == (1, 2, 1)
    assert found.same_trees == 0
    assert agreement(a, a).same_trees == 1


def test_words_that_one_side_lacks() -> None:
    a = treebank(
        sentence("1 cannot _ _ _ _ 2 x", "2 sing _ _ _ _ 0 r", "3 now _ _ _ _ 2 y", sent_id="s"), BIRDS
    )
    split = sentence(
        "1 can _ _ _ _ 3 x", "2 not _ _ _ _ 3 x", "3 sing _ _ _ _ 0 r", "4 now _ _ _ _ 3 y", sent_id="s"
    )
    found = agreement(a, treebank(split))
    assert (found.sentences, found.sentences_only_a, found.sentences_only_b) == (1, 1, 0)
    assert (found.words, found.words_only_a, found.words_only_b) == (2, 1 + len(treebank(BIRDS)[0]), 2)
    assert (found.heads.same, found.heads.words) == (2, 2)
    to_the_new_word = treebank(split.replace("now\t_\t_\t_\t_\t3", "now\t_\t_\t_\t_\t2"))
    assert agreement(a, to_the_new_word).heads.same == 1


def test_a_head_that_the_other_side_has_not_is_another_head() -> None:
    a = treebank(sentence("1 sing _ _ _ _ 0 r", "2 now _ _ _ _ 1 y", sent_id="s"))
    b = treebank(sentence("1 sing _ _ _ _ 0 r", "2 so _ _ _ _ 1 z", "3 now _ _ _ _ 2 y", sent_id="s"))
    found = agreement(a, b)
    assert (found.heads.words, found.heads.same) == (2, 1)


def test_an_open_head_is_not_the_root() -> None:
    a, b = (treebank(sentence(f"1 a _ _ _ _ {head} x", sent_id="s")) for head in ("0", "_"))
    assert agreement(a, b).same_trees == 0


def test_json() -> None:
    found = agreement(treebank(BIRDS), treebank(BIRDS)).to_json()
    assert found["uas"] == found["las"] == found["heads"]["kappa"] == 1.0
    assert found["label_pairs"] == ()
