"""``Proposals``: the combined proposals of the signals for each word."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from arcwise.mining.evidence import Codes, Floats, Strings, universal
from arcwise.mining.signal import Measurement, no_votes
from arcwise.mining.words import FlatWords


@dataclass(frozen=True)
class Proposals:
    """The arc with the most votes that differs from the annotation, and values of other columns."""

    heads: Codes
    """-1 where nothing is proposed."""
    labels: Strings
    weights: Floats
    fields: dict[int, dict[str, str]]
    """Word → column (upos, lemma, feats) → proposed value."""

    @classmethod
    def of(cls, words: FlatWords, measurements: Sequence[Measurement]) -> Proposals:
        """Count the votes of the signals for every word."""
        count = len(words)
        proposals = cls(
            np.full(count, -1, np.int32), np.full(count, "_", object), np.zeros(count), defaultdict(dict)
        )
        voices = [m.votes for m in measurements if m.votes is not no_votes]
        annotated = {"upos": words.upos, "lemma": words.treebank.column("lemma"), "feats": words.feats}
        for word in np.flatnonzero(words.heads >= 0).tolist():
            arcs: dict[tuple[int, str], float] = defaultdict(float)
            for votes in voices:
                for vote in votes(word):
                    if vote.column == "arc":
                        arcs[vote.head, vote.value] += vote.weight
                    elif vote.value != annotated[vote.column][word]:
                        proposals.fields[word].setdefault(vote.column, vote.value)
            proposals._choose(words, word, arcs)
        return proposals

    def _choose(self, words: FlatWords, word: int, arcs: dict[tuple[int, str], float]) -> None:
        here = int(words.heads[word]), words.labels[word]
        # Subtypes of one label support each other; the heaviest one is proposed.
        support: dict[tuple[int, str], float] = defaultdict(float)
        for (head, label), weight in arcs.items():
            if (head, universal(label)) != here and head != words.position[word]:
                support[head, universal(label)] += weight
        if not support or here[0] < 0:
            return
        # The smallest head and label among equals, so that the order of signals does not matter.
        (head, label), weight = min(support.items(), key=lambda item: (-item[1], item[0]))
        full = min((-w, name) for (h, name), w in arcs.items() if h == head and universal(name) == label)[1]
        # A label that keeps its universal part keeps its subtype.
        self.labels[word] = words.deprels[word] if label == here[1] else full
        self.heads[word], self.weights[word] = head, weight
