"""Certificates: the branch-and-bound tree of a search, with the dual multipliers that bound each leaf.

A certificate is a JSON object, which ``arcwise.induction.verifier`` checks without any code of the search:

- ``tags``, ``sentences``: the corpus, as tag numbers. ``constraint``: null, or the marked features and their
  minimum number.
- ``heads``: the incumbent's parses, one list per sentence. ``lower``: their log-likelihood.
- ``upper``: the claimed upper bound, an integer in units of 1/2**30.
- ``enumerate_up_to``: count vectors of sentences up to this length are enumerated.
- ``coordinates``: the counts that have a multiplier. ``multipliers``: lists of integers in units of 1/2**30,
  or objects with ``prices`` (such a list), ``blocks`` (0: roots, 1 + t: left of tag t, 1 + T + t: right of
  it) and ``messages``, which replace prices in those blocks: integers in units of 1/2**16, one for each
  vector (arcs by child tag, words with a child) that a sentence can add to the block, in lexicographic order,
  sentence by sentence, block by block; little-endian 32-bit, zlib, base64.
- ``nodes``: the tree, root first. ``use``: multipliers (by number) applied in sequence. ``split``: [sentence,
  coordinate, at] with ``children``: the nodes with coordinate <= at and with coordinate > at, null for an
  infeasible side. Sentence -1 refers to the counts of the corpus, others to those of one sentence's parse (of
  the distinct sentences if there is no constraint).

For a corpus bounded by blocks: ``blocks``, a certificate for every ``block_size`` sentences; their bounds sum
to ``upper``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from arcwise.induction.global_search.messages import DualMessages, Prices
from arcwise.induction.global_search.problem import Incumbent, InductionTask

SCALE = 2**30
"""Bounds are integers in units of 1/SCALE: exact arithmetic makes them reproducible by the verifier."""
VERSION = 2
KIND = "arcwise grammar induction certificate"
BLOCKS_KIND = "arcwise grammar induction certificate by blocks"

Multipliers = Prices | DualMessages
Written = Callable[[DualMessages, npt.NDArray[np.int64]], dict[str, Any]]
"""Serializes messages for a certificate, with the prices of some coordinates."""


@dataclass
class Proof:
    """The tree of a search, as it grows."""

    multipliers: list[Multipliers] = field(default_factory=list)
    nodes: list[dict[str, Any]] = field(default_factory=list)

    def add_multipliers(self, mu: Multipliers) -> int:
        """Store multipliers and return their number."""
        self.multipliers.append(mu)
        return len(self.multipliers) - 1

    def add_node(self, use: list[int]) -> int:
        """Add a leaf, bounded by stored multipliers, and return its number."""
        self.nodes.append({"use": use})
        return len(self.nodes) - 1

    def use(self, node: int, multipliers: int) -> None:
        """Apply further multipliers to a node."""
        self.nodes[node]["use"].append(multipliers)

    def uses(self, node: int) -> list[int]:
        """The multipliers of a node."""
        numbers: list[int] = self.nodes[node]["use"]
        return numbers

    def forget_uses(self, node: int) -> None:
        """Drop the multipliers of a node; better ones replace them."""
        self.nodes[node]["use"] = []

    @property
    def last(self) -> int:
        """Number of the newest node."""
        return len(self.nodes) - 1

    def split(self, node: int, split: list[int], children: list[int | None]) -> None:
        """Split a node in two."""
        self.nodes[node]["split"] = split
        self.nodes[node]["children"] = children

    def graft(self, node: int, nodes: list[dict[str, Any]], multipliers: list[Multipliers]) -> dict[int, int]:
        """Replace a leaf by a tree with its own multipliers; return the new number of each of its nodes."""
        first = len(self.multipliers)
        self.multipliers += multipliers
        numbers = {0: node, **{i: len(self.nodes) + i - 1 for i in range(1, len(nodes))}}
        moved = []
        for old in nodes:
            new = {**old, "use": [first + k for k in old["use"]]}
            if "children" in old:
                new["children"] = [None if c is None else numbers[c] for c in old["children"]]
            moved.append(new)
        self.nodes[node] = moved[0]
        self.nodes += moved[1:]
        return numbers

    def certificate(
        self, task: InductionTask, best: Incumbent, upper: int, enumerate_up_to: int, written: Written
    ) -> dict[str, Any]:
        """Build the JSON object, without multipliers that no node uses any more."""
        assert best.heads is not None
        heads = task.spread(best.heads)
        starts = task.corpus.starts
        used = sorted({k for node in self.nodes for k in node["use"]})
        number = {k: i for i, k in enumerate(used)}
        prices = [m.prices if isinstance(m, DualMessages) else m for m in (self.multipliers[k] for k in used)]
        coordinates = np.flatnonzero(np.any(prices, axis=0)) if prices else np.zeros(0, np.int64)
        return {
            "kind": KIND,
            "version": VERSION,
            "tags": list(task.corpus.tags),
            "sentences": [list(s) for s in task.corpus.sentences],
            "constraint": task.constraint_json,
            "heads": [heads[a:b].tolist() for a, b in pairwise(starts)],
            "lower": best.value,
            "upper": upper,
            "enumerate_up_to": enumerate_up_to,
            "coordinates": coordinates.tolist(),
            "multipliers": [
                written(m, coordinates) if isinstance(m, DualMessages) else m[coordinates].tolist()
                for m in (self.multipliers[k] for k in used)
            ],
            "nodes": [{**node, "use": [number[k] for k in node["use"]]} for node in self.nodes],
        }
