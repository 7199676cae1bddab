"""What all trained models share: the parser protocol, model files, configurations, training with progress."""

from arcwise.learning.parser import ParseOptions, Parser

__all__ = ["ParseOptions", "Parser"]
