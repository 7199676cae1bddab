"""Sentence-boundary bias of the tokenizer, tuned by cross-validation.

Choosing the likelier of "continue" and "end" at each position does not maximise the F1 of sentences, because
a sentence counts only if both of its ends are right. Where boundaries are hard to see (no punctuation,
headings), predicting more of them pays; elsewhere, fewer. The tokenizer therefore adds a bias to the score of
a boundary, chosen for the best sentence F1 on held-out folds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.text.plain_text import plain_text
from arcwise.treebanks import Treebank

BIASES = (0.0, -0.5, 0.5, -1.0, 1.0, -1.5, 1.5, -2.0, 2.0)
"""Candidates; ties go to the first."""
MARGIN = 0.005
"""Smaller gains may be chance: on ten development sets, such biases improved one and hurt four."""

Ends = npt.NDArray[np.uint32]


def choose_bias(treebank: Treebank, folds: int, train: Callable[[Treebank], native.Tokenizer]) -> float:
    """Return the bias with the best sentence F1 in cross-validation over contiguous folds.

    0 if there are fewer sentences than folds.
    """
    if folds < 2 or len(treebank) < folds:
        return 0.0
    right = np.zeros(len(BIASES))
    counted = np.zeros(len(BIASES))
    bounds = [len(treebank) * fold // folds for fold in range(folds + 1)]
    for first, last in pairwise(bounds):
        others = Treebank.from_sentences(
            [treebank[i] for i in range(len(treebank)) if not first <= i < last], source=treebank.source
        )
        plain = plain_text(treebank[first:last])
        gold = np.array([token.last for token in plain.tokens if token.ends_sentence], np.uint32)
        data = plain.text.encode("utf-8", "replace")
        starts, ends = train(others).sentence_ends(data, list(BIASES))
        for number, (a, b) in enumerate(pairwise(starts)):
            right[number] += sentences_in_common(gold, ends[a:b])
            counted[number] += len(gold) + b - a
    return best_bias(2 * right / counted)


def sentences_in_common(gold: Ends, predicted: Ends) -> int:
    """Count the sentences with both ends in common; each starts where the previous one ends.

    >>> sentences_in_common(np.array([5, 9, 20], np.uint32), np.array([5, 9, 12, 20], np.uint32))
    2
    """

    def spans(ends: Ends) -> set[tuple[int, int]]:
        return set(pairwise([0, *ends.tolist()]))

    return len(spans(gold) & spans(predicted))


def best_bias(scores: Sequence[float] | npt.NDArray[np.float64]) -> float:
    """Return the bias with the best score if it beats no bias by at least ``MARGIN``, else 0.

    >>> best_bias([0.90, 0.91, 0.90, 0.94, 0.8, 0.93, 0.8, 0.92, 0.8])
    -1.0
    >>> best_bias([0.90, 0.901, 0.90, 0.90, 0.8, 0.8, 0.8, 0.8, 0.8])
    0.0
    """
    best = int(np.argmax(scores))
    return BIASES[best] if scores[best] >= scores[0] + MARGIN else 0.0
