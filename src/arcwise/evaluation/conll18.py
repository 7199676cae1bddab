"""Metrics of the CoNLL 2018 shared task: tokenisation, tags, features, lemmas, UAS, LAS, CLAS, MLAS, BLEX.

Scores equal those of the official scorer (``udtools.udeval``) to the last digit wherever it gives a result;
it rejects files with several roots, cycles or broken rows, which are scored here. Punctuation counts, label
subtypes do not, and only universal features are compared. Zeman et al. 2018, "CoNLL 2018 shared task:
multilingual parsing from raw text to universal dependencies", section 5. If gold has DEPS, there are also
ELAS and EULAS (``enhanced.py``).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from arcwise.errors import InputError
from arcwise.evaluation.enhanced import enhanced_counts
from arcwise.evaluation.words import MISSING, Flags, Ints, WordColumns, without_subtype

UNALIGNED = -3
"""Index of the gold word of a system word that is not aligned."""


@dataclass(frozen=True)
class Alignment:
    """Pairs of aligned words, in order: gold word ``gold[i]`` is system word ``system[i]``."""

    gold: Ints
    system: Ints
    gold_count: int
    system_count: int

    @cached_property
    def gold_of_system(self) -> Ints:
        """The gold word of every system word, or ``UNALIGNED``."""
        out = np.full(self.system_count, UNALIGNED)
        out[self.system] = self.gold
        return out

    def to_gold(self, heads: Ints) -> Ints:
        """Map heads from system words to gold words; the root and missing heads stay."""
        if not self.system_count:
            return heads
        indices = np.maximum(heads, 0)  # negative codes (root, missing) are looked up too, but not used
        return np.where(heads >= 0, self.gold_of_system[indices], heads)


def align(gold: WordColumns, system: WordColumns) -> Alignment:
    """Align words. O(W) if the tokens are the same, else O(W) plus the squared lengths of multiword spans.

    Raises ``InputError`` if the texts differ in more than whitespace.
    """
    _check_texts(gold, system)
    if _same_tokens(gold, system):
        # The usual case, gold tokenisation: the alignment is the identity.
        every = np.arange(len(gold))
        return Alignment(every, every, len(gold), len(system))
    pairs = np.array(_Aligner(gold, system).pairs(), np.int64).reshape(-1, 2)
    return Alignment(pairs[:, 0], pairs[:, 1], len(gold), len(system))


def _same_tokens(gold: WordColumns, system: WordColumns) -> bool:
    if not np.array_equal(gold.spans, system.spans):
        return False
    multiword = gold.in_multiword
    return np.array_equal(multiword, system.in_multiword) and (
        not multiword.any() or np.array_equal(gold.matching_form[multiword], system.matching_form[multiword])
    )


def _check_texts(gold: WordColumns, system: WordColumns) -> None:
    a, b = gold.characters, system.characters
    if a == b:
        return
    common = min(len(a), len(b))
    at = next((i for i in range(common) if a[i] != b[i]), common)
    places = [
        f"{words.treebank.source}:{words.line_at(at)} has {words.characters[at : at + 20] or 'the end'!r}"
        for words in (gold, system)
    ]
    raise InputError(f"the texts of gold and system differ: {places[0]}, {places[1]}")


class _Aligner:
    """Walks through gold and system words in parallel; ``g`` and ``s`` are the next word of each."""

    def __init__(self, gold: WordColumns, system: WordColumns) -> None:
        self.gold, self.system = _Side(gold), _Side(system)

    def pairs(self) -> list[tuple[int, int]]:
        gold, system = self.gold, self.system
        aligned: list[tuple[int, int]] = []
        g = s = 0
        while g < gold.count and s < system.count:
            if gold.multiword[g] or system.multiword[s]:
                g_first, s_first = self._span_start(g, s)
                g_next, s_next = self._span_end(g_first, s_first, gold.multiword[g])
                aligned += self._common_subsequence(g_first, g_next, s_first, s_next)
                if (g_next, s_next) == (g, s):
                    # A broken multiword range may cover no characters: pass its word, or this never ends.
                    g_next, s_next = (g + 1, s) if gold.multiword[g] else (g, s + 1)
                g, s = g_next, s_next
            elif gold.start[g] == system.start[s] and gold.end[g] == system.end[s]:
                aligned.append((g, s))
                g, s = g + 1, s + 1
            elif gold.start[g] <= system.start[s]:
                g += 1
            else:
                s += 1
        return aligned

    def _span_start(self, g: int, s: int) -> tuple[int, int]:
        """The first words of the multiword span, without a word that starts before the multiword token."""
        gold, system = self.gold, self.system
        if gold.multiword[g]:
            return g, s + (not system.multiword[s] and system.start[s] < gold.start[g])
        return g + (gold.start[g] < system.start[s]), s

    def _span_end(self, g: int, s: int, gold_starts: bool) -> tuple[int, int]:
        """The first words after the multiword span that starts with words ``g`` and ``s``."""
        gold, system = self.gold, self.system
        end = gold.end[g] if gold_starts else system.end[s]
        while not (gold.is_beyond(g, end) and system.is_beyond(s, end)):
            if g < gold.count and (s >= system.count or gold.start[g] <= system.start[s]):
                end = gold.extended(g, end)
                g += 1
            else:
                end = system.extended(s, end)
                s += 1
        return g, s

    def _common_subsequence(self, g0: int, g1: int, s0: int, s1: int) -> list[tuple[int, int]]:
        """A longest common subsequence of the forms of words g0..g1-1 and s0..s1-1."""
        gold_forms, system_forms = self.gold.form[g0:g1], self.system.form[s0:s1]
        # longest[g][s] = length for gold_forms[g:] and system_forms[s:]
        #               = max(1 + longest[g+1][s+1] if both forms are equal, longest[g+1][s], longest[g][s+1])
        longest = [[0] * (len(system_forms) + 1) for _ in range(len(gold_forms) + 1)]
        for g in reversed(range(len(gold_forms))):
            for s in reversed(range(len(system_forms))):
                both = 1 + longest[g + 1][s + 1] if gold_forms[g] == system_forms[s] else 0
                longest[g][s] = max(both, longest[g + 1][s], longest[g][s + 1])
        pairs: list[tuple[int, int]] = []
        g = s = 0
        while g < len(gold_forms) and s < len(system_forms):
            if gold_forms[g] == system_forms[s]:
                pairs.append((g0 + g, s0 + s))
                g, s = g + 1, s + 1
            elif longest[g][s] == longest[g + 1][s]:
                g += 1
            else:
                s += 1
        return pairs


class _Side:
    """Words of one side as plain lists, which are faster to index one by one than arrays."""

    def __init__(self, words: WordColumns) -> None:
        self.count = len(words)
        self.start: list[int] = words.spans[:, 0].tolist()
        self.end: list[int] = words.spans[:, 1].tolist()
        self.multiword: list[bool] = words.in_multiword.tolist()
        self.form: list[int] = words.matching_form.tolist()

    def is_beyond(self, word: int, end: int) -> bool:
        """Whether a word lies beyond the multiword span that ends at ``end``."""
        if word >= self.count:
            return True
        return self.start[word] >= end if self.multiword[word] else self.end[word] > end

    def extended(self, word: int, end: int) -> int:
        """The end of the multiword span after adding the word."""
        return max(end, self.end[word]) if self.multiword[word] else end


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
    enhanced = enhanced_counts(gold, system, (g, s), alignment.gold_of_system)
    if enhanced["ELAS"][1]:  # gold has DEPS
        scores |= {name: Score(*counts) for name, counts in enhanced.items()}
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
