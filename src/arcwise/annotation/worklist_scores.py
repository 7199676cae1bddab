"""What a parser thinks of many sentences at once: the numbers by which worklists are ordered, a batch at a time."""

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
"""What a sentence is ordered by, and the word to look at first (1..n; None: the sentence as a whole)."""
NOTHING: Value = (0.0, None)
"""There is nothing to do."""
_NEARLY_SURE = 1e-6
_LEAST = 0.005
FAR_REACHING = 5
"""How much more an answer counts that repairs other words with its own. Chosen on the development data of English-EWT with the model
``en``: more repairs more errors for each wrong word that is found, and finds fewer of them among the words that are looked at."""
_AROUND = ParseOptions(keep=("head", "deprel"), confidence=True)
_FREE = ParseOptions(confidence=True)


def by_entropy(assistant: Assistant, sentences: Sequence[Sentence]) -> list[Value]:
    """How unsure the parser is of the tree under the decisions, in nats; the word whose head it is least sure of."""
    parses = _parses(assistant, sentences, _AROUND)
    assert parses.probabilities is not None
    entropies = parses.probabilities.head_entropy
    found = []
    for own, shares, entropy in zip(
        sentences, _each(parses.probabilities.head, sentences), entropies, strict=True
    ):
        word, _ = _least_sure(own, shares)
        found.append((float(entropy), word) if entropy > _NEARLY_SURE else NOTHING)
    return found


def by_least_sure(assistant: Assistant, sentences: Sequence[Sentence]) -> list[Value]:
    """How unsure the parser is (1 - probability) of the open head that it is least sure of."""
    parses = _parses(assistant, sentences, _AROUND)
    assert parses.probabilities is not None
    found = []
    for own, shares in zip(sentences, _each(parses.probabilities.head, sentences), strict=True):
        word, share = _least_sure(own, shares)
        found.append(NOTHING if word is None else (1.0 - share, word))
    return found


def by_gain(assistant: Assistant, sentences: Sequence[Sentence]) -> list[Value]:
    """What the most telling answer is expected to settle, in nats, and the word that it is asked of."""
    found = []
    for own in sentences:
        decisions = consistent(ArcDecisions.of(own))
        gains = sentence_gains(assistant.score(own).under(decisions)).values
        word = int(np.argmax(gains))
        found.append((float(gains[word]), word + 1) if gains[word] > _NEARLY_SURE else NOTHING)
    return found


def by_repairs(assistant: Assistant, sentences: Sequence[Sentence]) -> list[Value]:
    """How many errors an answer is expected to repair, those first that bring others with them; and the word that it is asked of."""
    found = []
    for own in sentences:
        inferred = assistant.score(own).under(consistent(ArcDecisions.of(own)))
        values = repair_order(inferred)
        word = int(np.argmax(values))
        found.append((float(values[word]), word + 1) if values[word] > _NEARLY_SURE else NOTHING)
    return found


def repair_order(inferred: Posterior) -> Floats:
    """Shape (n,): what looking at each word is expected to repair, times a power of what it repairs if it is wrong."""
    weights = next(iter(inferred.weights.matrices()))
    found = expected_repairs(weights, inferred.marginals, inferred.heads, inferred.trees, least=_LEAST)
    return np.asarray(found.expected * found.each**FAR_REACHING)


def by_disagreement(assistant: Assistant, sentences: Sequence[Sentence]) -> list[Value]:
    """How improbable (1 - probability) the decided arc is, with its label, that the parser by itself finds least probable."""
    parses = _parses(assistant, sentences, _FREE, gold=True)
    assert parses.probabilities is not None
    gold = parses.probabilities.gold
    assert gold is not None
    heads = np.asarray(gold.head, np.float64)
    labels = np.maximum(np.asarray(gold.label, np.float64), 0.0)
    found = []
    for own, head, label in zip(sentences, _each(heads, sentences), _each(labels, sentences), strict=True):
        found.append(_most_improbable(consistent(ArcDecisions.of(own)), head, label, bool(assistant.labels)))
    return found


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
    """The open word of the least probable head; None if no word is open."""
    decisions = consistent(ArcDecisions.of(sentence))
    open_words = [(float(shares[i]), i + 1) for i, head in enumerate(decisions.heads) if head < 0]
    share, word = min(open_words, default=(1.0, None))
    return word, share


def _parses(
    assistant: Assistant, sentences: Sequence[Sentence], options: ParseOptions, *, gold: bool = False
) -> Parses:
    parser: Any = assistant.parser
    seen = tagged_input(assistant.model, only_decided(sentences))
    found: Parses = parser.parses(seen, options=options, gold=gold)
    return found


def _each(flat: Any, sentences: Sequence[Sentence]) -> list[Floats]:
    ends = np.cumsum([0, *(len(own) for own in sentences)]).tolist()
    return [np.asarray(flat[a:b], np.float64) for a, b in pairwise(ends)]
