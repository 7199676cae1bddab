"""``best_tree_with_siblings``: the best tree, crossing arcs allowed, with a certificate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.errors import InputError, NoTreeError
from arcwise.factors.siblings import Siblings
from arcwise.inference.arguments import tree_count
from arcwise.inference.sentence_scores import check_arc_scores
from arcwise.trees import Tree

ROOT_DECODES, NODE_DECODES, MAX_DECODES = 200, 50, 20_000
"""Spanning trees before branching, at each later node, and in all."""


@dataclass(frozen=True)
class CertifiedTree:
    """A tree, its score, and a bound that no tree exceeds."""

    tree: Tree
    value: float
    bound: float
    decodes: int
    """Number of spanning trees that it took."""
    branched: bool
    """Whether multipliers alone did not suffice."""

    @property
    def gap(self) -> float:
        """Optimality gap: no tree scores higher by more than this (0: this tree is optimal)."""
        return self.bound - self.value

    @property
    def is_optimal(self) -> bool:
        """Whether the tree is proven to be the best one."""
        return self.gap == 0


def best_tree_with_siblings(
    scores: npt.ArrayLike,
    siblings: Siblings,
    *,
    single_root: bool,
    root_decodes: int = ROOT_DECODES,
    node_decodes: int = NODE_DECODES,
    max_decodes: int = MAX_DECODES,
) -> CertifiedTree:
    """Return the best tree over arcs and adjacent siblings, projective or not, with its certificate.

    Dual decomposition of a spanning tree and head automata (Koo, Rush, Collins, Jaakkola & Sontag 2010) for
    ``root_decodes`` rounds, then branch and bound on arcs, ``node_decodes`` rounds a node, until the tree is
    optimal or ``max_decodes`` rounds are over. A round takes O(n³) at most. The problem is NP-hard, so some
    trees may stay unproven: their ``gap`` says how far. Sums over these trees (log Z, marginals) are not
    tractable, and not offered.

    scores: (n+1, n+1), as for ``TreeDistribution``.

    >>> chain = np.zeros((3, 3))
    >>> chain[0, 1] = chain[1, 2] = 1
    >>> best = best_tree_with_siblings(chain, Siblings(np.zeros((3, 3, 3))), single_root=True)
    >>> best.tree, best.value, best.is_optimal
    (Tree.from_heads([0, 1]), 2.0, True)
    """
    if not isinstance(siblings, Siblings):
        raise InputError(
            f"siblings: found {siblings!r}, expected Siblings; other factors need projective trees"
        )
    arcs = np.ascontiguousarray(check_arc_scores(scores, None, "scores"))
    siblings.check(len(arcs) - 1)
    heads, value, bound, decodes, branched = native.sibling_relaxation(
        arcs,
        siblings.scores,
        single_root,
        root_decodes=tree_count("root_decodes", root_decodes, 1, 1),
        node_decodes=tree_count("node_decodes", node_decodes, 1, 1),
        max_decodes=tree_count("max_decodes", max_decodes, 1, 1),
    )
    if value == -np.inf:
        proof = "no tree" if bound == -np.inf else f"the search found no tree in {decodes} decodes"
        raise NoTreeError(f"scores: {proof} over the {len(arcs) - 1} words has finite arcs and siblings")
    return CertifiedTree(Tree(heads), value, bound, decodes, branched)
