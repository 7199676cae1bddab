"""The proof that a search leaves behind: its tree of boxes, with the multipliers that close each leaf.

A certificate is a JSON object; ``arcwise.induction.verifier`` checks it without anything of the search:

- ``tags``, ``sentences``: the corpus, as tag numbers; ``constraint``: null, or the marked features and the least number of them;
- ``heads``: the parses found, one list per sentence; ``lower``: their log-likelihood;
- ``upper``: the claim, no parses have more, as an integer in units of 1/2**30;
- ``enumerate_up_to``: sentences of at most so many words have their count vectors enumerated;
- ``coordinates``: which counts have a multiplier; ``multipliers``: lists of integers in units of 1/2**30, or objects: ``prices``, such a
  list; ``blocks`` (0: roots, 1 + t: left of tag t, 1 + T + t: right of it) in which ``messages`` take the place of prices: integers in units
  of 1/2**16, one for every vector (arcs by the child's tag, words with a child) that a sentence can add to the block, in lexicographic
  order, sentence after sentence, block after block; little-endian 32 bits, compressed by zlib, base64;
- ``nodes``: the tree, node 0 first. ``use``: multipliers (by number) applied one after the other; ``split``: [sentence, coordinate,
  at] and ``children``: the nodes with coordinate <= at and with coordinate > at, null for a side that nothing fits into. Sentence -1:
  the coordinate of the corpus; else that of the parse of this sentence (of the different sentences, if there is no constraint).

For a corpus bounded by blocks: ``blocks``, a certificate for every ``block_size`` sentences, whose bounds add up to ``upper``.
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
VERSION = 2
KIND = "arcwise grammar induction certificate"
BLOCKS_KIND = "arcwise grammar induction certificate by blocks"

Multipliers = Prices | DualMessages
Written = Callable[[DualMessages, npt.NDArray[np.int64]], dict[str, Any]]
"""DualMessages as a certificate has them, with the prices of some coordinates."""


@dataclass
class Proof:
    """Collects the nodes of a search."""

    multipliers: list[Multipliers] = field(default_factory=list)
    nodes: list[dict[str, Any]] = field(default_factory=list)

    def add_multipliers(self, mu: Multipliers) -> int:
        """Keep multipliers; their number."""
        self.multipliers.append(mu)
        return len(self.multipliers) - 1

    def add_node(self, use: list[int]) -> int:
        """A new leaf, closed (or bounded) by multipliers that are known already; its number."""
        self.nodes.append({"use": use})
        return len(self.nodes) - 1

    def use(self, node: int, multipliers: int) -> None:
        """Multipliers applied to a node, after those before."""
        self.nodes[node]["use"].append(multipliers)

    def uses(self, node: int) -> list[int]:
        """The multipliers of a node."""
        found: list[int] = self.nodes[node]["use"]
        return found

    def forget_uses(self, node: int) -> None:
        """Others have taken their place."""
        self.nodes[node]["use"] = []

    @property
    def last(self) -> int:
        """The number of the newest node."""
        return len(self.nodes) - 1

    def split(self, node: int, split: list[int], children: list[int | None]) -> None:
        """The node is split in two."""
        self.nodes[node]["split"] = split
        self.nodes[node]["children"] = children

    def graft(self, node: int, nodes: list[dict[str, Any]], multipliers: list[Multipliers]) -> dict[int, int]:
        """Put a tree of its own, with multipliers of its own, in the place of a leaf; the new numbers of its nodes by the old ones."""
        first = len(self.multipliers)
        self.multipliers += multipliers
        numbers = {0: node, **{i: len(self.nodes) + i - 1 for i in range(1, len(nodes))}}
        moved = []
        for own in nodes:
            new = {**own, "use": [first + k for k in own["use"]]}
            if "children" in own:
                new["children"] = [None if c is None else numbers[c] for c in own["children"]]
            moved.append(new)
        self.nodes[node] = moved[0]
        self.nodes += moved[1:]
        return numbers

    def certificate(
        self, task: InductionTask, best: Incumbent, upper: int, enumerate_up_to: int, written: Written
    ) -> dict[str, Any]:
        """The JSON object. Multipliers that no node uses any more are left out."""
        assert best.heads is not None
        heads = task.spread(best.heads)
        starts = task.corpus.starts
        used = sorted({k for node in self.nodes for k in node["use"]})
        number = {k: i for i, k in enumerate(used)}
        prices = [m.prices if isinstance(m, DualMessages) else m for m in (self.multipliers[k] for k in used)]
        coordinates = np.flatnonzero(np.any(prices, axis=0)) if prices else np.zeros(0, np.int64)
        constraint = None
        if task.constraint is not None:
            constraint = {"marked": np.flatnonzero(task.marked).tolist(), "least": task.least}
        return {
            "kind": KIND,
            "version": VERSION,
            "tags": list(task.corpus.tags),
            "sentences": [list(s) for s in task.corpus.sentences],
            "constraint": constraint,
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
