"""Traversal of a certificate's tree: recompute the bound of every leaf.

The tree is cut into subtrees, always at the same places; they are checked sequentially or in parallel, with
the same outcome.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from arcwise.engine import local_engine
from arcwise.induction.verifier.agreement import AgreedBound, read_messages
from arcwise.induction.verifier.bounds import SCALE, Bounds
from arcwise.induction.verifier.boxes import Box
from arcwise.induction.verifier.claim import CertificateError
from arcwise.induction.verifier.form import Certificate, is_int
from arcwise.induction.verifier.parses import Ints

Progress = Callable[[int, int], None]
_FEWEST_SUBTREES, _MOST_SUBTREES, _NODES_A_SUBTREE = 4, 256, 8
"""Number of subtrees: many for a large tree, so that many processes have work; few for a small one, because a
single process checks the part above them."""
_LARGEST_SPLIT = 2**31


@dataclass(frozen=True)
class Walked:
    """The result of a traversal; ``error``: why it was aborted."""

    nodes: tuple[int, ...]
    leaves: int
    error: str | None = None


class Walk:
    """Traverses the tree of a certificate.

    Parts return errors in ``Walked.error`` instead of raising them.
    """

    def __init__(self, certificate: Certificate, bounds: Bounds) -> None:
        self.nodes, self.multipliers = certificate.nodes, certificate.multipliers
        self.coordinates, self.upper = certificate.coordinates, certificate.upper
        self.bounds = bounds
        self.words = sum(map(len, certificate.sentences))

    def run(self, *, threads: int = 1, progress: Progress | None = None) -> tuple[int, int]:
        """Return the numbers of leaves and nodes.

        Raise ``CertificateError`` unless every leaf is below the claim.
        """
        if self.bounds.root is None:
            raise CertificateError("constraint: no parses satisfy it")

        def report(done: int) -> None:
            if progress:
                progress(done, len(self.nodes))

        first, subtrees = self._cut(self.bounds.root, report)
        seen, leaves = set(first.nodes), first.leaves
        if first.error is not None:
            raise CertificateError(first.error)
        for part in local_engine(max(1, min(threads, len(subtrees)))).map(self.subtree, subtrees):
            if part.error is not None:
                raise CertificateError(part.error)
            twice = seen.intersection(part.nodes)
            if twice:
                raise CertificateError(f"nodes: node {min(twice)} is a child of two nodes")
            seen.update(part.nodes)
            leaves += part.leaves
            report(len(seen))
        return leaves, len(seen)

    def _cut(self, root: Box, report: Callable[[int], None]) -> tuple[Walked, list[tuple[int, Box]]]:
        """Traverse from the root, largest subtree first, until there are enough subtrees; return both."""
        sizes = self._sizes()
        enough = min(max(len(self.nodes) // _NODES_A_SUBTREE, _FEWEST_SUBTREES), _MOST_SUBTREES)
        waiting, seen, leaves = [(-sizes.get(0, 1), 0, root)], set[int](), 0
        while waiting and len(waiting) < enough and -waiting[0][0] > 1:
            _, number, box = heapq.heappop(waiting)
            seen.add(number)
            try:
                children, closed = self._children(number, box)
            except CertificateError as error:
                return Walked(tuple(seen), leaves, str(error)), []
            report(len(seen))
            leaves += closed
            visited = seen | {n for _, n, _ in waiting}
            twice = [child for child, _ in children if child in visited] or _repeated(children)
            if twice:
                reason = f"nodes: node {twice[0]} is a child of two nodes"
                return Walked(tuple(seen), leaves, reason), []
            for child, half in children:
                heapq.heappush(waiting, (-sizes.get(child, 1), child, half))
        return Walked(tuple(seen), leaves), [
            (number, box) for _, number, box in sorted(waiting, key=lambda w: w[:2])
        ]

    def _sizes(self) -> dict[int, int]:
        """Approximate subtree sizes, for cutting the tree; robust to malformed nodes."""
        parents: list[tuple[int, list[int]]] = []
        waiting, seen = [0], {0}
        while waiting:
            number = waiting.pop()
            node = self.nodes[number] if number < len(self.nodes) else None
            children = node.get("children") if isinstance(node, dict) else None
            below = [c for c in children if is_int(c, 0)] if type(children) is list else []
            parents.append((number, below))
            new = [c for c in below if c not in seen]
            seen.update(new)
            waiting += new
        sizes: dict[int, int] = {}
        for number, below in reversed(parents):
            sizes[number] = 1 + sum(sizes.get(c, 0) for c in below)
        return sizes

    def subtree(self, start: tuple[int, Box]) -> Walked:
        """Traverse one subtree, depth-first."""
        seen, leaves, waiting = set[int](), 0, [start]
        while waiting:
            number, box = waiting.pop()
            if number in seen:
                return Walked(tuple(seen), leaves, f"nodes: node {number} is a child of two nodes")
            seen.add(number)
            try:
                children, closed = self._children(number, box)
            except CertificateError as error:
                return Walked(tuple(seen), leaves, str(error))
            leaves += closed
            waiting += children
        return Walked(tuple(seen), leaves)

    def _children(self, number: int, box: Box) -> tuple[list[tuple[int, Box]], int]:
        """The children of a node with their boxes, and the number of leaves closed (itself, empty halves)."""
        node = self.nodes[number] if 0 <= number < len(self.nodes) else None
        if not isinstance(node, dict) or type(node.get("use")) is not list:
            raise CertificateError(f"nodes: node {number} is missing or has no list of multipliers")
        if self.upper >= 0:  # probabilities are at most 1
            return [], 1
        last = None
        for use in node["use"]:
            last, tighter = self._bounded(box, use)
            if tighter is None:
                return [], 1
            box = tighter
        if "split" not in node:
            bound = "no multipliers" if last is None else f"the bound {last / SCALE:.6f}"
            raise CertificateError(
                f"nodes: leaf {number} has {bound}, which is not below {self.upper / SCALE:.6f}"
            )
        return self._halves(number, node, box)

    def _halves(self, number: int, node: dict[str, Any], box: Box) -> tuple[list[tuple[int, Box]], int]:
        split, children = node["split"], node.get("children")
        if not (
            type(split) is list
            and type(children) is list
            and len(split) == 3
            and len(children) == 2
            and all(is_int(x, -_LARGEST_SPLIT, _LARGEST_SPLIT) for x in split)
            and all(c is None or is_int(c, 0) for c in children)
        ):
            raise CertificateError(f"nodes: node {number} has no valid split")
        sentence, coordinate, value = split
        sentences = self.bounds.sentences
        sound = -1 <= sentence < len(sentences) and 0 <= coordinate < self.bounds.at.count
        if not sound or (sentence >= 0 and sentences[sentence].vectors is None):
            raise CertificateError(f"nodes: node {number} is split at a coordinate that does not exist")
        out: list[tuple[int, Box]] = []
        closed = 0
        for child, above in zip(children, (False, True), strict=True):
            half = self.bounds.propagated(self.bounds.split(box, sentence, coordinate, value, above=above))
            if half is None:
                closed += child is not None
                continue
            if child is None:
                side = "above" if above else "at most"
                raise CertificateError(
                    f"nodes: node {number} leaves out counts {side} {value} of coordinate {coordinate}"
                )
            out.append((child, half))
        return out, closed

    def _bounded(self, box: Box, use: Any) -> tuple[int, Box | None]:
        """The bound of a box under multipliers (by number), and the remaining box.

        None if the bound is low enough.
        """
        values = self.multipliers[use] if is_int(use, 0, len(self.multipliers) - 1) else None
        if isinstance(values, dict):
            prices = self._mu(use, values.get("prices"))
            messages = read_messages(self.bounds, prices, values.get("blocks"), values.get("messages"))
            agreed = AgreedBound(self.bounds, box, messages)
            return agreed.value, None if agreed.value <= self.upper else agreed.tightened(self.upper)
        mu = self._mu(use, values)
        bound = self.bounds.bound(box, mu)
        if bound.value <= self.upper:
            return bound.value, None
        return bound.value, self.bounds.tightened(box, mu, bound, self.upper)

    def _mu(self, use: Any, values: Any) -> Ints:
        at = self.bounds.at
        if type(values) is not list or len(values) != len(self.coordinates):
            name = f"number {use}" if is_int(use) else "one that a node uses"
            raise CertificateError(f"multipliers: {name} is missing or of the wrong length")
        # Sums of prices over all words must stay within 64 bits.
        most = (2**61 - 1) // (4 * (self.words + 1))
        if not all(is_int(v, -most, most) for v in values):
            raise CertificateError(
                f"multipliers: number {use} is not a list of integers, or too large to compute with exactly"
            )
        mu = np.zeros(at.count, np.int64)
        mu[self.coordinates] = values
        # The multiplier of an inequality has a sign: a negative one bounds nothing.
        if mu[at.constrained] < 0 or mu[at.priced : at.constrained].any():
            raise CertificateError(
                f"multipliers: number {use} is negative for the constraint, or prices a sum"
            )
        return mu


def _repeated(children: list[tuple[int, Box]]) -> list[int]:
    """The number that both children share, if any."""
    return [children[0][0]] if len(children) == 2 and children[0][0] == children[1][0] else []
