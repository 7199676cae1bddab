"""``projectivise``: the nearest projective tree, for training projective parsers on non-projective trees."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arcwise.errors import InputError
from arcwise.inference.eisner import eisner_decode_batch
from arcwise.treebanks import Treebank
from arcwise.trees import Heads, Tree, tree_properties


def projectivise(tree: Tree) -> Tree:
    """Return the projective tree with the fewest changed heads; labels stay with their words.

    Ties prefer lifting (Nivre and Nilsson 2005): a changed word attaches to an ancestor of its old head, as
    near as possible. A single-root tree stays one. Exact, by Eisner's algorithm, O(n³); projective trees are
    unchanged.

    >>> tree = Tree.from_heads([2, 3, 0, 3, 2], ["det", "nsubj", "root", "advmod", "nmod"])
    >>> projectivise(tree)
    Tree.from_heads([2, 3, 0, 3, 3], ['det', 'nsubj', 'root', 'advmod', 'nmod'])
    """
    heads = projectivise_heads(tree.heads[1:], np.array([0, len(tree)], np.uint32))
    return Tree.from_heads(heads, None if tree.labels is None else tree.labels[1:])


def projectivise_heads(
    heads: npt.NDArray[np.int32], sentence_words: npt.NDArray[np.uint32], *, threads: int = 1
) -> npt.NDArray[np.int32]:
    """Run ``projectivise`` on many trees, with heads flat over all words as in ``Treebank``."""
    if (heads < 0).any():
        word = int(np.flatnonzero(heads < 0)[0])
        raise InputError(f"heads: the head of word {word} (from 0) is unknown, expected complete trees")
    shape = tree_properties(heads, sentence_words)
    projective = np.array(heads, np.int32)
    # Two calls, because a batch has one class of trees: a single-root tree must stay one.
    for single_root in (True, False):
        chosen = np.flatnonzero((shape.gap_degree > 0) & ((shape.roots == 1) == single_root))
        words = [slice(sentence_words[s], sentence_words[s + 1]) for s in chosen]
        trees = _nearest([heads[w] for w in words], single_root, threads)
        for sentence, nearest in zip(words, trees, strict=True):
            projective[sentence] = nearest
    return projective


@dataclass(frozen=True)
class Changed:
    """The number of changed heads, and of trees with a changed head."""

    heads: int
    trees: int


def projectivise_treebank(treebank: Treebank, *, threads: int = 1) -> tuple[Treebank, Changed]:
    """Return the treebank with every tree projectivised, and the number of changes.

    >>> heads = [(1, 3), (2, 0), (3, 2)]
    >>> text = "".join(f"{i}\\tw\\t_\\t_\\t_\\t_\\t{h}\\tdep\\t_\\t_\\n" for i, h in heads) + "\\n"
    >>> projective, changed = projectivise_treebank(Treebank.from_string(text))
    >>> projective.heads.tolist(), changed
    ([2, 0, 2], Changed(heads=1, trees=1))
    """
    require_heads(treebank)
    heads = projectivise_heads(treebank.heads, treebank.sentence_words, threads=threads)
    changed = np.flatnonzero(heads != treebank.heads)
    if not len(changed):
        return treebank, Changed(0, 0)
    sentences = np.searchsorted(treebank.sentence_words, changed, side="right")
    return treebank.annotate(heads=heads), Changed(len(changed), len(np.unique(sentences)))


def require_heads(treebank: Treebank) -> None:
    """Raise ``InputError``, which names the first word without a head, unless all trees are complete."""
    unknown = np.flatnonzero(treebank.heads < 0)
    if len(unknown):
        number = int(np.searchsorted(treebank.sentence_words, unknown[0], side="right")) - 1
        word = int(unknown[0] - treebank.sentence_words[number]) + 1
        sent_id = treebank[number].sent_id
        raise InputError(
            f"{treebank.source} ({sent_id or f'sentence {number + 1}'}): the head of word {word} is unknown, "
            "expected complete trees"
        )


def _nearest(trees: list[Heads], single_root: bool, threads: int) -> list[Heads]:
    """Return the best projective tree of each under ``_scores``."""
    if not trees:
        return []
    scores = [_scores(heads) for heads in trees]
    nearest, _ = eisner_decode_batch(scores, single_root=single_root, threads=threads)
    return [heads[1:] for heads in nearest]


def _scores(heads: Heads) -> npt.NDArray[np.float64]:
    """Score the tree's arcs 1, and arcs from ancestors of the old head so that they sum to less than 1."""
    n = len(heads)
    scores = np.zeros((n + 1, n + 1))
    for m in range(1, n + 1):
        scores[heads[m - 1], m] = 1.0
        above, steps = int(heads[m - 1]), 1
        while above > 0:
            above, steps = int(heads[above - 1]), steps + 1
            # All ancestors of a tree together stay below 1: keeping one more head always beats any lifting.
            scores[above, m] = 1.0 / (2 * n * steps)
    return scores
