"""The four classes of trees: {projective, non-projective} × {single root, multi root}."""

from __future__ import annotations

from dataclasses import dataclass

from arcwise.trees import Tree, is_projective


@dataclass(frozen=True)
class TreeClass:
    """A class of trees. Every operation is exact for all four (see ``kernels``)."""

    projective: bool
    single_root: bool

    def __contains__(self, other: object) -> bool:
        """Return whether every tree of the other class belongs to this one."""
        if not isinstance(other, TreeClass):
            return False
        return self.projective <= other.projective and self.single_root <= other.single_root

    def holds(self, tree: Tree) -> bool:
        """Return whether a tree belongs to this class."""
        return not (self.single_root and len(tree.roots) != 1) and not (
            self.projective and not is_projective(tree)
        )


PROJECTIVE = {single: TreeClass(projective=True, single_root=single) for single in (False, True)}
"""The projective classes, by ``single_root``."""
NON_PROJECTIVE = {single: TreeClass(projective=False, single_root=single) for single in (False, True)}
"""The non-projective classes, by ``single_root``."""


def tree_class(*, projective: bool, single_root: bool) -> TreeClass:
    """Return one of the four classes above, without creating an object."""
    return (PROJECTIVE if projective else NON_PROJECTIVE)[bool(single_root)]
