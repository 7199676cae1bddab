"""``Siblings``: scores of adjacent siblings."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.errors import InputError
from arcwise.inference.arc_matrices import Floats
from arcwise.inference.arguments import LARGEST_SCORE, floats
from arcwise.trees import Tree


class Siblings:
    """Scores of adjacent siblings (McDonald & Pereira 2006).

    scores: shape (n+1, n+1, n+1). ``scores[h, s, m]`` is added when m is the next dependent of h after s on
        the same side, outward from h; ``scores[h, h, m]`` when m is the first one on its side. -inf forbids
        it. Other entries may hold anything. A contiguous float64 array is not copied: do not change it
        afterwards.

    >>> Siblings(np.zeros((3, 3, 3)))
    <Siblings of 2 words>
    """

    def __init__(self, scores: npt.ArrayLike) -> None:
        array = np.ascontiguousarray(floats(scores, "siblings"))
        if array.ndim != 3 or len({*array.shape}) != 1 or len(array) < 2:
            raise InputError(
                f"siblings: found shape {array.shape}, expected (n+1, n+1, n+1) for n >= 1 words"
            )
        first_bad = native.first_bad_sibling(array, LARGEST_SCORE)
        if first_bad >= 0:
            h, s, m = (int(i) for i in np.unravel_index(first_bad, array.shape))
            raise InputError(
                f"siblings: found {array[h, s, m]} at [{h}, {s}, {m}], "
                f"expected a number up to {LARGEST_SCORE:g}, or -inf"
            )
        self.scores: Floats = array

    def __repr__(self) -> str:
        return f"<Siblings of {len(self.scores) - 1} words>"

    def check(self, words: int) -> None:
        """Raise ``InputError`` unless they are of a sentence of this many words."""
        if len(self.scores) != words + 1:
            raise InputError(f"siblings: found {len(self.scores) - 1} words, but the scores have {words}")

    @property
    def part_scores(self) -> Floats:
        """The score of each part: the sibling scores themselves."""
        return self.scores

    def score(self, tree: Tree, labels: tuple[str, ...] | None) -> float:
        """Return the sum of the scores of a tree's adjacent siblings."""
        total = 0.0
        for head, dependents in sides(tree):
            before = head
            for m in dependents:
                total += float(self.scores[head, before, m])
                before = m
        return total


def sides(tree: Tree) -> list[tuple[int, list[int]]]:
    """Return (head, dependents outward from it) for both sides of words and the right one of the root."""
    heads = tree.heads.tolist()
    n = len(heads) - 1
    return [
        (h, [m for m in places if heads[m] == h])
        for h in range(n + 1)
        for places in (range(h - 1, 0, -1), range(h + 1, n + 1))[h == 0 :]
    ]
