"""Every decoder of the graph-based parser against enumeration over trees, labels and clusters."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest

from arcwise.parsing import ParseOptions
from graph.small_space import Small, cells, decoded, parser_of, small
from graph.twins import Twin, log_sum
from reference.enumerate_trees import TREE_CLASSES, Enumeration

Floats = npt.NDArray[np.float64]
CLASSES = pytest.mark.parametrize("projective, single_root", TREE_CLASSES)
LABELLED = pytest.mark.parametrize("labelled", [True, False])
SEEDS = range(4)


def latent(
    labelled: bool, projective: bool, single_root: bool, clusters: int = 3, *, restrict_labels: bool = True
) -> Small:
    return small(
        "tiny two roots",
        labelled=labelled,
        projective=projective,
        single_root=single_root,
        trainer="latent",
        clusters=clusters,
        restrict_labels=restrict_labels,
    )


def random_weights(case: Small, seed: int) -> npt.NDArray[np.float32]:
    """Small enough that clusters of about the same score are the rule: their sum is not their maximum."""
    return np.random.default_rng(seed).normal(0, 0.1, cells(case)).astype(np.float32)


def short(case: Small) -> list[int]:
    return [s for s in range(len(case.treebank)) if len(case.treebank[s]) <= 3]


def parsed(case: Small, weights: npt.NDArray[np.float32], decode: str) -> list[tuple[list[int], list[int]]]:
    """Heads and labels (numbers, -1 in an unlabelled model) of every sentence."""
    heads, labels = decoded(case, weights, decode)
    starts = case.treebank.sentence_words
    return [(heads[a:b].tolist(), labels[a:b].tolist()) for a, b in pairwise(starts)]


def summed_over_clusters(twin: Twin, values: Floats) -> dict[tuple[tuple[int, ...], tuple[int, ...]], float]:
    """The log of the sum over clusters of every tree with labels."""
    groups: dict[tuple[tuple[int, ...], tuple[int, ...]], list[float]] = {}
    for heads, labels, value in zip(twin.heads, twin.labels, values, strict=True):
        groups.setdefault((tuple(heads), tuple(labels)), []).append(value)
    return {tree: log_sum(np.array(own)) for tree, own in groups.items()}


@CLASSES
@LABELLED
def test_map_is_the_best_labelled_tree_with_its_clusters_summed_out(
    labelled: bool, projective: bool, single_root: bool
) -> None:
    case = latent(labelled, projective, single_root)
    for seed in SEEDS:
        weights = random_weights(case, seed)
        found = parsed(case, weights, "map")
        for s in short(case):
            twin = Twin(case, s)
            trees = summed_over_clusters(twin, twin.values(weights))
            heads, labels = max(trees, key=trees.__getitem__)
            assert found[s] == (list(heads), list(labels))


@CLASSES
@LABELLED
def test_max_z_is_the_best_tree_with_its_best_clusters(
    labelled: bool, projective: bool, single_root: bool
) -> None:
    """Over (tree, labels, clusters). Somewhere map finds another tree."""
    case = latent(labelled, projective, single_root)
    differ = 0
    for seed in range(12):
        weights = random_weights(case, seed)
        found, summed = parsed(case, weights, "max-z"), parsed(case, weights, "map")
        for s in short(case):
            twin = Twin(case, s)
            best = int(np.argmax(twin.values(weights)))
            assert found[s] == (twin.heads[best].tolist(), twin.labels[best].tolist())
            differ += found[s][0] != summed[s][0]
    assert differ > 0


@pytest.mark.slow
@CLASSES
@LABELLED
@pytest.mark.parametrize("clusters", [1, 3])
def test_mbr_is_the_tree_with_the_most_expected_right_heads(
    labelled: bool, projective: bool, single_root: bool, clusters: int
) -> None:
    """Labels and clusters are summed out. Somewhere map finds another tree."""
    case = latent(labelled, projective, single_root, clusters, restrict_labels=False)
    differ = 0
    for seed in range(12):
        weights = random_weights(case, seed)
        found, best_trees = parsed(case, weights, "mbr"), parsed(case, weights, "map")
        for s in short(case):
            twin = Twin(case, s)
            rows = twin.expected(twin.values(weights))
            marginals = np.full((twin.n + 1, twin.n + 1), -np.inf)
            for (h, m), own in twin.rows_of_arcs.items():
                marginals[h, m] = rows[own].sum()
            trees = Enumeration(marginals, projective, single_root)
            assert found[s][0] == trees.trees[0][1:].tolist()
            differ += found[s][0] != best_trees[s][0]
    assert differ > 0


@LABELLED
@pytest.mark.parametrize("clusters", [1, 3])
def test_greedy_is_the_best_head_of_each_word(labelled: bool, clusters: int) -> None:
    """The head whose best label (clusters summed out) is best, tree or not."""
    case = latent(labelled, False, True, clusters)
    no_tree = 0
    for seed in SEEDS:
        weights = random_weights(case, seed)
        found = parsed(case, weights, "greedy")
        for s in range(len(case.treebank)):
            twin = Twin(case, s)
            scores = twin.features @ weights
            for m in range(1, twin.n + 1):
                heads = [h for h in range(twin.n + 1) if h != m]
                best = max(heads, key=lambda h: max(by_label(twin, scores, h, m).values()))
                labels = by_label(twin, scores, best, m)
                assert found[s][0][m - 1] == best
                assert found[s][1][m - 1] == max(labels, key=labels.__getitem__)
            no_tree += found[s][0].count(0) != 1
    assert no_tree > 0


def by_label(twin: Twin, scores: Floats, h: int, m: int) -> dict[int, float]:
    """The score of each label of an arc, clusters summed out."""
    groups: dict[int, list[float]] = {}
    for row in twin.rows_of_arcs[h, m]:
        groups.setdefault(twin.rows[row][2], []).append(scores[row])
    return {label: log_sum(np.array(own)) for label, own in groups.items()}


@CLASSES
@LABELLED
def test_confidences_are_those_of_all_trees_one_by_one(
    labelled: bool, projective: bool, single_root: bool
) -> None:
    """At a temperature: every score is divided by it before clusters and labels are summed."""
    case = latent(labelled, projective, single_root, restrict_labels=False)
    temperature = 1.7
    weights = random_weights(case, 3)
    parser = parser_of(case, weights, temperature=temperature)
    bank = parser.parse(case.treebank, options=ParseOptions(confidence=True))
    for s in short(case):
        twin = Twin(case, s)
        values = twin.values(weights) / temperature
        rows = twin.expected(values)
        heads = bank[s].heads[1:].tolist()
        told = [dict(part.split("=") for part in misc.split("|")) for misc in bank[s].misc]
        for m, head in enumerate(heads, start=1):
            assert float(told[m - 1]["HeadProb"]) == pytest.approx(
                rows[twin.rows_of_arcs[head, m]].sum(), abs=6e-5
            )
        same = (twin.heads == heads).all(axis=1)
        log_p = log_sum(values[same]) - log_sum(values)
        assert float(bank[s].comments["tree_prob"]) == pytest.approx(np.exp(log_p), rel=1e-4)


@CLASSES
@LABELLED
def test_k_best_are_the_best_trees_each_with_its_best_labels(
    labelled: bool, projective: bool, single_root: bool
) -> None:
    case = latent(labelled, projective, single_root, 1)
    weights = random_weights(case, 5)
    best = parser_of(case, weights).k_best_parses(case.treebank, options=ParseOptions(k_best=4))
    heads, labels, scores = [], [], []
    for s in range(len(case.treebank)):
        twin = Twin(case, s)
        values = twin.values(weights)
        chosen, _ = twin.best(values, 4)
        assert best.counts[s] == len(chosen)
        heads += twin.heads[chosen].ravel().tolist()
        labels += twin.labels[chosen].ravel().tolist()
        scores += values[chosen].tolist()
    assert best.heads.tolist() == heads
    assert best.labels.tolist() == labels
    assert best.scores == pytest.approx(scores, rel=1e-4, abs=1e-4)
