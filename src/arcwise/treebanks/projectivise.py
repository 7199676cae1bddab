"""A treebank without crossing arcs, and how much that changed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arcwise.errors import InputError
from arcwise.treebanks.treebank import Treebank
from arcwise.trees import projectivise_heads


@dataclass(frozen=True)
class Changed:
    """How many heads changed, and in how many trees."""

    heads: int
    trees: int


def projectivise_treebank(treebank: Treebank, *, threads: int = 1) -> tuple[Treebank, Changed]:
    """The treebank with the nearest projective tree (``arcwise.trees.projectivise``) in every sentence.

    >>> text = "".join(f"{i}\\tw\\t_\\t_\\t_\\t_\\t{h}\\tdep\\t_\\t_\\n" for i, h in [(1, 3), (2, 0), (3, 2)]) + "\\n"
    >>> projective, changed = projectivise_treebank(Treebank.from_string(text))
    >>> projective.heads.tolist(), changed
    ([2, 0, 2], Changed(heads=1, trees=1))
    """
    unknown = np.flatnonzero(treebank.heads < 0)
    if len(unknown):
        number = int(np.searchsorted(treebank.sentence_words, unknown[0], side="right")) - 1
        word = int(unknown[0] - treebank.sentence_words[number]) + 1
        sent_id = treebank[number].sent_id
        raise InputError(
            f"{treebank.source} ({sent_id or f'sentence {number + 1}'}): the head of word {word} is unknown, "
            "expected complete trees"
        )
    heads = projectivise_heads(treebank.heads, treebank.sentence_words, threads=threads)
    changed = np.flatnonzero(heads != treebank.heads)
    if not len(changed):
        return treebank, Changed(0, 0)
    sentences = np.searchsorted(treebank.sentence_words, changed, side="right")
    return treebank.annotate(heads=heads), Changed(len(changed), len(np.unique(sentences)))
