"""Metrics of the CoNLL 2018 shared task: tokenisation, tags, features, lemmas, UAS, LAS, CLAS, MLAS, BLEX.

Scores equal those of the official scorer (``udtools.udeval``) to the last digit wherever it gives a result;
it rejects files with several roots, cycles or broken rows, which are scored here. Punctuation counts, label
subtypes do not, and only universal features are compared. Zeman et al. 2018, "CoNLL 2018 shared task:
multilingual parsing from raw text to universal dependencies", section 5.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from arcwise.evaluation.alignment import Alignment
from arcwise.evaluation.words import MISSING, Flags, Ints, WordColumns, without_subtype

CONTENT_LABELS = frozenset([
    "nsubj", "obj", "iobj", "csubj", "ccomp", "xcomp", "obl", "vocative", "expl", "dislocated", "advcl",
    "advmod", "discourse", "nmod", "appos", "nummod", "acl", "amod", "conj", "fixed", "flat", "compound",
    "list", "parataxis", "orphan", "goeswith", "reparandum", "root", "dep",
])  # fmt: skip
"""Labels of content words; CLAS, MLAS and BLEX score only these."""

FUNCTION_LABELS = frozenset(["aux", "cop", "mark", "det", "clf", "case", "cc"])
"""Labels of function words; MLAS compares those attached to a content word."""


@dataclass(frozen=True)
class Score:
    """Precision, recall and F1 from counts; ``aligned`` counts the words in both.

    >>> score = Score(correct=3, gold=4, system=5, aligned=4)
    >>> score.precision, score.recall, score.f1, score.aligned_accuracy
    (0.6, 0.75, 0.6666666666666666, 0.75)
    """

    correct: int
    gold: int
    system: int
    aligned: int | None = None

    @property
    def precision(self) -> float:
        return self.correct / self.system if self.system else 0.0

    @property
    def recall(self) -> float:
        return self.correct / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        total = self.system + self.gold
        return 2 * self.correct / total if total else 0.0

    @property
    def aligned_accuracy(self) -> float | None:
        return self.correct / self.aligned if self.aligned else self.aligned

    def to_json(self) -> dict[str, Any]:
        """Counts and scores."""
        return {
            **asdict(self),
            "precision": self.precision,
            "recall": self.recall,
            "f1": self.f1,
            "aligned_accuracy": self.aligned_accuracy,
        }


@dataclass(frozen=True)
class Conll18:
    """Scores by metric name: ``result["LAS"].f1``."""

    scores: dict[str, Score]

    def __getitem__(self, metric: str) -> Score:
        return self.scores[metric]

    def to_json(self) -> dict[str, Any]:
        """All scores by name."""
        return {name: score.to_json() for name, score in self.scores.items()}


def conll18(gold: WordColumns, system: WordColumns, alignment: Alignment) -> Conll18:
    """Compute all metrics. O(W)."""
    g, s = alignment.gold, alignment.system
    same_upos = gold.upos[g] == system.upos[s]
    same_xpos = gold.xpos[g] == system.xpos[s]
    same_feats = gold.universal_feats[g] == system.universal_feats[s]
    same_label = gold.universal_label[g] == system.universal_label[s]
    same_head = same_heads(gold, system, alignment)
    no_lemma = gold.codebook("_")  # where gold has no lemma, every lemma is correct
    same_lemma = (gold.lemma[g] == no_lemma) | (gold.lemma[g] == system.lemma[s])
    same_arc = same_head & same_label
    same_morphology = same_upos & same_feats
    same_children = _same_function_words(gold, system, alignment, same_arc & same_morphology)

    def over_words(right: Flags) -> Score:
        return Score(int(right.sum()), len(gold), len(system), len(g))

    content, system_content = _has_label(gold, CONTENT_LABELS), _has_label(system, CONTENT_LABELS)

    def over_content_words(right: Flags) -> Score:
        kept = content[g]
        return Score(
            int((right & kept).sum()), int(content.sum()), int(system_content.sum()), int(kept.sum())
        )

    scores = {
        "Tokens": _span_score(gold.token_spans, system.token_spans),
        "Sentences": _span_score(gold.sentence_spans, system.sentence_spans),
        "Words": Score(len(g), len(gold), len(system)),
        "UPOS": over_words(same_upos),
        "XPOS": over_words(same_xpos),
        "UFeats": over_words(same_feats),
        "AllTags": over_words(same_morphology & same_xpos),
        "Lemmas": over_words(same_lemma),
        "UAS": over_words(same_head),
        "LAS": over_words(same_arc),
        "CLAS": over_content_words(same_arc),
        "MLAS": over_content_words(same_arc & same_morphology & same_children),
        "BLEX": over_content_words(same_arc & same_lemma),
    }
    return Conll18(scores)


def same_heads(gold: WordColumns, system: WordColumns, alignment: Alignment) -> Flags:
    """Per aligned pair: whether the heads are the same. A missing head is never correct."""
    heads = gold.heads[alignment.gold]
    same: Flags = (heads != MISSING) & (heads == alignment.to_gold(system.heads)[alignment.system])
    return same


def _has_label(words: WordColumns, labels: frozenset[str]) -> Flags:
    return words.column("deprel", lambda label: without_subtype(label) in labels).astype(bool)


def _same_function_words(gold: WordColumns, system: WordColumns, alignment: Alignment, same: Flags) -> Flags:
    """Per aligned pair: whether both have the same function words as dependents, with the same tags.

    ``same``: whether head, label, UPOS and features of a pair agree. The alignment is one to one, so the
    function words are the same iff gold and system have equally many, and as many of them agree.
    """
    g, s = alignment.gold, alignment.system
    in_gold, in_system = _has_label(gold, FUNCTION_LABELS), _has_label(system, FUNCTION_LABELS)
    right = _heads_of(gold.heads[g], same & in_gold[g] & in_system[s], len(gold))
    of_gold = _heads_of(gold.heads, in_gold, len(gold))
    of_system = _heads_of(system.heads, in_system, len(system))
    same_children: Flags = (of_gold[g] == of_system[s]) & (of_gold[g] == right[g])
    return same_children


def _heads_of(heads: Ints, flags: Flags, count: int) -> Ints:
    """The number of flagged dependents of each of ``count`` words."""
    return np.bincount(heads[flags & (heads >= 0)], minlength=count)


def _span_score(gold: Ints, system: Ints) -> Score:
    """Score spans that are in both."""
    if np.array_equal(gold, system):
        return Score(len(gold), len(gold), len(system))
    in_both = Counter(map(tuple, gold.tolist())) & Counter(map(tuple, system.tolist()))
    return Score(in_both.total(), len(gold), len(system))
