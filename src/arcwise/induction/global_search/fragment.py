"""Units of parallel search over counts: an open node, and the subtree that a worker returns for it."""

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
    """A picklable open node: its number in a proof, its bound, the multipliers behind it, and its box."""

    number: int
    bound: int
    multipliers: tuple[Multipliers, ...]
    low: npt.NDArray[np.int32]
    high: npt.NDArray[np.int32]
    alive: npt.NDArray[np.uint64]

    @classmethod
    def of(cls, node: CountNode, proof: Proof) -> OpenNode:
        """Export a node of a search with this proof."""
        multipliers = tuple(proof.multipliers[k] for k in proof.uses(node.number))
        return cls(node.number, node.bound, multipliers, node.box.low, node.box.high, node.box.alive)

    def node(self, *, number: int) -> CountNode:
        """Import the node into another search; its point lists are computed when it is expanded."""
        last = self.multipliers[-1] if self.multipliers else None
        messages = last if isinstance(last, DualMessages) else None
        box = native.CountBox(self.low, self.high, self.alive)
        return CountNode((-self.bound, number), box, None, messages)


@dataclass(frozen=True, eq=False)
class Assignment:
    """A node for a worker, with the incumbent (None: the worker finds one first) and a time budget."""

    node: OpenNode
    heads: Heads | None
    epsilon: float
    seconds: float
    """No further node is expanded after this."""
    time_limit: float
    """The current node is abandoned after this."""
    seed: int
    middle: float | None = None
    """Split point of this worker in the race."""


@dataclass(frozen=True, eq=False)
class Fragment:
    """The result of an assignment: the subtree (its root is node 0), its open nodes, and the incumbent."""

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
        """Highest bound of an open node."""
        return max([self.stuck, *(node.bound for node in self.open)])


@dataclass
class Worker:
    """Searches below nodes of one task. Picklable; it builds its search at the first node."""

    corpus: TagSentences
    constraint: ArcShare | None
    options: CountOptions
    _search: CountSearch | None = field(default=None, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        # The search holds native objects; each worker builds its own.
        return {**self.__dict__, "_search": None}

    def __call__(self, assignment: Assignment) -> Fragment:
        """Search below a node within its time budget."""
        if self._search is None:
            self._search = CountSearch(InductionTask(self.corpus, self.constraint), options=self.options)
        return explore(self._search, assignment)


def explore(search: CountSearch, assignment: Assignment) -> Fragment:
    """Search below a node, reusing a search object whose previous tree is discarded."""
    search.proof, search.open, search.trace = Proof(), [], []
    search.nodes, search.list_bytes, search.stuck, search.cut = 0, 0, -(2**62), -(2**62)
    search.ceiling = assignment.node.bound
    search.seed = assignment.seed
    options = search.options
    if assignment.middle is not None:
        search.options = replace(options, middle=assignment.middle)
    if assignment.heads is not None:
        search.best.offer(assignment.heads)
    use = [search.proof.add_multipliers(m) for m in assignment.node.multipliers]
    search.proof.add_node(use)
    search.open.append(assignment.node.node(number=0))
    search.run(epsilon=assignment.epsilon, time_limit=assignment.time_limit, pause_after=assignment.seconds)
    search.options = options
    used = sorted({k for node in search.proof.nodes for k in node["use"]})
    place = {k: i for i, k in enumerate(used)}
    assert search.best.heads is not None
    return Fragment(
        assignment.node.number,
        [{**node, "use": [place[k] for k in node["use"]]} for node in search.proof.nodes],
        [search.proof.multipliers[k] for k in used],
        # Pruned nodes need not travel: `cut` accounts for them.
        [OpenNode.of(node, search.proof) for node in search.open if node.bound > search.threshold],
        np.asarray(search.best.heads),
        search.nodes,
        search.stuck,
        search.threshold,
    )
