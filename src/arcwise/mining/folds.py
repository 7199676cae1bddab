"""Folds for cross-fitting: whole documents, with near-duplicate sentences in one fold."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from arcwise.treebanks import Sentence, Treebank

Numbers = npt.NDArray[np.int64]

BLOCK = 20
"""Consecutive sentences that count as a document in a treebank without ``# newdoc``."""
SIMILARITY = 0.6
"""Jaccard similarity of word trigrams from which two sentences are near-duplicates."""
_SHORTEST = 6
"""Words below which only equal sentences are duplicates: short ones share most trigrams by chance."""
_COMMON = 30
"""Trigrams of more sentences than this (boilerplate) propose no pairs; equal sentences are found anyway."""


def document_folds(treebank: Treebank, count: int, *, seed: int = 1) -> Numbers:
    """The fold (0 .. count-1) of each sentence, shape (S,).

    Documents stay together and folds are balanced by words. Near-duplicates of an earlier sentence then move
    to its fold, so that no parser is trained on a copy of a sentence that it judges.
    """
    documents = document_numbers(treebank)
    lengths = treebank.sentence_lengths
    sizes = np.bincount(documents, weights=lengths).astype(np.int64)
    order = np.random.default_rng(seed).permutation(len(sizes))
    filled = np.zeros(count, np.int64)
    fold_of = np.zeros(len(sizes), np.int64)
    for document in order.tolist():
        fold_of[document] = int(np.argmin(filled))
        filled[fold_of[document]] += sizes[document]
    return fold_of[documents][duplicate_groups(treebank)]


def document_numbers(treebank: Treebank) -> Numbers:
    """The document of each sentence: ``# newdoc``, or else blocks of consecutive sentences."""
    starts = np.array([_starts_document(sentence) for sentence in treebank], np.bool_)
    if starts.sum() > 1:
        numbers = np.cumsum(starts)
        return np.asarray(numbers - numbers[0], np.int64)
    # At least twenty blocks where there are that many sentences, so that small treebanks have folds, too.
    block = max(1, min(BLOCK, len(treebank) // 20))
    return np.arange(len(treebank), dtype=np.int64) // block


def _starts_document(sentence: Sentence) -> bool:
    return any(line.split("=")[0].split()[:1] == ["newdoc"] for line in sentence.comment_lines)


def duplicate_groups(treebank: Treebank) -> Numbers:
    """For each sentence, the first sentence of its group of near-duplicates (itself if there are none)."""
    words = [normalised_words(sentence.forms) for sentence in treebank]
    groups = _Groups(len(words))
    first: dict[tuple[str, ...], int] = {}
    for number, forms in enumerate(words):
        groups.join(first.setdefault(forms, number), number)
    # Only one of several equal sentences is compared, or boilerplate would take quadratic time.
    distinct = [number for number, forms in enumerate(words) if first[forms] == number]
    for a, b in _similar_pairs([(n, _trigrams(words[n])) for n in distinct if len(words[n]) >= _SHORTEST]):
        groups.join(a, b)
    return np.array([groups.first(number) for number in range(len(words))], np.int64)


def normalised_words(forms: Iterable[str]) -> tuple[str, ...]:
    """Lower-case words with digits replaced by 0, without punctuation.

    >>> normalised_words(["On", "12", "May", ",", "go", "!"])
    ('on', '00', 'may', 'go')
    """
    lowered = tuple(re.sub(r"\d", "0", form.lower()) for form in forms)
    # A sentence of punctuation alone keeps it: all such sentences would otherwise be equal.
    return tuple(form for form in lowered if any(map(str.isalnum, form))) or lowered


def _trigrams(words: Sequence[str]) -> frozenset[tuple[str, ...]]:
    return frozenset(zip(words, words[1:], words[2:], strict=False))


def _similar_pairs(
    sentences: Sequence[tuple[int, frozenset[tuple[str, ...]]]],
) -> Iterable[tuple[int, int]]:
    """Pairs whose trigrams overlap by ``SIMILARITY``, found through an index of rare trigrams."""
    index: dict[tuple[str, ...], list[int]] = defaultdict(list)
    trigrams = dict(sentences)
    for number, grams in sentences:
        shared = Counter(other for gram in grams for other in index[gram] if len(index[gram]) <= _COMMON)
        for other, common in shared.items():
            if common >= SIMILARITY * (len(grams) + len(trigrams[other]) - common):
                yield other, number
        for gram in grams:
            index[gram].append(number)


class _Groups:
    """Disjoint sets of numbers; the smallest member stands for its set."""

    def __init__(self, count: int) -> None:
        self._parent = list(range(count))

    def first(self, number: int) -> int:
        while self._parent[number] != number:
            self._parent[number] = number = self._parent[self._parent[number]]
        return number

    def join(self, a: int, b: int) -> None:
        low, high = sorted((self.first(a), self.first(b)))
        self._parent[high] = low
