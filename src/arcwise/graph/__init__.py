"""The graph-based parser: an arc-factored model, its trainers and decoders."""

from arcwise.graph.config import TRAINERS, GraphConfig
from arcwise.graph.parser import GraphParser

__all__ = ["TRAINERS", "GraphConfig", "GraphParser"]
