"""The class of trees that constraints need: the requested one, or a wider one."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from arcwise.errors import ConstraintError, NoTreeError
from arcwise.inference.arc_matrices import ArcMatrices
from arcwise.inference.constraints import Constraints, crossing_pair
from arcwise.inference.kernels import NATIVE
from arcwise.inference.tree_class import TreeClass


@dataclass(frozen=True)
class FittingClass:
    """A class of trees that can satisfy the constraints, and why it is wider than requested ("" if it is
    not)."""

    trees: TreeClass
    reason: str = ""


def fitting_class(constraints: Constraints, n: int, wanted: TreeClass) -> FittingClass:
    """Return the first class with a tree of n words that satisfies the constraints on arcs.

    Tried in this order: the class ``wanted``; with several roots; with crossing arcs; with both. Raises
    ``ConstraintError`` if there is none: the constraints contradict each other (a cycle), or leave no tree.

    >>> fitting_class(Constraints(required=[(0, 1), (0, 2)]), 3, TreeClass(projective=True, single_root=True))
    FittingClass(trees=TreeClass(projective=True, single_root=False), reason='several roots (1 and 2)')
    """
    # Labels do not decide which class has a tree, and the scores here have none.
    arcs = replace(constraints, labels={})
    for trees in _wider(wanted):
        if has_tree(arcs, n, trees):
            return FittingClass(trees, _reason(arcs, wanted, trees))
    arcs.mask(
        n, TreeClass(projective=False, single_root=False), None
    )  # reports a contradiction that no class resolves
    raise ConstraintError("no tree satisfies them all")


def has_tree(constraints: Constraints, n: int, trees: TreeClass) -> bool:
    """Return whether a tree of n words of the class satisfies the constraints on arcs."""
    # Subtrees are cells of the projective chart; no non-projective kernel can hold them.
    if constraints.subtrees and not trees.projective:
        return False
    try:
        scores = np.where(constraints.mask(n, trees, None), 0.0, -np.inf)
        scores[:, 0] = -np.inf
        np.fill_diagonal(scores, -np.inf)
        NATIVE.decode(ArcMatrices.of_checked([scores], [tuple(constraints.subtrees)]), trees, 1)
    except (ConstraintError, NoTreeError):
        return False
    return True


def _wider(wanted: TreeClass) -> list[TreeClass]:
    classes = (
        wanted,
        replace(wanted, single_root=False),
        replace(wanted, projective=False),
        TreeClass(projective=False, single_root=False),
    )
    return list(dict.fromkeys(classes))


def _reason(constraints: Constraints, wanted: TreeClass, fitting: TreeClass) -> str:
    reasons = []
    if wanted.single_root and not fitting.single_root:
        roots = [m for h, m in constraints.required if h == 0]
        reasons.append("several roots" + (f" ({' and '.join(map(str, roots))})" if len(roots) > 1 else ""))
    if wanted.projective and not fitting.projective:
        pair = crossing_pair(constraints.required)
        arcs = " and ".join(f"{h} → {m}" for h, m in pair) if pair else ""
        reasons.append("crossing arcs" + (f" ({arcs})" if arcs else ""))
    return " and ".join(reasons)
