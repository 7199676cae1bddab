"""``arcwise.load``: a model that comes with arcwise, or one of your own."""

from __future__ import annotations

from arcwise.pipeline.models import model_path
from arcwise.pipeline.pipeline import Pipeline
from arcwise.treebanks.files import PathLike


def load(name: PathLike) -> Pipeline:
    """A pipeline from raw text to trees: the name of a model that comes with arcwise, or a file of ``arcwise train --pipeline``."""
    return Pipeline.load(model_path(name))
