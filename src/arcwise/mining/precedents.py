"""Precedents: words that maintainers of another treebank of the same language revised.

Guidelines of a language change in all its treebanks, if not at the same time. If one treebank's maintainers
relabelled nearly every *when* that was ``mark``, then a treebank that still has it is probably older.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from arcwise.mining.evidence import Floats
from arcwise.mining.proposals import Proposals
from arcwise.mining.words import FlatWords

_VOCABULARY = 100
"""Number of most frequent lemmas used to identify the language."""
_SAME_LANGUAGE = 0.6
"""Overlap of frequent lemmas: 0.83 for two English treebanks, 0.42 for Danish and Swedish."""
_SAME_TREEBANK = 0.92
"""Overlap above which it is a release of the same treebank, whose maintainers kept the unrevised words."""
_FEWEST = 2
"""Revised words of a kind that make a precedent."""
_PRIOR = 2.0
"""Number of words at which a kind's rate counts as much as that of the treebank."""
_CARRIED_OVER = 0.5
"""Fraction of the log-odds that transfers to another treebank."""
_USUAL = 0.5
"""Share of a kind's words with the same new label from which this label is proposed."""


@dataclass(frozen=True)
class Precedent:
    """How the words with one lemma and label in one treebank were revised."""

    revised: int
    words: int
    label: str = ""
    """The label that most of them have now, under the same head; empty if there is none."""


@dataclass(frozen=True)
class Precedents:
    """Revisions of one treebank, counted by lemma and label."""

    treebank: str
    base_rate: float
    """Share of all words that were revised."""
    vocabulary: dict[str, float]
    """The most frequent lemmas and their share of all words."""
    kinds: dict[str, Precedent]

    @classmethod
    def of(
        cls,
        treebank: str,
        kinds: Sequence[str],
        lemmas: Sequence[str],
        fates: Iterable[tuple[int, bool, str]],
    ) -> Precedents:
        """Count. fates: (word, whether it was revised, its new label if only the label changed)."""
        counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
        labels: dict[str, Counter[str]] = defaultdict(Counter)
        for word, revised, label in fates:
            counts[kinds[word]][0] += revised
            counts[kinds[word]][1] += 1
            if label:
                labels[kinds[word]][label] += 1
        all_revised = sum(r for r, _ in counts.values())
        rate = max(all_revised, 1) / max(sum(n for _, n in counts.values()), 1)
        table = {}
        for kind, (r, n) in sorted(counts.items()):
            if r >= _FEWEST and r / n > rate:
                label, usual = labels[kind].most_common(1)[0] if labels[kind] else ("", 0)
                table[kind] = Precedent(r, n, label if usual >= _USUAL * n else "")
        total = max(len(lemmas), 1)
        frequent = {lemma: round(n / total, 5) for lemma, n in Counter(lemmas).most_common(_VOCABULARY)}
        return cls(treebank, round(rate, 5), frequent, table)

    @cached_property
    def _surprise(self) -> dict[str, float]:
        """Kind → log-odds of a revision, relative to those of all words."""
        base = self.base_rate
        odds = {
            k: (p.revised + _PRIOR * base) / (p.words - p.revised + _PRIOR * (1 - base))
            for k, p in self.kinds.items()
        }
        return {kind: float(np.log(value * (1 - base) / base)) for kind, value in odds.items()}

    def speaks_of(self, lemmas: Sequence[str]) -> bool:
        """Whether these lemmas are of the same language, but not of another release of this treebank."""
        counts, total = Counter(lemmas), max(len(lemmas), 1)
        shared = sum(min(share, counts[lemma] / total) for lemma, share in self.vocabulary.items())
        overlap = shared / max(sum(self.vocabulary.values()), 1e-9)
        return _SAME_LANGUAGE <= overlap < _SAME_TREEBANK

    def log_odds(self, kinds: Sequence[str]) -> Floats:
        """The shift of each word's log-odds of an error by its kind; NaN without a precedent."""
        nan = float("nan")
        return _CARRIED_OVER * np.array([self._surprise.get(kind, nan) for kind in kinds], np.float64)

    def pack(self) -> dict[str, Any]:
        """As plain values."""
        kinds = {kind: [p.revised, p.words, p.label] for kind, p in self.kinds.items()}
        return {"rate": self.base_rate, "vocabulary": self.vocabulary, "kinds": kinds}

    @classmethod
    def unpack(cls, treebank: str, packed: dict[str, Any]) -> Precedents:
        """Restore; raises ``KeyError``, ``TypeError`` or ``ValueError`` if the values are damaged."""
        kinds = {
            str(kind): Precedent(int(r), int(n), str(label))
            for kind, (r, n, label) in packed["kinds"].items()
        }
        vocabulary = {str(lemma): float(share) for lemma, share in packed["vocabulary"].items()}
        return cls(treebank, float(packed["rate"]), vocabulary, kinds)


def lexical_kinds(lemmas: Sequence[str], labels: Sequence[str]) -> list[str]:
    """The kind of each word: lemma and label; all numbers are one lemma.

    >>> lexical_kinds(["when", "1998"], ["mark", "nummod"])
    ['when mark', '0 nummod']
    """
    return [f"{re.sub('[0-9]+', '0', lemma)} {label}" for lemma, label in zip(lemmas, labels, strict=True)]


@dataclass(frozen=True)
class PrecedentsOfWords:
    """The precedents that apply to the words of a treebank."""

    precedents: Sequence[Precedents] = ()
    """Those of other treebanks of the same language."""
    kinds: Sequence[str] = ()
    """The kind of each word."""

    @classmethod
    def of(
        cls, precedents: Sequence[Precedents], lemmas: Sequence[str], labels: Sequence[str]
    ) -> PrecedentsOfWords:
        """Choose those of the language of these lemmas."""
        applicable = [of_treebank for of_treebank in precedents if of_treebank.speaks_of(lemmas)]
        return cls(applicable, lexical_kinds(lemmas, labels) if applicable else [])

    def add_to(self, log_odds: Floats) -> Floats:
        """Add the mean of the precedents that know each word's kind."""
        if not self.precedents:
            return log_odds
        values = np.stack([of_treebank.log_odds(self.kinds) for of_treebank in self.precedents])
        is_known = np.isfinite(values)
        total = np.where(is_known, values, 0.0).sum(axis=0)
        return np.asarray(log_odds + total / np.maximum(is_known.sum(axis=0), 1))

    def propose(self, words: FlatWords, proposals: Proposals) -> Proposals:
        """The proposals, with the usual new label instead where there is one."""
        usual = {kind: p.label for of_treebank in self.precedents for kind, p in of_treebank.kinds.items()}
        heads, labels = proposals.heads.copy(), proposals.labels.copy()
        for word, kind in enumerate(self.kinds):
            if usual.get(kind) and words.heads[word] >= 0:
                heads[word], labels[word] = words.heads[word], usual[kind]
        return replace(proposals, heads=heads, labels=labels)

    def reasons(self, word: int) -> list[str]:
        """The reasons to show for a word: its precedents."""
        if not self.precedents:
            return []
        lemma, label = self.kinds[word].rsplit(" ", 1)
        matches = (
            (of_treebank.treebank, of_treebank.kinds.get(self.kinds[word])) for of_treebank in self.precedents
        )
        return [
            f"maintainers of {treebank} revised {p.revised} of {p.words} “{lemma}” with {label}"
            + (f", mostly to {p.label}" if p.label else "")
            for treebank, p in matches
            if p is not None
        ]
