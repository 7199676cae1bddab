"""Attachment scores and breakdowns against figures counted by hand."""

from __future__ import annotations

import numpy as np
import pytest

from arcwise.errors import InputError
from arcwise.evaluation import (
    Options,
    attachment,
    by_arc_length,
    by_crossing,
    by_label,
    by_sentence_length,
    confusions,
    evaluate,
    uas_las,
    verdicts,
)
from evaluation.samples import BIRDS, CONTRACTION, sentence, treebank

SYSTEM = BIRDS.replace("6\tcase", "3\tcase").replace("obl:loc", "obl").replace("3\tpunct", "2\tpunct")
SYSTEM = SYSTEM.replace("2\tdet", "2\tamod")
"""Wrong: the head of word 4, the head of word 7 (punctuation), the label of word 1; the subtype of word 6."""


def test_counted_by_hand() -> None:
    scores = attachment(verdicts(treebank(BIRDS), treebank(SYSTEM)))
    assert (scores.words, scores.heads_right, scores.arcs_right, scores.labels_right) == (7, 5, 4, 6)
    assert (scores.uas, scores.las, scores.label_accuracy) == (5 / 7, 4 / 7, 6 / 7)
    assert (scores.sentences, scores.roots_right, scores.trees_right) == (1, 1, 0)


@pytest.mark.parametrize(
    ("punctuation", "subtypes", "expected"),
    [
        ("count", "keep", (7, 5, 3)),
        ("skip", "cut", (6, 5, 4)),
        ("skip", "keep", (6, 5, 3)),
        ("skip-label", "cut", (6, 5, 4)),
    ],
)
def test_options(punctuation: str, subtypes: str, expected: tuple[int, int, int]) -> None:
    result = evaluate(treebank(BIRDS), treebank(SYSTEM), punctuation=punctuation, subtypes=subtypes)
    scores = result.attachment
    assert (scores.words, scores.heads_right, scores.arcs_right) == expected
    assert result.to_json()["options"] == {"punctuation": punctuation, "subtypes": subtypes}


def test_punctuation_without_tags_is_seen_by_form() -> None:
    gold = sentence("1 Go _ _ _ _ 0 root", "2 `` _ _ _ _ 1 dep", "3 ?! _ _ _ _ 1 dep", "4 U.S. _ _ _ _ 1 dep")
    judged = verdicts(treebank(gold), treebank(gold), Options(punctuation="skip"))
    assert judged.scored.tolist() == [True, False, False, True]


def test_punctuation_in_universal_tags_of_the_penn_treebank() -> None:
    gold = sentence("1 Go _ VERB _ _ 0 root", "2 . _ . _ _ 1 dep")
    assert verdicts(treebank(gold), treebank(gold), Options(punctuation="skip")).scored.tolist() == [
        True,
        False,
    ]


def test_an_unknown_option_is_named() -> None:
    with pytest.raises(
        InputError, match="punctuation: found 'drop', expected one of count, skip, skip-label"
    ):
        Options(punctuation="drop")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="by: found 'colour', expected one of label, length"):
        evaluate(treebank(BIRDS), treebank(BIRDS), by=["colour"])


def test_roots_and_complete_trees() -> None:
    other_root = BIRDS.replace("3\tnsubj", "0\tnsubj").replace("0\troot", "2\troot")
    gold = treebank(BIRDS, CONTRACTION, BIRDS)
    scores = attachment(verdicts(gold, treebank(BIRDS, CONTRACTION, other_root)))
    assert (scores.roots_right, scores.trees_right, scores.sentences) == (2, 2, 3)
    assert scores.complete == 2 / 3


def test_two_roots_are_right_if_both_are() -> None:
    two = BIRDS.replace("3\tpunct", "0\tpunct")
    assert attachment(verdicts(treebank(two), treebank(two))).root_accuracy == 1
    assert attachment(verdicts(treebank(two), treebank(BIRDS))).root_accuracy == 0
    assert attachment(verdicts(treebank(BIRDS), treebank(two))).root_accuracy == 0


def test_root_f1_of_several_roots() -> None:
    """Gold has four roots, the system five, three in both: F1 is 2·3 / (4 + 5)."""
    rows = ["1 a _ _ _ _ {} x", "2 b _ _ _ _ {} x", "3 c _ _ _ _ {} x", "4 d _ _ _ _ {} x"]

    def made(*heads: int) -> str:
        return sentence(*[row.format(head) for row, head in zip(rows, heads, strict=True)])

    gold = treebank(made(0, 0, 1, 1), made(0, 0, 1, 1))
    scores = attachment(verdicts(gold, treebank(made(0, 0, 0, 1), made(0, 3, 0, 1))))
    assert (scores.gold_roots, scores.system_roots, scores.common_roots) == (4, 5, 3)
    assert (scores.root_precision, scores.root_recall, scores.root_f1) == (3 / 5, 3 / 4, 6 / 9)
    assert scores.root_accuracy == 0
    assert scores.to_json()["root_f1"] == 6 / 9


def test_root_f1_is_root_accuracy_where_every_sentence_has_one_root() -> None:
    other_root = BIRDS.replace("3\tnsubj", "0\tnsubj").replace("0\troot", "2\troot")
    scores = attachment(
        verdicts(treebank(BIRDS, CONTRACTION, BIRDS), treebank(BIRDS, CONTRACTION, other_root))
    )
    assert scores.root_f1 == scores.root_accuracy == 2 / 3


