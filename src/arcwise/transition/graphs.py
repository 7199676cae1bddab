"""Read and write dependency graphs in DEPS for DAG systems (Sagae & Tsujii 2008)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from arcwise.evaluation.deps import deps_arcs
from arcwise.inference.labels import only_root_label
from arcwise.treebanks import Treebank

GraphArcs = list[tuple[int, int, int]]
"""Head, modifier, label index."""


@dataclass(frozen=True)
class GoldGraphs:
    """The graphs of a treebank, their labels, and the number of arcs that DAG systems cannot represent."""

    graphs: list[GraphArcs]
    labels: tuple[str, ...]
    with_empty_nodes: int
    doubled: int

    @property
    def root_label(self) -> int:
        """The label of all arcs from the root and of no others; -1 if there is none."""
        arcs = np.array([arc for graph in self.graphs for arc in graph], np.int32).reshape(-1, 3)
        return only_root_label(arcs[:, 0], arcs[:, 2])


def gold_graphs(treebank: Treebank, labels: Sequence[str] | None = None) -> GoldGraphs:
    """Read the graphs in DEPS, without arcs from empty nodes and second arcs between the same words.

    ``labels``: the labels of a trained model; arcs with others get the index -1.
    """
    arcs_by_sentence = [deps_arcs(sentence) for sentence in treebank]
    if labels is None:
        labels = sorted({label for arcs in arcs_by_sentence for _, _, label in arcs})
    names = tuple(labels)
    code = {label: number for number, label in enumerate(names)}
    graphs: list[GraphArcs] = []
    empty = doubled = 0
    for arcs in arcs_by_sentence:
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
    """Format the DEPS column of all words: heads in order, each with its label.

    >>> deps_column([[(2, 1, 0), (0, 2, 1), (3, 1, 0), (2, 3, 0)]], [3], ["dep", "root"])
    ['2:dep|3:dep', '0:root', '2:dep']
    """
    column = []
    for graph, words in zip(graphs, lengths, strict=True):
        heads: dict[int, list[tuple[int, str]]] = {m: [] for m in range(1, words + 1)}
        for head, modifier, label in graph:
            # DEPS has no unlabelled form.
            heads[modifier].append((head, labels[label] if labels else "dep"))
        column += [
            "|".join(f"{h}:{label}" for h, label in sorted(heads[m])) or "_" for m in range(1, words + 1)
        ]
    return column
