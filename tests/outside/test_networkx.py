"""Trees and their counts against networkx: maximum arborescences, their order, and Kirchhoff's count."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest

from arcwise.inference import matrix_tree_log_partition, spanning_tree_decode, spanning_tree_k_best

nx = pytest.importorskip("networkx", reason="needs networkx")

Scores = npt.NDArray[np.float64]


def graph_of(scores: Scores) -> nx.DiGraph:
    """Arcs head → word with their score, and with their weight exp(score); none into the root."""
    graph = nx.DiGraph()
    for head in range(len(scores)):
        for word in range(1, len(scores)):
            if head != word and np.isfinite(scores[head, word]):
                value = float(scores[head, word])
                graph.add_edge(head, word, weight=value, factor=math.exp(value))
    return graph


def random_scores(seed: int, words: int, holes: float = 0.0) -> Scores:
    random = np.random.default_rng(seed)
    scores = random.normal(size=(words + 1, words + 1))
    scores[random.random(scores.shape) < holes] = -np.inf
    scores[0, 1:] = random.normal(size=words)  # there is always a tree
    return scores


def score_of(graph: nx.DiGraph) -> float:
    return float(sum(weight for _, _, weight in graph.edges(data="weight")))


@pytest.mark.parametrize("seed", range(20))
def test_the_best_tree_is_the_maximum_arborescence(seed: int) -> None:
    scores = random_scores(seed, 3 + seed, holes=0.3 if seed % 2 else 0.0)
    heads, value = spanning_tree_decode(scores, single_root=False)
    best = nx.maximum_spanning_arborescence(graph_of(scores))
    assert {(int(heads[word]), word) for word in range(1, len(heads))} == set(best.edges)
    assert value == pytest.approx(score_of(best))


@pytest.mark.parametrize("seed", range(6))
def test_the_k_best_trees_come_in_the_order_of_the_iterator_of_networkx(seed: int) -> None:
    scores = random_scores(seed, 4)
    _, values = spanning_tree_k_best(scores, k=40, single_root=False)
    iterator = nx.ArborescenceIterator(graph_of(scores), minimum=False)
    expected = [score_of(tree) for tree, _ in zip(iterator, range(40), strict=False)]
    np.testing.assert_allclose(values, expected)


@pytest.mark.parametrize("seed", range(10))
def test_the_partition_function_is_the_weighted_count_of_arborescences(seed: int) -> None:
    scores = random_scores(seed, 2 + seed, holes=0.2)
    count = nx.number_of_spanning_trees(graph_of(scores), root=0, weight="factor")
    assert matrix_tree_log_partition(scores, single_root=False) == pytest.approx(math.log(count))


@pytest.mark.parametrize("words", range(1, 8))
def test_without_scores_it_is_the_number_of_trees(words: int) -> None:
    scores = np.zeros((words + 1, words + 1))
    count = nx.number_of_spanning_trees(graph_of(scores), root=0)
    assert round(math.exp(matrix_tree_log_partition(scores, single_root=False))) == round(count)
    assert round(count) == (words + 1) ** (words - 1)  # Cayley's formula for rooted trees
