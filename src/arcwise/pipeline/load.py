"""``arcwise.load``: a model that comes with arcwise, or one of your own."""

from __future__ import annotations

from arcwise.pipeline.models import model_path
from arcwise.pipeline.pipeline import Pipeline
from arcwise.treebanks.files import PathLike


def load(name: PathLike) -> Pipeline:
    """A pipeline from raw text to trees: the name of a model that comes with arcwise, or a file of ``arcwise train --pipeline``.

    >>> nlp = load("en")
    >>> doc = nlp("The birds sing. They fly, too!")
    >>> [sentence.forms for sentence in doc]
    [['The', 'birds', 'sing', '.'], ['They', 'fly', ',', 'too', '!']]
    >>> doc.sentences[0].tree.heads[1:].tolist()
    [2, 3, 0, 3]
    """
    return Pipeline.load(model_path(name))
