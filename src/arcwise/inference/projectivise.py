"""The nearest projective tree: what a projective parser can learn from a tree that is not projective."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.errors import InputError
from arcwise.treebanks import Treebank
from arcwise.trees import Heads, Tree, tree_properties


def projectivise(tree: Tree) -> Tree:
    """The projective tree with the fewest changed heads; labels stay with their words.

    Among such trees, changed words go up rather than elsewhere: as near to their old head as can be among the words
    above it (the lifting of Nivre and Nilsson 2005). A tree with one root keeps to one root. Exact, by Eisner's
    algorithm; O(n³), nothing to do for a projective tree.

    >>> tree = Tree.from_heads([2, 3, 0, 3, 2], ["det", "nsubj", "root", "advmod", "nmod"])
    >>> projectivise(tree)
    Tree.from_heads([2, 3, 0, 3, 3], ['det', 'nsubj', 'root', 'advmod', 'nmod'])
    """
    heads = projectivise_heads(tree.heads[1:], np.array([0, len(tree)], np.uint32))
    return Tree.from_heads(heads, None if tree.labels is None else tree.labels[1:])


def projectivise_heads(
    heads: npt.NDArray[np.int32], sentence_words: npt.NDArray[np.uint32], *, threads: int = 1
) -> npt.NDArray[np.int32]:
    """``projectivise`` of many trees, heads flat over all words as in ``Treebank``; projective trees are copied."""
    if (heads < 0).any():
        word = int(np.flatnonzero(heads < 0)[0])
        raise InputError(f"heads: the head of word {word} (from 0) is unknown, expected complete trees")
    shape = tree_properties(heads, sentence_words)
    projective = np.array(heads, np.int32)
    for single_root in (True, False):
        chosen = np.flatnonzero((shape.gap_degree > 0) & ((shape.roots == 1) == single_root))
        words = [slice(sentence_words[s], sentence_words[s + 1]) for s in chosen]
        for own, nearest in zip(
            words, _nearest([heads[w] for w in words], single_root, threads), strict=True
        ):
            projective[own] = nearest
    return projective


@dataclass(frozen=True)
class Changed:
    """How many heads changed, and in how many trees."""

    heads: int
    trees: int


def projectivise_treebank(treebank: Treebank, *, threads: int = 1) -> tuple[Treebank, Changed]:
    """The treebank with the nearest projective tree (``projectivise``) in every sentence.

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


def _nearest(trees: list[Heads], single_root: bool, threads: int) -> list[Heads]:
    """The best projective tree of each under ``_scores``."""
    if not trees:
        return []
    lengths = np.array([len(t) for t in trees], np.int32)
    scores = [_scores(t).ravel() for t in trees]
    offsets = np.cumsum([0, *(len(s) for s in scores[:-1])]).astype(np.int64)
    no_spans = np.empty(0, np.int32), np.empty(0, np.int64)
    found, _ = native.eisner_decode_batch(
        np.concatenate(scores), offsets, lengths, single_root, threads, *no_spans
    )
    ends = np.cumsum(lengths + 1)
    return [found[end - n : end] for end, n in zip(ends, lengths, strict=True)]


def _scores(heads: Heads) -> npt.NDArray[np.float64]:
    """1 for each arc of the tree, and for arcs from above the old head a little that never adds up to 1."""
    n = len(heads)
    scores = np.zeros((n + 1, n + 1))
    for m in range(1, n + 1):
        scores[heads[m - 1], m] = 1.0
        above, steps = int(heads[m - 1]), 1
        while above > 0:
            above, steps = int(heads[above - 1]), steps + 1
            scores[above, m] = 1.0 / (2 * n * steps)
    return scores
