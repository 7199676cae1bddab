"""The second-order graph-based parser: arcs and pairs of adjacent siblings."""

from arcwise.siblings.config import SiblingConfig
from arcwise.siblings.parser import SiblingParser

__all__ = ["SiblingConfig", "SiblingParser"]
