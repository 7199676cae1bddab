"""Trees and their properties. This room imports no other."""

from arcwise.trees.tree import UNKNOWN, Heads, Tree, find_cycle

__all__ = ["UNKNOWN", "Heads", "Tree", "find_cycle"]
