"""Another parser's prediction as a word feature (McDonald et al. 2005 used Collins's parser).

A word's MISC gets ``Vote``: direction and binned distance of the head that the other parser predicts.
``VOTE_TEMPLATES`` conjoin it with direction and distance of an arc, so that the parser learns how much
agreement with the vote is worth.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from arcwise.transition import TransitionConfig, TransitionParser
from arcwise.treebanks import Sentence, Treebank

FOLDS = 5
VOTE_TEMPLATES = (
    "m.misc.Vote @ direction distance",
    "h.upos m.misc.Vote @ direction distance",
    "h.upos m.upos m.misc.Vote @ direction distance",
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
    heads = enumerate(sentence.tree.heads[1:], start=1)
    return [f"Vote={_vote(int(head) - place)}" if head else "Vote=wall" for place, head in heads]


def _vote(offset: int) -> str:
    """Encode the direction and binned distance of a head ``offset`` words away.

    >>> _vote(-3), _vote(7), _vote(40)
    ('left3', 'right6', 'right11')
    """
    distance = abs(offset)
    binned = distance if distance <= 5 else 6 if distance <= 10 else 11
    return f"{'left' if offset < 0 else 'right'}{binned}"
