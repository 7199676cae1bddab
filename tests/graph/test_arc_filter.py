"""What the table learns of tags: which labels an arc between two of them may have, and how long it may be;
and what becomes of arcs and labels that training never saw."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest

from arcwise.parsing import ParseOptions
from arcwise.treebanks import Treebank
from arcwise.trees import Tree
from contracts.small_treebank import conllu
from graph.small_space import (
    Small,
    arc_class,
    cells,
    feature_places,
    gold,
    learned_classes,
    parser_of,
    parsing_scores,
    small,
    states,
    with_treebank,
)
from reference.enumerate_trees import TREE_CLASSES, Enumeration, all_trees

ANY_DISTANCE = 65535

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


def test_a_class_is_cut_only_where_enough_longer_arcs_were_there_to_choose_from() -> None:
    """Candidates are counted for words whose head is known; the root's arcs have one length."""
    case = small("tiny partial")
    _, longest = learned_classes(case)
    farther: dict[int, int] = defaultdict(int)
    for s in range(len(case.treebank)):
        heads, _ = gold(case, s)
        for m, head in enumerate(heads, start=1):
            for h in range(len(heads) + 1):
                own = arc_class(case, s, h, m) if h != m else -1
                if head >= 0 and h != m and longest[own] < (abs(h - m) if h else 1):
                    farther[own] += 1
    assert len(set(farther.values())) > 2
    for enough in (1, 2, 3, 1000):
        _, reach = learned_classes(case, enough)
        wanted = [own if farther[c] >= enough else ANY_DISTANCE for c, own in enumerate(longest)]
        assert reach == wanted


def test_what_is_not_seen_is_as_frequent_as_what_was_seen_once() -> None:
    """Heads: the share of arcs that no other arc of their class is as long as. Labels: kinds / (seen +
    kinds)."""
    case = small("whole")
    arcs: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for s in range(len(case.treebank)):
        for m, (h, label) in enumerate(zip(*gold(case, s), strict=True), start=1):
            arcs[arc_class(case, s, int(h), m)].append((abs(int(h) - m) if h else 1, int(label)))
    learned_classes(case)
    alone = sum([length for length, _ in own].count(max(own)[0]) == 1 for own in arcs.values())
    assert alone > 0
    total = sum(map(len, arcs.values()))
    assert case.table.unseen == pytest.approx((alone + 0.5) / (total + 1))
    for own, seen in arcs.items():
        kinds = len({label for _, label in seen})
        assert case.table.novelty[own] == pytest.approx(kinds / (len(seen) + kinds))
    learned_classes(case, enough=10**6)  # nothing is cut, so that nothing is beyond
    assert case.table.unseen == pytest.approx(0.5 / (total + 1))


def new_sentences(**options: object) -> tuple[Small, list[int], npt.NDArray[np.float32]]:
    """Sentences with arcs and labels that training never saw; how far arcs reach; weights."""
    learned = small("tiny", **options)
    _, reach = learned_classes(learned)
    case = with_treebank(learned, Treebank.from_string(conllu(NEW)))
    weights = np.random.default_rng(1).normal(0, 0.3, cells(case)).astype(np.float32)
    return case, reach, weights


@pytest.mark.parametrize("clusters", [1, 3])
@pytest.mark.parametrize("temperature", [1.0, 0.3, 4.0])
def test_arcs_and_labels_never_seen_have_the_scores_that_make_them_improbable(
    clusters: int, temperature: float
) -> None:
    """Arcs beyond reach share ``unseen`` of the probability of their word's best arc, and where scores were
    made by margins they lie as far below it as any arc of the sentence below the best of its word; labels
    that their class was never seen with ``novelty`` of that of the arc's best label, at most 5 %. Everything
    else has the sum of the weights of its features."""
    case, reach, weights = new_sentences(trainer="latent" if clusters > 1 else "mira", clusters=clusters)
    starts, every = case.table.label_starts, len(case.alphabets.labels)
    beyond_arcs = other_labels = 0
    for s in range(len(NEW)):
        scores = parsing_scores(case, weights, s, temperature)
        kept, arcs = short_enough(case, reach, s), short_enough(case, None, s)
        assert np.array_equal(np.isfinite(scores).all(axis=0), arcs)
        best_label = np.where(kept, scores.max(axis=0), np.nan)[:, 1:][:, kept[:, 1:].any(axis=0)]
        widest = (np.nanmax(best_label, axis=0) - best_label)[~np.isnan(best_label)].max(initial=0)
        for m in range(1, len(kept)):
            near, far = np.flatnonzero(kept[:, m]), np.flatnonzero(arcs[:, m] & ~kept[:, m])
            for h in [*near, *far]:
                own_class = arc_class(case, s, h, m)
                own = case.table.label_ids[starts[own_class] : starts[own_class + 1]]
                others = np.setdiff1d(np.arange(every), own)
                if h in near or not len(near):  # by its features
                    by_features = feature_scores(case, weights, s, int(h), m, temperature)
                    if case.table.novelty[own_class] >= 1:
                        by_features += lowered(case, weights, s, int(h), m, temperature)
                    assert scores[own, h, m] == pytest.approx(by_features, abs=1e-5)
                else:
                    beyond_arcs += 1
                if len(others):
                    other_labels += 1
                    share = np.clip(case.table.novelty[own_class], 1e-6, 0.05)
                    best = best_state(case, weights, s, int(h), m) if h in near else None
                    shift = temperature * np.log(share / len(others))
                    if best is not None:
                        assert scores[others, h, m] == pytest.approx(best + shift, abs=1e-4)
                    assert len(set(scores[others, h, m])) == 1
            if len(near) and clusters == 1:
                down = max(temperature, 1.0) * np.log(case.table.unseen) - temperature * np.log(
                    max(len(far), 1)
                )
                wanted = scores[:, near, m].max() + min(down, -widest)
                assert scores[:, far, m].max(axis=0) == pytest.approx(np.full(len(far), wanted), abs=1e-5)
    assert beyond_arcs > 5
    assert other_labels > 20


