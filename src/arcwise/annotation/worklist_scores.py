"""Scores by which worklists rank sentences, computed in batches."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from arcwise.annotation.assistant import Assistant, sentence_gains
from arcwise.annotation.gains import expected_repairs
from arcwise.annotation.scored_sentence import Posterior, tagged_input
from arcwise.annotation.states import ArcDecisions, consistent, only_decided
from arcwise.inference.arc_matrices import Floats
from arcwise.parsing.parser import ParseOptions
from arcwise.parsing.parses import Parses
from arcwise.treebanks import Sentence

Value = tuple[float, int | None]
"""The score of a sentence, and the word to look at first (1..n; None: the whole sentence)."""
NOTHING: Value = (0.0, None)
"""The sentence needs no work."""
_NEARLY_SURE = 1e-6
_LEAST = 0.005  # coarser than for one sentence: worklists score every sentence of the file
FAR_REACHING = 5
"""Exponent that favours answers which repair other words, too.

Chosen on the development data of English-EWT with the model ``en``: a larger one repairs more errors per
wrong word found, but finds fewer wrong words among those reviewed.
"""
_AROUND = ParseOptions(keep=("head", "deprel"), confidence=True)
_FREE = ParseOptions(confidence=True)


def by_entropy(assistant: Assistant, sentences: Sequence[Sentence]) -> list[Value]:
    """Entropy of the tree under the decisions, in nats; the word is the one with the least probable head."""
    parses = _parses(assistant, sentences, _AROUND)
    assert parses.probabilities is not None
    entropies = parses.probabilities.head_entropy
    values: list[Value] = []
    for sentence, shares, entropy in zip(
        sentences, _each(parses.probabilities.head, sentences), entropies, strict=True
    ):
        word, _ = _least_sure(sentence, shares)
        values.append((float(entropy), word) if entropy > _NEARLY_SURE else NOTHING)
    return values


def by_least_sure(assistant: Assistant, sentences: Sequence[Sentence]) -> list[Value]:
    """Uncertainty (1 - probability) of the least probable unannotated head."""
    parses = _parses(assistant, sentences, _AROUND)
    assert parses.probabilities is not None
    values: list[Value] = []
    for sentence, shares in zip(sentences, _each(parses.probabilities.head, sentences), strict=True):
        word, share = _least_sure(sentence, shares)
        values.append(NOTHING if word is None else (1.0 - share, word))
    return values


def by_gain(assistant: Assistant, sentences: Sequence[Sentence]) -> list[Value]:
    """The largest expected information gain of a word, in nats."""
    values: list[Value] = []
    for sentence in sentences:
        decisions = consistent(ArcDecisions.of(sentence))
        # score, not scored: a pass over a whole file would push the sentences at hand out of the cache.
        gains = sentence_gains(assistant.score(sentence).under(decisions)).values
        word = int(np.argmax(gains))
        values.append((float(gains[word]), word + 1) if gains[word] > _NEARLY_SURE else NOTHING)
    return values


def by_repairs(assistant: Assistant, sentences: Sequence[Sentence]) -> list[Value]:
    """The largest expected number of repaired errors, favouring words that repair others."""
    values: list[Value] = []
    for sentence in sentences:
        posterior = assistant.score(sentence).under(consistent(ArcDecisions.of(sentence)))
        scores = repair_order(posterior)
        word = int(np.argmax(scores))
        values.append((float(scores[word]), word + 1) if scores[word] > _NEARLY_SURE else NOTHING)
    return values


def repair_order(posterior: Posterior) -> Floats:
    """Shape (n,): the expected repairs of each word, times a power of its repairs if it is wrong."""
    weights = next(iter(posterior.weights.matrices()))
    repairs = expected_repairs(weights, posterior.marginals, posterior.heads, posterior.trees, least=_LEAST)
    return np.asarray(repairs.expected * repairs.each**FAR_REACHING)


def by_disagreement(assistant: Assistant, sentences: Sequence[Sentence]) -> list[Value]:
    """Improbability (1 - probability) of the least probable annotated arc and label."""
    parses = _parses(assistant, sentences, _FREE, gold=True)
    assert parses.probabilities is not None
    gold = parses.probabilities.gold
    assert gold is not None
    heads = np.asarray(gold.head, np.float64)
    # -1 marks a label that the parser does not know: probability 0.
    labels = np.maximum(np.asarray(gold.label, np.float64), 0.0)
    values: list[Value] = []
    for sentence, head, label in zip(
        sentences, _each(heads, sentences), _each(labels, sentences), strict=True
    ):
        values.append(
            _most_improbable(consistent(ArcDecisions.of(sentence)), head, label, bool(assistant.labels))
        )
    return values


def _most_improbable(decisions: ArcDecisions, head: Floats, label: Floats, labelled: bool) -> Value:
    shares = [
        (float(head[i] * (label[i] if labelled and decisions.labels[i] != "_" else 1.0)), i + 1)
        for i in range(len(decisions))
        if decisions.heads[i] >= 0
    ]
    if not shares:
        return NOTHING
    share, word = min(shares)
    return 1.0 - share, word


def _least_sure(sentence: Sentence, shares: Floats) -> tuple[int | None, float]:
    """The unannotated word with the least probable head; None if there is none."""
    decisions = consistent(ArcDecisions.of(sentence))
    open_words = [(float(shares[i]), i + 1) for i, head in enumerate(decisions.heads) if head < 0]
    share, word = min(open_words, default=(1.0, None))
    return word, share


def _parses(
    assistant: Assistant, sentences: Sequence[Sentence], options: ParseOptions, *, gold: bool = False
) -> Parses:
    parser: Any = assistant.parser
    tagged = tagged_input(assistant.model, only_decided(sentences))
    parses: Parses = parser.parses(tagged, options=options, gold=gold)
    return parses


def _each(flat: Any, sentences: Sequence[Sentence]) -> list[Floats]:
    ends = np.cumsum([0, *(len(sentence) for sentence in sentences)]).tolist()
    return [np.asarray(flat[a:b], np.float64) for a, b in pairwise(ends)]
