"""``ErrorFeatures``: the input of the combiner, from the signals and the kinds of words and arcs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arcwise.mining.evidence import Floats, universal
from arcwise.mining.proposals import Proposals
from arcwise.mining.signal import Measurement
from arcwise.mining.words import FlatWords


@dataclass(frozen=True)
class ErrorFeatures:
    """Numeric and categorical features of every word."""

    numbers: Mapping[str, Floats]
    """Name → one value per word; NaN where it is unknown."""
    kinds: Mapping[str, list[str]]
    """Name → one category per word, comparable between treebanks."""
    lemmas: Sequence[str] = ()
    """One per word; only treebanks of the same language share them."""

    @property
    def count(self) -> int:
        """The number of words."""
        return len(next(iter(self.kinds.values())))

    @property
    def is_word(self) -> npt.NDArray[np.bool_]:
        """Mask of words that are not tagged as punctuation."""
        return np.array([tag != "PUNCT" for tag in self.kinds.get("upos", [""] * self.count)], np.bool_)

    @classmethod
    def of(
        cls, words: FlatWords, measurements: Mapping[str, Measurement], proposals: Proposals
    ) -> ErrorFeatures:
        """The features of all words, from the measurements of the signals by name."""
        numbers = {
            f"{signal}.{name}": column
            for signal, measurement in measurements.items()
            for name, column in measurement.columns.items()
        }
        numbers |= {
            "arc.length": np.log1p(np.abs(words.offset)).astype(np.float64),
            "arc.side": np.sign(words.offset).astype(np.float64),
            "arc.children": np.array([len(c) for c in words.children], np.float64),
            "arc.siblings": _siblings(words),
            **_doubt_around(words, measurements),
            "sentence.length": np.log1p(words.treebank.sentence_lengths[words.sentence]).astype(np.float64),
            "proposal.weight": proposals.weights,
            "proposal.same_head": (proposals.heads == words.heads).astype(np.float64),
        }
        labels, upos, head_upos = words.labels, words.upos, words.head_upos
        proposed = [universal(str(label)) for label in proposals.labels]
        moves = ["=" if same else ">" for same in proposals.heads == words.heads]
        kinds = {
            "label": labels,
            "upos": upos,
            "label_upos": [f"{a} {b}" for a, b in zip(labels, upos, strict=True)],
            "pair": [f"{a} {b} {c}" for a, b, c in zip(upos, labels, head_upos, strict=True)],
            "change": [f"{a} {m} {b}" for a, m, b in zip(labels, moves, proposed, strict=True)],
        }
        for measurement in measurements.values():
            kinds |= measurement.kinds
        return cls(numbers, kinds, words.lemmas)


def _doubt_around(words: FlatWords, measurements: Mapping[str, Measurement]) -> dict[str, Floats]:
    """Suspicion of the head, the dependents and the sentence of each word, because errors cluster."""
    if "parsers" not in measurements:
        return {}
    doubt = np.nan_to_num(measurements["parsers"].score, nan=-5.0)
    head = words.head_index
    children = np.full(len(words), np.nan)
    dependents = np.flatnonzero(head >= 0)
    children[head[dependents]] = -np.inf
    np.maximum.at(children, head[dependents], doubt[dependents])
    count = words.treebank.sentence_lengths
    likely = 1 / (1 + np.exp(-doubt))
    total = np.bincount(words.sentence, likely, len(count))
    rest = (total[words.sentence] - likely) / np.maximum(count[words.sentence] - 1, 1)
    return {
        "around.head": np.where(head >= 0, doubt[head], np.nan),
        "around.children": children,
        "around.sentence": rest,
    }


def _siblings(words: FlatWords) -> Floats:
    """The number of words with the same head and label."""
    children, labels = words.children, words.labels
    return np.array(
        [
            sum(labels[c] == labels[word] for c in children[head]) if head >= 0 else 0
            for word, head in enumerate(words.head_index.tolist())
        ],
        np.float64,
    )