def test_an_arc_of_a_class_never_seen_has_the_mass_of_one_arc() -> None:
    """Its labels have scores much alike, and would have the mass of an arc each: all but the best one share 5
    % of it at most."""
    learned = small("tiny")
    learned_classes(learned, enough=10**6)  # everything is within reach
    case = with_treebank(learned, Treebank.from_string(conllu(NEW)))
    weights = np.random.default_rng(1).normal(0, 0.3, cells(case)).astype(np.float32)
    temperature, never_seen = 0.7, 0
    for s in range(len(NEW)):
        scores, arcs = parsing_scores(case, weights, s, temperature), short_enough(case, None, s)
        for h, m in np.argwhere(arcs):
            own_class = arc_class(case, s, h, m)
            by_features = feature_scores(case, weights, s, h, m, temperature)
            own = [label for label, _ in states(case, s, h, m)]
            if case.table.novelty[own_class] < 1:
                assert scores[own, h, m] == pytest.approx(by_features, abs=1e-5)
                continue
            never_seen += len(own) > 1
            by_features += lowered(case, weights, s, h, m, temperature)
            assert scores[own, h, m] == pytest.approx(by_features, abs=1e-5)
            mass = np.exp((scores[:, h, m] - scores[:, h, m].max()) / temperature).sum()
            assert mass <= 1 + 2 * 0.05 + 1e-6
    assert never_seen > 10


def lowered(
    case: Small, weights: npt.NDArray[np.float32], s: int, h: int, m: int, temperature: float
) -> npt.NDArray[np.float64]:
    """By how much the labels of an arc of a class never seen are lowered: all but the one with the best
    state."""
    values = states_of(case, weights, s, h, m)
    if case.config.trainer_kind.probabilistic:
        return np.zeros(len(values))
    down = np.full(len(values), temperature * np.log(0.05 / len(values)) if len(values) > 1 else 0.0)
    down[values.max(axis=1).argmax()] = 0
    return down


def states_of(
    case: Small, weights: npt.NDArray[np.float32], s: int, h: int, m: int
) -> npt.NDArray[np.float64]:
    """Shape (labels of its class, clusters): the sums of the weights of an arc's features."""
    own = states(case, s, h, m)
    values = [weights[feature_places(case, s, h, m, i)].sum(dtype=np.float64) for i in range(len(own))]
    return np.array(values).reshape(-1, 1 + max(z for _, z in own))


def feature_scores(
    case: Small, weights: npt.NDArray[np.float32], s: int, h: int, m: int, temperature: float
) -> npt.NDArray[np.float64]:
    """Of each label of the class of an arc, clusters summed out."""
    values = states_of(case, weights, s, h, m) / temperature
    return temperature * np.log(np.exp(values).sum(axis=1))


def best_state(case: Small, weights: npt.NDArray[np.float32], s: int, h: int, m: int) -> float:
    return float(states_of(case, weights, s, h, m).max())


@pytest.mark.parametrize("projective, single_root", TREE_CLASSES)
def test_no_tree_of_the_class_has_the_probability_0(projective: bool, single_root: bool) -> None:
    """Whatever training saw: with any labels, also around heads to be kept; and the best tree is the best of
    all of them."""
    case, reach, weights = new_sentences(projective=projective, single_root=single_root)
    parser = parser_of(case, weights, temperature=0.5)
    trees = parser.distributions(case.treebank)
    parses = parser.parses(case.treebank)
    sure = parser.parses(case.treebank, options=ParseOptions(confidence=True))
    assert parses.heads.tolist() == sure.heads.tolist()
    unusual = 0
    for s, (first, last) in enumerate(pairwise(case.treebank.sentence_words)):
        total = 0.0
        for heads in all_trees(int(last - first), projective=projective, single_root=single_root):
            p = trees[s].prob(Tree.from_heads(heads[1:]))
            assert p > 0
            total += p
        assert total == pytest.approx(1)
        assert (trees[s].label_marginals.min(axis=0)[short_enough(case, None, s)] > 0).all()
        scores = parsing_scores(case, weights, s, 0.5).max(axis=0)
        best = Enumeration(scores, projective, single_root).trees[0][1:].tolist()
        assert parses.heads[first:last].tolist() == best
        unusual += not short_enough(case, reach, s)[best, np.arange(1, len(best) + 1)].all()
    assert unusual > 0  # a sentence without a tree of arcs of the usual kinds


def short_enough(case: Small, reach: list[int] | None, s: int) -> npt.NDArray[np.bool_]:
    """Shape (n+1, n+1): the arcs that are no longer than those seen with their tags (without reach: all)."""
    n = len(case.treebank[s])
    kept = np.zeros((n + 1, n + 1), bool)
    for h in range(n + 1):
        for m in range(1, n + 1):
            length = abs(h - m) if h else 1
            kept[h, m] = h != m and (reach is None or reach[arc_class(case, s, h, m)] >= length)
    return kept
