"""``SoftTags``: a teacher's probabilities of tags, sparse, flat over words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Indices = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class SoftTags:
    """The most probable values of each tag of each word, by the teacher's alphabets.

    >>> codes, shares = np.array([[1, 0]], np.int32), np.array([[0.9, 0.1]], np.float32)
    >>> tags = SoftTags(("upos",), (("NOUN", "VERB"),), (codes,), (shares,))
    >>> (codes, probabilities), = tags.in_alphabets(("upos",), (("ADJ", "NOUN"),))
    >>> codes.tolist(), probabilities.tolist()
    ([[-1, 1]], [[0.0, 1.0]])
    """

    names: tuple[str, ...]
    """Names of the tags, as in ``TagAlphabets``: upos, xpos, feats.Number, …"""
    values: tuple[tuple[str, ...], ...]
    """The alphabet of each tag."""
    codes: tuple[Codes, ...]
    """(words, k) for each tag: indices into its values; -1 for none."""
    probabilities: tuple[Floats, ...]
    """(words, k) for each tag; those of a word sum to 1, or to 0 if it has no targets."""

    def __len__(self) -> int:
        """The number of words."""
        return len(self.codes[0]) if self.codes else 0

    @classmethod
    def concatenate(cls, parts: Sequence[SoftTags]) -> SoftTags:
        """The targets of several treebanks in a row, which have the same alphabets."""
        first = parts[0]
        return cls(
            first.names,
            first.values,
            tuple(np.concatenate([part.codes[tag] for part in parts]) for tag in range(len(first.names))),
            tuple(
                np.concatenate([part.probabilities[tag] for part in parts]) for tag in range(len(first.names))
            ),
        )

    def select_words(self, words: Indices) -> SoftTags:
        """The targets of these words, in this order; -1 selects no targets."""
        codes, probabilities = [], []
        for tag_codes, tag_probabilities in zip(self.codes, self.probabilities, strict=True):
            chosen, share = tag_codes[words], tag_probabilities[words]
            chosen[words < 0], share[words < 0] = -1, 0.0
            codes.append(chosen)
            probabilities.append(share)
        return SoftTags(self.names, self.values, tuple(codes), tuple(probabilities))

    def in_alphabets(
        self, names: Sequence[str], values: Sequence[Sequence[str]]
    ) -> list[tuple[Codes, Floats]]:
        """The targets of each tag of a student in the student's alphabet, normalised.

        Values that the student does not have are dropped; a tag that the teacher does not predict has no
        targets.
        """
        numbers = {name: number for number, name in enumerate(self.names)}
        targets = []
        for name, alphabet in zip(names, values, strict=True):
            if name not in numbers:
                targets.append((np.full((len(self), 1), -1, np.int32), np.zeros((len(self), 1), np.float32)))
                continue
            tag = numbers[name]
            code_of = {value: code for code, value in enumerate(alphabet)}
            renamed = np.array([*(code_of.get(value, -1) for value in self.values[tag]), -1], np.int32)
            codes = renamed[self.codes[tag]]  # -1 reads the last entry
            probabilities = np.where(codes >= 0, self.probabilities[tag], 0)
            totals = probabilities.sum(1, keepdims=True)
            probabilities = np.divide(
                probabilities, totals, out=np.zeros_like(probabilities), where=totals > 0
            )
            targets.append((codes, probabilities.astype(np.float32)))
        return targets
