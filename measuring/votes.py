"""Another parser's arcs as features (McDonald et al. 2005, section 3.1, used Collins's parser).

A word's MISC gets ``Vote``: the number of the head that the other parser predicts. ``VOTE_TEMPLATES`` ask of
an arc whether it is the one that the other parser proposes.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from arcwise.transition import TransitionConfig, TransitionParser
from arcwise.treebanks import Sentence, Treebank

FOLDS = 5
VOTE_TEMPLATES = (
    "m.upos proposed.misc.Vote @ nothing distance",
    "h.upos m.upos proposed.misc.Vote",
)


def with_votes(train: Treebank, treebank: Treebank, voter: TransitionConfig, *, jackknife: bool) -> Treebank:
    """Return ``treebank`` with the votes of a parser trained on ``train``.

    With ``jackknife`` the two are the same treebank, and each fifth is parsed by a parser trained on the
    other four.
    """
    if jackknife:
        fold = np.arange(len(treebank)) % FOLDS
        pieces: list[list[str]] = [[] for _ in range(len(treebank))]
        for number in range(FOLDS):
            parser = TransitionParser.train(_chosen(train, fold != number), config=voter)
            held_out = parser.parse(_chosen(treebank, fold == number))
            for place, sentence in zip(np.flatnonzero(fold == number), held_out, strict=True):
                pieces[place] = _votes(sentence)
    else:
        pieces = [
            _votes(sentence) for sentence in TransitionParser.train(train, config=voter).parse(treebank)
        ]
    return treebank.annotate(misc=[vote for piece in pieces for vote in piece])


def _chosen(treebank: Treebank, which: npt.NDArray[np.bool_]) -> Treebank:
    return Treebank.from_sentences([treebank[int(i)] for i in np.flatnonzero(which)])


def _votes(sentence: Sentence) -> list[str]:
    return [f"Vote={int(head)}" for head in sentence.tree.heads[1:]]
