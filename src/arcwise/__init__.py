"""Dependency parsing with calibrated confidences, exact inference over trees, treebanks and annotation.

>>> import arcwise
>>> arcwise.Tree.from_heads([2, 0]).roots
(2,)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from arcwise.errors import (
        ArcwiseError,
        ConstraintError,
        InputError,
        MissingExtraError,
        ModelError,
        NoTreeError,
        OptionError,
    )
    from arcwise.evaluation.evaluate import evaluate
    from arcwise.graph import GraphParser
    from arcwise.inference import Constraints, TreeDistribution, TreeDistributionBatch
    from arcwise.models import load, open_model
    from arcwise.neural import NeuralParser
    from arcwise.pipeline.document import Document
    from arcwise.pipeline.pipeline import Pipeline
    from arcwise.transition import TransitionParser
    from arcwise.treebanks import Sentence, Token, Treebank, Word
    from arcwise.trees import Tree

    __version__: str
    """The version of the installed package."""

_HOME = {
    "ArcwiseError": "arcwise.errors",
    "ConstraintError": "arcwise.errors",
    "Constraints": "arcwise.inference",
    "Document": "arcwise.pipeline.document",
    "GraphParser": "arcwise.graph",
    "InputError": "arcwise.errors",
    "MissingExtraError": "arcwise.errors",
    "ModelError": "arcwise.errors",
    "NeuralParser": "arcwise.neural",
    "NoTreeError": "arcwise.errors",
    "OptionError": "arcwise.errors",
    "Pipeline": "arcwise.pipeline.pipeline",
    "Sentence": "arcwise.treebanks",
    "Token": "arcwise.treebanks",
    "TransitionParser": "arcwise.transition",
    "Tree": "arcwise.trees",
    "TreeDistribution": "arcwise.inference",
    "TreeDistributionBatch": "arcwise.inference",
    "Treebank": "arcwise.treebanks",
    "Word": "arcwise.treebanks",
    "evaluate": "arcwise.evaluation",
    "load": "arcwise.models",
    "open_model": "arcwise.models",
}
"""Public names and the module of each. Modules are imported on first use, so that commands start fast."""

__all__ = [
    "ArcwiseError",
    "ConstraintError",
    "Constraints",
    "Document",
    "GraphParser",
    "InputError",
    "MissingExtraError",
    "ModelError",
    "NeuralParser",
    "NoTreeError",
    "OptionError",
    "Pipeline",
    "Sentence",
    "Token",
    "TransitionParser",
    "Tree",
    "TreeDistribution",
    "TreeDistributionBatch",
    "Treebank",
    "Word",
    "evaluate",
    "load",
    "open_model",
]

if not TYPE_CHECKING:  # a typed __getattr__ would make every misspelt name valid for type checkers

    def __getattr__(name: str) -> object:
        if name in _HOME:
            from importlib import import_module

            return getattr(import_module(_HOME[name]), name)
        if name == "__version__":
            from importlib.metadata import version

            return version("arcwise")
        raise AttributeError(f"module 'arcwise' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME, "__version__"])