def test_roots_of_words_that_gold_has_not_cost_precision_in_their_own_sentence() -> None:
    gold = treebank(
        sentence("1 New _ _ _ _ 2 amod", "2 York _ _ _ _ 0 root"), sentence("1 Go _ _ _ _ 0 root")
    )
    system = treebank(sentence("1 NewYork _ _ _ _ 0 root"), sentence("1 Go _ _ _ _ 0 root"))
    judged = verdicts(gold, system)
    both = attachment(judged)
    assert (both.gold_roots, both.system_roots, both.common_roots) == (2, 2, 1)
    first, second = (
        attachment(judged, sentences=np.array(flags)) for flags in ([True, False], [False, True])
    )
    assert (first.gold_roots, first.system_roots, first.common_roots) == (1, 1, 0)
    assert (second.gold_roots, second.system_roots, second.common_roots) == (1, 1, 1)


def test_words_that_the_system_has_not_are_wrong() -> None:
    gold = sentence("1 New _ _ _ _ 2 amod", "2 York _ _ _ _ 0 root")
    system = sentence("1 NewYork _ _ _ _ 0 root")
    scores = attachment(verdicts(treebank(gold), treebank(system)))
    assert (scores.words, scores.heads_right, scores.roots_right) == (2, 0, 0)


def test_by_label() -> None:
    groups = {g.name: g for g in by_label(verdicts(treebank(BIRDS), treebank(SYSTEM)))}
    det, amod = groups["det"], groups["amod"]
    assert (det.gold, det.system, det.recall, det.precision, det.f1) == (2, 1, 0.5, 1.0, 2 / 3)
    assert (amod.gold, amod.system, amod.recall, amod.precision, amod.f1) == (0, 1, None, 0.0, None)
    assert (groups["case"].head_recall, groups["case"].head_precision) == (0.0, 0.0)
    assert sum(g.gold for g in groups.values()) == sum(g.system for g in groups.values()) == 7


def test_by_arc_length() -> None:
    groups = {g.name: g for g in by_arc_length(verdicts(treebank(BIRDS), treebank(SYSTEM)))}
    assert {
        name: (g.gold, g.gold_heads_found, g.system, g.system_heads_right) for name, g in groups.items()
    } == {
        "root": (1, 1, 1, 1),
        "1": (3, 3, 4, 3),
        "2": (1, 0, 0, 0),
        "3-6": (2, 1, 2, 1),
    }


def test_by_crossing() -> None:
    # 1 → 3 crosses 2 → 4; 4 is the root
    gold = sentence("1 a _ _ _ _ 3 dep", "2 b _ _ _ _ 4 dep", "3 c _ _ _ _ 4 dep", "4 d _ _ _ _ 0 root")
    flat = gold.replace("1\ta\t_\t_\t_\t_\t3", "1\ta\t_\t_\t_\t_\t4")
    groups = {g.name: g for g in by_crossing(verdicts(treebank(gold), treebank(flat)))}
    assert (groups["non-projective"].gold, groups["non-projective"].head_recall) == (1, 0.0)
    assert (groups["crossing another"].gold, groups["crossing another"].gold_heads_found) == (2, 1)
    assert groups["crossing another"].system == 0
    assert (groups["projective"].gold, groups["projective"].head_precision) == (3, 0.75)


def test_crossing_of_a_sentence_with_a_cycle_is_not_asked() -> None:
    cycle = BIRDS.replace("0\troot", "2\troot")
    groups = by_crossing(verdicts(treebank(BIRDS, BIRDS), treebank(cycle, BIRDS)))
    assert sum(g.system for g in groups[:2]) == 7
    assert sum(g.gold for g in groups[:2]) == 14


def test_by_sentence_length() -> None:
    long = sentence(*(f"{i} w _ _ _ _ {i - 1} dep" for i in range(1, 13)))
    groups = by_sentence_length(verdicts(treebank(BIRDS, long), treebank(SYSTEM, long)))
    assert [(g.name, g.scores.sentences, g.scores.words) for g in groups] == [
        ("1-10", 1, 7),
        ("11-20", 1, 12),
    ]
    assert [g.scores.uas for g in groups] == [5 / 7, 1.0]


def test_confusions() -> None:
    rows = confusions(verdicts(treebank(BIRDS), treebank(SYSTEM), Options(subtypes="keep")))
    assert [(r.gold, r.system, r.count) for r in rows] == [("det", "amod", 1), ("obl:loc", "obl", 1)]


def test_the_short_way_counts_as_the_long_one() -> None:
    random = np.random.default_rng(4)
    for _ in range(20):
        gold_heads, heads = random.integers(-1, 3, 50), random.integers(0, 3, 50)
        gold_labels, labels = random.integers(0, 2, 50), random.integers(0, 2, 50)
        pairs = [
            (g, h, a == b)
            for g, h, a, b in zip(gold_heads, heads, gold_labels, labels, strict=True)
            if g >= 0
        ]
        found = uas_las(gold_heads, heads, gold_labels, labels)
        assert found.uas == sum(g == h for g, h, _ in pairs) / len(pairs)
        assert found.las == sum(g == h and same for g, h, same in pairs) / len(pairs)
    assert uas_las([-1, -1], [0, 1]) == (0.0, 0.0)
