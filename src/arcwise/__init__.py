"""arcwise: sentences into dependency trees, with confidences that mean something.

>>> import arcwise
>>> arcwise.Tree.from_heads([2, 0]).roots
(2,)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from arcwise.errors import ArcwiseError, ConstraintError, InputError, ModelError, NoTreeError
    from arcwise.inference import Constraints, TreeDistribution
    from arcwise.models import load
    from arcwise.treebanks import Sentence, Treebank
    from arcwise.trees import Tree

    __version__: str
    """The version of pyproject.toml, looked up in the metadata of the installed package."""

_HOME = {
    "ArcwiseError": "arcwise.errors",
    "ConstraintError": "arcwise.errors",
    "InputError": "arcwise.errors",
    "ModelError": "arcwise.errors",
    "NoTreeError": "arcwise.errors",
    "Constraints": "arcwise.inference",
    "TreeDistribution": "arcwise.inference",
    "Sentence": "arcwise.treebanks",
    "Tree": "arcwise.trees",
    "Treebank": "arcwise.treebanks",
    "load": "arcwise.models",
}
"""Public names and the room each lives in; rooms are imported when first used, so that commands start fast."""

__all__ = [
    "ArcwiseError",
    "ConstraintError",
    "Constraints",
    "InputError",
    "ModelError",
    "NoTreeError",
    "Sentence",
    "Tree",
    "TreeDistribution",
    "Treebank",
    "load",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    if name == "__version__":
        from importlib.metadata import version

        return version("arcwise")
    raise AttributeError(f"module 'arcwise' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME, "__version__"])
