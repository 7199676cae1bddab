"""``Revisions``: the arcs that the maintainers of a treebank changed between two releases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from arcwise.mining.evidence import universal
from arcwise.treebanks import Sentence, Treebank

Flags = npt.NDArray[np.bool_]
SWEEP = 20
"""A kind of change seen this often in a pair of releases counts as the application of a new guideline."""


@dataclass(frozen=True)
class Revisions:
    """What happened to each word of the older release, flat over all words."""

    compared: Flags
    """Words of sentences with the same words in both releases, punctuation excluded."""
    revised: Flags
    """Words whose head or universal label changed."""
    moved: Flags
    """Words whose head changed."""
    scattered: Flags
    """Revised words whose kind of change is rarer than ``SWEEP``."""
    heads: npt.NDArray[np.int64]
    """The head in the newer release, -1 where not compared."""
    labels: npt.NDArray[np.object_]
    """The universal label in the newer release."""
    kinds: list[str]
    """The kind of change of each word."""

    @classmethod
    def between(cls, old: Treebank, new: Treebank) -> Revisions:
        """Compare two releases; sentences are matched by sent_id if their forms are equal, else by forms."""
        words = old.word_count
        compared = np.zeros(words, np.bool_)
        heads = np.full(words, -1, np.int64)
        labels = np.full(words, "_", object)
        starts = old.sentence_words.astype(np.int64)
        for before, after in _matched(old, new):
            at = slice(int(starts[before.number]), int(starts[before.number + 1]))
            heads[at] = after.heads[1:]
            labels[at] = [universal(label) for label in after.deprels]
            compared[at] = [tag != "PUNCT" for tag in before.upos]
        old_labels = np.array([universal(label) for label in old.column("deprel")], object)
        old_heads = np.asarray(old.heads, np.int64)
        moved = compared & (heads != old_heads)
        revised = moved | (compared & np.asarray(labels != old_labels, np.bool_))
        kinds = [_kind(a, b) for a, b in zip(old_labels, labels, strict=True)]
        return cls(compared, revised, moved, _scattered(revised, kinds), heads, labels, kinds)

    def within(self, words: Flags) -> Revisions:
        """The revisions of some of the words, with sweeps counted only among these."""
        revised = self.revised & words
        scattered = _scattered(revised, self.kinds)
        return replace(self, compared=self.compared & words, revised=revised, scattered=scattered)


def _scattered(revised: Flags, kinds: list[str]) -> Flags:
    counts = Counter(kinds[int(word)] for word in np.flatnonzero(revised))
    return revised & np.array([counts[kind] < SWEEP for kind in kinds], np.bool_)


def _kind(old: str, new: str) -> str:
    return f"{old} → {new}" if old != new else f"head of {old}"


def _matched(old: Treebank, new: Treebank) -> Iterator[tuple[Sentence, Sentence]]:
    by_id, by_forms = {}, {}
    for sentence in new:
        by_id[sentence.sent_id] = by_forms[tuple(sentence.forms)] = sentence
    for sentence in old:
        forms = tuple(sentence.forms)
        match = by_id.get(sentence.sent_id) if sentence.sent_id else None
        if match is None or tuple(match.forms) != forms:
            match = by_forms.get(forms)
        if match is not None:
            yield sentence, match
