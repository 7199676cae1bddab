"""``FlatWords``: the columns of a treebank as flat arrays, which the signals share."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from arcwise.mining.evidence import universal
from arcwise.treebanks import Treebank

Codes = npt.NDArray[np.int64]


def codes_of(values: Iterable[Hashable]) -> Codes:
    """Number values in order of first appearance.

    >>> codes_of("abca").tolist()
    [0, 1, 2, 0]
    """
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(value, len(numbers)) for value in values], np.int64)


def paired(a: Codes, b: Codes) -> Codes:
    """Number the pairs of two columns of codes."""
    if not len(a):
        return a
    return np.asarray(np.unique(a * (int(b.max()) + 1) + b, return_inverse=True)[1], np.int64)


@dataclass(frozen=True)
class FlatWords:
    """The words of all sentences, one after another."""

    treebank: Treebank

    def __len__(self) -> int:
        return self.treebank.word_count

    @cached_property
    def starts(self) -> Codes:
        """Shape (S+1,): where the words of each sentence begin."""
        return self.treebank.sentence_words.astype(np.int64)

    @cached_property
    def sentence(self) -> Codes:
        """The sentence of each word."""
        return np.repeat(np.arange(len(self.treebank)), self.treebank.sentence_lengths)

    @cached_property
    def position(self) -> Codes:
        """The number of each word in its sentence, from 1."""
        return np.arange(len(self)) - self.starts[self.sentence] + 1

    @cached_property
    def heads(self) -> Codes:
        """Heads as in the file: 0 for the root, -1 where unknown."""
        return np.asarray(self.treebank.heads, np.int64)

    @cached_property
    def head_index(self) -> Codes:
        """The flat index of each word's head, -1 for the root and where it is unknown."""
        return np.where(self.heads > 0, self.starts[self.sentence] + self.heads - 1, -1)

    @cached_property
    def forms(self) -> list[str]:
        """FORM."""
        return self.treebank.column("form")

    @cached_property
    def lower(self) -> list[str]:
        """FORM in lower case."""
        return [form.lower() for form in self.forms]

    @cached_property
    def lemmas(self) -> list[str]:
        """LEMMA, or the lower-case form where there is none."""
        pairs = zip(self.treebank.column("lemma"), self.lower, strict=True)
        return [form if lemma == "_" else lemma for lemma, form in pairs]

    @cached_property
    def upos(self) -> list[str]:
        """UPOS."""
        return self.treebank.column("upos")

    @cached_property
    def feats(self) -> list[str]:
        """FEATS."""
        return self.treebank.column("feats")

    @cached_property
    def deprels(self) -> list[str]:
        """DEPREL with subtypes."""
        return self.treebank.column("deprel")

    @cached_property
    def labels(self) -> list[str]:
        """DEPREL without subtypes."""
        return [universal(label) for label in self.deprels]

    @cached_property
    def head_upos(self) -> list[str]:
        """UPOS of the head; ``ROOT`` for the root and unknown heads."""
        upos = self.upos
        return [upos[h] if h >= 0 else "ROOT" for h in self.head_index.tolist()]

    @cached_property
    def offset(self) -> Codes:
        """Head minus word: negative if the head is to the left; 0 for the root and unknown heads."""
        return np.where(self.heads > 0, self.heads - self.position, 0)

    @cached_property
    def children(self) -> list[list[int]]:
        """The dependents of each word, as flat indices."""
        children: list[list[int]] = [[] for _ in range(len(self))]
        for word, head in enumerate(self.head_index.tolist()):
            if head >= 0:
                children[head].append(word)
        return children

    def name(self, sentence: int) -> str:
        """The sent_id of a sentence, or its number."""
        return self.treebank[sentence].sent_id or f"sentence {sentence + 1}"
