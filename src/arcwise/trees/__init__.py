"""Dependency trees, their properties, and drawing them as text. This package imports no other."""

from arcwise.trees.draw import draw
from arcwise.trees.properties import (
    Arc,
    TreeProperties,
    crossing_arcs,
    depth,
    edge_degree,
    gap_degree,
    is_planar,
    is_projective,
    is_well_nested,
    non_projective_arcs,
    root_count,
    tree_properties,
)
from arcwise.trees.tree import UNKNOWN, Heads, Tree, find_cycle

__all__ = [
    "UNKNOWN",
    "Arc",
    "Heads",
    "Tree",
    "TreeProperties",
    "crossing_arcs",
    "depth",
    "draw",
    "edge_degree",
    "find_cycle",
    "gap_degree",
    "is_planar",
    "is_projective",
    "is_well_nested",
    "non_projective_arcs",
    "root_count",
    "tree_properties",
]
