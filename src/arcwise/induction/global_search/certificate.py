"""The proof that a search leaves behind: its tree of boxes, with the multipliers that close each leaf.

A certificate is a JSON object; ``arcwise.induction.verifier`` checks it without anything of the search:

- ``tags``, ``sentences``: the corpus, as tag numbers; ``constraint``: null, or the marked features and the least number of them;
- ``heads``: the parses found, one list per sentence; ``lower``: their log-likelihood;
- ``upper``: the claim, no parses have more, as an integer in units of 1/2**30;
- ``enumerate_up_to``: sentences of at most so many words have their count vectors enumerated;
- ``coordinates``: which counts have a multiplier; ``multipliers``: lists of integers in units of 1/2**30;
- ``nodes``: the tree, node 0 first. ``use``: multipliers (by number) applied one after the other; ``split``: [sentence, coordinate,
  at] and ``children``: the nodes with coordinate <= at and with coordinate > at, null for a side that nothing fits into. Sentence -1:
  the coordinate of the corpus; else that of the parse of this sentence (of the different sentences, if there is no constraint).

For a corpus bounded by blocks: ``blocks``, a certificate for every ``block_size`` sentences, whose bounds add up to ``upper``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from arcwise.induction.global_search.problem import Incumbent, Task

SCALE = 2**30
VERSION = 1
KIND = "arcwise grammar induction certificate"
BLOCKS_KIND = "arcwise grammar induction certificate by blocks"

Multipliers = npt.NDArray[np.int64]


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

    @property
    def last(self) -> int:
        """The number of the newest node."""
        return len(self.nodes) - 1

    def split(self, node: int, split: list[int], children: list[int | None]) -> None:
        """The node is split in two."""
        self.nodes[node]["split"] = split
        self.nodes[node]["children"] = children

    def certificate(self, task: Task, best: Incumbent, upper: int, enumerate_up_to: int) -> dict[str, Any]:
        """The JSON object."""
        assert best.heads is not None
        heads = task.spread(best.heads)
        starts = task.corpus.starts
        used = np.flatnonzero(np.any(self.multipliers, axis=0)) if self.multipliers else np.zeros(0, np.int64)
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
            "coordinates": used.tolist(),
            "multipliers": [mu[used].tolist() for mu in self.multipliers],
            "nodes": self.nodes,
        }
