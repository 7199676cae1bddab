"""Dependency graphs: DEPS columns in and out of DAG systems (Sagae & Tsujii 2008)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from arcwise.evaluation.deps import deps_arcs
from arcwise.treebanks import Treebank

GraphArcs = list[tuple[int, int, int]]
"""Head, modifier, number of the label."""


@dataclass(frozen=True)
class GoldGraphs:
    """The graphs of a treebank, their labels, and how many arcs were left out since a DAG system has no place for them."""

    graphs: list[GraphArcs]
    labels: tuple[str, ...]
    with_empty_nodes: int
    doubled: int


def gold_graphs(treebank: Treebank, labels: Sequence[str] | None = None) -> GoldGraphs:
    """The graphs in DEPS. Arcs from empty nodes are left out, and of two arcs between the same words the first is kept.

    ``labels``: those of a trained model; arcs with others get the number -1.
    """
    found = [deps_arcs(sentence) for sentence in treebank]
    names = (
        tuple(sorted({label for arcs in found for _, _, label in arcs})) if labels is None else tuple(labels)
    )
    code = {label: number for number, label in enumerate(names)}
    graphs: list[GraphArcs] = []
    empty = doubled = 0
    for arcs in found:
        graph: dict[tuple[int, int], int] = {}
        for head, modifier, label in arcs:
            if "." in head:
                empty += 1
            elif (int(head), modifier) in graph:
                doubled += 1
            else:
                graph[int(head), modifier] = code.get(label, -1)
        graphs.append([(h, m, label) for (h, m), label in graph.items()])
    return GoldGraphs(graphs, names, empty, doubled)


def deps_column(graphs: Sequence[GraphArcs], lengths: Sequence[int], labels: Sequence[str]) -> list[str]:
    """The DEPS column of all words: heads in order, each with its label.

    >>> deps_column([[(2, 1, 0), (0, 2, 1), (3, 1, 0), (2, 3, 0)]], [3], ["dep", "root"])
    ['2:dep|3:dep', '0:root', '2:dep']
    """
    column = []
    for graph, words in zip(graphs, lengths, strict=True):
        heads: dict[int, list[tuple[int, str]]] = {m: [] for m in range(1, words + 1)}
        for head, modifier, label in graph:
            heads[modifier].append((head, labels[label] if labels else "dep"))
        column += [
            "|".join(f"{h}:{label}" for h, label in sorted(heads[m])) or "_" for m in range(1, words + 1)
        ]
    return column
