"""A piece of a search over counts that another process works out: one open node, and the part of the tree that grew below it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.induction.constraints import ArcShare
from arcwise.induction.corpus import TagSentences
from arcwise.induction.dmv import Heads
from arcwise.induction.global_search.certificate import Multipliers, Proof
from arcwise.induction.global_search.count import CountSearch
from arcwise.induction.global_search.count_nodes import CountNode
from arcwise.induction.global_search.messages import DualMessages
from arcwise.induction.global_search.options import CountOptions
from arcwise.induction.global_search.problem import InductionTask


@dataclass(frozen=True, eq=False)
class OpenNode:
    """An open node that can travel: its number in a proof, its bound, the multipliers that this follows from, and its box."""

    number: int
    bound: int
    multipliers: tuple[Multipliers, ...]
    low: npt.NDArray[np.int32]
    high: npt.NDArray[np.int32]
    alive: npt.NDArray[np.uint64]

    @classmethod
    def of(cls, node: CountNode, proof: Proof) -> OpenNode:
        """A node of a search with this proof."""
        known = tuple(proof.multipliers[k] for k in proof.uses(node.number))
        return cls(node.number, node.bound, known, node.box.low, node.box.high, node.box.alive)

    def node(self, *, number: int) -> CountNode:
        """The node for another search; the lists of its box are made when its turn comes."""
        last = self.multipliers[-1] if self.multipliers else None
        messages = last if isinstance(last, DualMessages) else None
        box = native.CountBox(self.low, self.high, self.alive)
        return CountNode((-self.bound, number), box, None, messages)


@dataclass(frozen=True, eq=False)
class Assignment:
    """A node for a worker, the best parses so far (None: it looks for some first), and how long to work on it."""

    node: OpenNode
    heads: Heads | None
    epsilon: float
    seconds: float
    """No further node is looked into after these."""
    time_limit: float
    """What is under way ends after these."""
    seed: int
    middle: float | None = None
    """In a race: where this runner splits ranges."""


@dataclass(frozen=True, eq=False)
class Fragment:
    """What became of a node: the tree below it (it is node 0 there), the nodes still open, and the best parses known."""

    number: int
    nodes: list[dict[str, Any]]
    multipliers: list[Multipliers]
    open: list[OpenNode]
    heads: Heads
    bounded: int
    stuck: int
    cut: int

    @property
    def upper(self) -> int:
        """The highest bound of what is open."""
        return max([self.stuck, *(node.bound for node in self.open)])


@dataclass
class Worker:
    """Works out nodes of one task; can be sent to other processes, where it makes what it needs at the first node."""

    corpus: TagSentences
    constraint: ArcShare | None
    options: CountOptions
    _search: CountSearch | None = field(default=None, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_search": None}

    def __call__(self, given: Assignment) -> Fragment:
        """Search below a node for as long as it says."""
        if self._search is None:
            self._search = CountSearch(InductionTask(self.corpus, self.constraint), options=self.options)
        return explored(self._search, given)


def explored(search: CountSearch, given: Assignment) -> Fragment:
    """Search below a node, with a search whose own tree is forgotten."""
    search.proof, search.open, search.trace = Proof(), [], []
    search.nodes, search.list_bytes, search.stuck, search.cut = 0, 0, -(2**62), -(2**62)
    search.ceiling = given.node.bound
    search.seed = given.seed
    options = search.options
    if given.middle is not None:
        search.options = replace(options, middle=given.middle)
    if given.heads is not None:
        search.best.offer(given.heads)
    use = [search.proof.add_multipliers(m) for m in given.node.multipliers]
    search.proof.add_node(use)
    search.open.append(given.node.node(number=0))
    search.run(epsilon=given.epsilon, time_limit=given.time_limit, pause_after=given.seconds)
    search.options = options
    used = sorted({k for node in search.proof.nodes for k in node["use"]})
    place = {k: i for i, k in enumerate(used)}
    assert search.best.heads is not None
    return Fragment(
        given.node.number,
        [{**node, "use": [place[k] for k in node["use"]]} for node in search.proof.nodes],
        [search.proof.multipliers[k] for k in used],
        [OpenNode.of(node, search.proof) for node in search.open if node.bound > search.threshold],
        np.asarray(search.best.heads),
        search.nodes,
        search.stuck,
        search.threshold,
    )
