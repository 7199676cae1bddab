"""``TagAccuracy``: the accuracy of suggested tags and lemmas on annotated words, as their confidence.

A tagger states the probability of a UPOS only (a network that writes tags, those of other columns, too). How
often its XPOS, FEATS and LEMMA are right is counted here on annotated words that it was not trained on,
separately for sure and unsure UPOS and for forms that other sentences have or lack.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from arcwise.annotation.suggestions import SentenceSuggestions, WordSuggestion
from arcwise.learning.folds import Folds
from arcwise.text.tagger import Tagger
from arcwise.treebanks import Sentence, Treebank
from arcwise.treebanks.field_values import probability

COLUMNS = ("xpos", "feats", "lemma")
"""Columns without a probability from the tagger."""
BINS = (0.5, 0.8, 0.95, 0.99)
"""Bounds of the probability of the UPOS between which suggestions are counted together."""
MEASURED = 200
"""Sentences on which a tagger that is not trained here is measured."""
PRIOR = 2.0
"""Weight, in words, of the column's overall accuracy in the accuracy of a bin."""


@dataclass(frozen=True)
class TagAccuracy:
    """Counts of suggested values by column and evidence, and the forms of the annotated words."""

    counts: Mapping[str, Mapping[str, tuple[int, int]]]
    """Column → evidence (``_evidence``) → (right values, all values)."""
    forms: frozenset[str]
    """Annotated forms, in lower case."""

    @classmethod
    def measure(cls, pairs: Iterable[tuple[Sentence, Sentence]]) -> TagAccuracy:
        """Compare annotated sentences with the same ones tagged by a model that has not seen them.

        pairs: (annotated, tagged with UposProb in MISC). A word without a UPOS is not annotated.
        """
        sentences = list(pairs)
        occurrences = Counter(form for gold, _ in sentences for form in {form.lower() for form in gold.forms})
        counts: dict[str, dict[str, tuple[int, int]]] = {column: {} for column in COLUMNS}
        for column, bins in counts.items():
            for gold, tagged in sentences:
                for evidence, is_right in _compared(column, gold, tagged, occurrences):
                    right, total = bins.get(evidence, (0, 0))
                    bins[evidence] = right + is_right, total + 1
        return cls(counts, frozenset(occurrences))

    @classmethod
    def cross_validated(cls, treebank: Treebank, folds: Folds = Folds()) -> TagAccuracy:
        """Measure taggers that are trained without the sentences they tag."""
        pairs: list[tuple[Sentence, Sentence]] = []
        for others, part in folds.split(treebank):
            pairs += zip(part, Tagger.train(others).tag(untagged(part), confidence=True), strict=True)
        return cls.measure(pairs)

    @classmethod
    def of_tagger(cls, tagger: Tagger, treebanks: Iterable[Treebank]) -> TagAccuracy | None:
        """Measure a tagger on the first tagged sentences of a file; None without any."""
        sentences = tagged_sentences(treebanks, MEASURED)
        if not sentences:
            return None
        tagged = tagger.tag(untagged(Treebank.from_sentences(sentences)), confidence=True)
        return cls.measure(zip(sentences, tagged, strict=True))

    def estimate(self, column: str, upos_probability: float, form: str) -> float | None:
        """The accuracy of suggestions of this kind; None without any to go by."""
        bins = self.counts.get(column, {})
        total = sum(n for _, n in bins.values())
        if not total:
            return None
        overall = (sum(right for right, _ in bins.values()) + 1) / (total + 2)
        right, n = bins.get(_evidence(upos_probability, form.lower() in self.forms), (0, 0))
        return (right + PRIOR * overall) / (n + PRIOR)

    def complete(self, sentence: Sentence, suggestions: SentenceSuggestions) -> SentenceSuggestions:
        """The suggestions with an estimate for every suggested tag and lemma."""
        words = [
            self._complete(form, word) if word.tags else word
            for form, word in zip(sentence.forms, suggestions.words, strict=False)
        ]
        return replace(suggestions, words=tuple(words))

    def _complete(self, form: str, word: WordSuggestion) -> WordSuggestion:
        # A UPOS that the file has is sure; without a probability nothing is known of the others either.
        upos = word.tag_probabilities.get("upos") if "upos" in word.tags else 1.0
        if upos is None:
            return word
        unsure = [c for c in COLUMNS if c in word.tags and c not in word.tag_probabilities]
        estimates = {column: self.estimate(column, upos, form) for column in unsure}
        measured = {column: value for column, value in estimates.items() if value is not None}
        return replace(word, tag_probabilities={**word.tag_probabilities, **measured})

    def to_json(self) -> dict[str, Any]:
        """As a model header stores it."""
        return {"counts": self.counts, "forms": sorted(self.forms)}

    @classmethod
    def from_json(cls, values: Mapping[str, Any] | None) -> TagAccuracy | None:
        """Read the entry of a model header; None if it has none."""
        if not values:
            return None
        counts = {
            column: {evidence: (int(right), int(n)) for evidence, (right, n) in bins.items()}
            for column, bins in values["counts"].items()
        }
        return cls(counts, frozenset(values["forms"]))


def untagged(treebank: Treebank) -> Treebank:
    """A treebank without tags and lemmas."""
    blank = ["_"] * treebank.word_count
    return treebank.annotate(lemma=blank, upos=blank, xpos=blank, feats=blank)


def tagged_sentences(treebanks: Iterable[Treebank], most: int) -> list[Sentence]:
    """The first ``most`` sentences whose words all have a UPOS."""
    sentences: list[Sentence] = []
    for treebank in treebanks:
        sentences += [sentence for sentence in treebank if len(sentence) and "_" not in sentence.upos]
        if len(sentences) >= most:
            break
    return sentences[:most]


def _compared(
    column: str, gold: Sentence, tagged: Sentence, occurrences: Mapping[str, int]
) -> Iterable[tuple[str, bool]]:
    """The evidence of each suggested value of a sentence, and whether it is right."""
    values: Sequence[str] = getattr(gold, _FIELDS[column])
    suggested: Sequence[str] = getattr(tagged, _FIELDS[column])
    for form, upos, value, suggestion, misc in zip(
        gold.forms, gold.upos, values, suggested, tagged.misc, strict=True
    ):
        # FEATS of a tagged word may be empty; an empty XPOS or LEMMA is not annotated.
        if upos == "_" or suggestion == "_" or (value == "_" and column != "feats"):
            continue
        share = probability(misc, "UposProb")
        if share is not None:
            yield _evidence(share, occurrences[form.lower()] > 1), value == suggestion


_FIELDS = {"xpos": "xpos", "feats": "feats", "lemma": "lemmas"}


def _evidence(upos_probability: float, is_known: bool) -> str:
    return f"{bisect_right(BINS, upos_probability)} {'known' if is_known else 'new'}"
