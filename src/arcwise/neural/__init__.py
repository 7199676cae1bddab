"""The neural parser: a network scores arcs and labels, everything after that is exact inference."""

from arcwise.neural.config import NeuralConfig
from arcwise.neural.model import NeuralModel
from arcwise.neural.parser import NeuralParser

__all__ = ["NeuralConfig", "NeuralModel", "NeuralParser"]
