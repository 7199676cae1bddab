"""What the table learns of tags: which labels an arc between two of them may have, and how long it may be."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest

from arcwise.treebanks import Treebank
from contracts.small_treebank import conllu
from graph.small_space import (
    Small,
    arc_class,
    cells,
    decoded,
    gold,
    labelled_scores,
    learned_classes,
    small,
    with_treebank,
)
from reference.enumerate_trees import TREE_CLASSES, Enumeration, all_trees

NEW = [
    "the/D/2/det cat/N/3/nsubj sleeps/V/0/root",  # the arcs of its tree are short enough
    "see/V/0/root the/D/4/det old/D/4/det cats/N/1/obj",
    "the/D/2/det old/D/0/root",  # D was no root
    "cats/N/2/nsubj dogs/N/0/root mice/N/2/obj",
    "the/D/2/det cat/N/5/nsubj the/D/4/det dog/N/5/nsubj sleeps/V/0/root",
    "a/X/0/root b/X/1/x",  # a tag never seen
    "see/V/0/root cats/N/1/obj go/V/0/root",  # only with two roots
]


@pytest.mark.parametrize("restricted", [True, False])
def test_a_class_of_arcs_has_the_labels_and_lengths_seen_with_it(restricted: bool) -> None:
    """A class never seen has the labels of its modifier's tag and direction, and if there are none, all."""
    case = small("whole", restrict_labels=restricted)
    seen: dict[int, set[int]] = defaultdict(set)
    of_modifier: dict[tuple[int, int], set[int]] = defaultdict(set)
    longest: dict[int, int] = defaultdict(int)
    tags = len(case.alphabets.tags) + 2
    for s in range(len(case.treebank)):
        for m, (h, label) in enumerate(zip(*gold(case, s), strict=True), start=1):
            own = arc_class(case, s, int(h), m)
            seen[own].add(int(label))
            of_modifier[own // 2 % tags, own % 2].add(int(label))
            longest[own] = max(longest[own], abs(int(h) - m) if h else 1)
    labels, reach = learned_classes(case)
    assert len(labels) == tags * tags * 2
    everything = set(range(len(case.alphabets.labels)))
    for own, found in enumerate(labels):
        wanted = seen[own] or of_modifier[own // 2 % tags, own % 2] or everything
        assert found == sorted(wanted if restricted else everything)
        assert reach[own] == longest[own]
    assert max(reach) > 2


@pytest.mark.parametrize("projective, single_root", TREE_CLASSES)
def test_arcs_longer_than_those_seen_are_left_out_where_a_tree_is_left(
    projective: bool, single_root: bool
) -> None:
    """Where none is left, all arcs are there."""
    learned = small("tiny", projective=projective, single_root=single_root)
    _, reach = learned_classes(learned)
    case = with_treebank(learned, Treebank.from_string(conllu(NEW)))
    weights = np.random.default_rng(1).normal(0, 0.3, cells(case)).astype(np.float32)
    filtered, best = 0, []
    for s, (first, last) in enumerate(pairwise(case.treebank.sentence_words)):
        kept = short_enough(case, reach, s)
        trees = all_trees(last - first, projective=projective, single_root=single_root)
        words = np.arange(1, last - first + 1)
        some = any(kept[tree[1:], words].all() for tree in trees)
        filtered += some
        scores = labelled_scores(case, weights, s).max(axis=0)
        assert np.array_equal(np.isfinite(scores), kept if some else short_enough(case, None, s))
        best += Enumeration(scores, projective, single_root).trees[0][1:].tolist()
    assert 0 < filtered < len(NEW)
    heads, _ = decoded(case, weights, "map")
    assert heads.tolist() == best


def short_enough(case: Small, reach: list[int] | None, s: int) -> npt.NDArray[np.bool_]:
    """Shape (n+1, n+1): the arcs that are no longer than those seen with their tags (without reach: all)."""
    n = len(case.treebank[s])
    kept = np.zeros((n + 1, n + 1), bool)
    for h in range(n + 1):
        for m in range(1, n + 1):
            length = abs(h - m) if h else 1
            kept[h, m] = h != m and (reach is None or reach[arc_class(case, s, h, m)] >= length)
    return kept
