"""Signals from cross-fitted parsers and taggers: probabilities, conditionals, tags, label thresholds."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from arcwise.mining.crossfit import Crossfitted
from arcwise.mining.evidence import Floats, ParserEvidence
from arcwise.mining.signal import Measurement, Vote, log_odds, percent, times
from arcwise.mining.words import FlatWords


def parsers(words: FlatWords, crossfitted: Crossfitted) -> Measurement:
    """A low probability of the annotated head and label under parsers trained on other documents."""
    evidence = crossfitted.parsers
    mean = crossfitted.mean_arc
    transition = [e.arc for name, e in evidence.items() if name != "graph"]
    graph = evidence.get("graph", ParserEvidence.empty(len(words)))
    head = _mean([e.head for e in evidence.values()], len(words))
    best = _mean([e.proposed[:, 0] for e in evidence.values()], len(words))
    columns = {
        "mean": -log_odds(mean),
        "graph": -log_odds(graph.arc),
        "transition": -log_odds(_mean(transition, len(words))),
        "most": -log_odds(_extreme([e.arc for e in evidence.values()], len(words))),
        "head": -log_odds(head),
        "label": -log_odds(np.clip(mean / np.maximum(head, 1e-9), 0, 1)),
        "best": log_odds(best),
    }

    def reasons(word: int) -> list[str]:
        if not mean[word] < 0.5:
            return []
        count = sum(bool(e.arc[word] < 0.5) for e in evidence.values())
        who = f"{count} of {len(evidence)} parsers" if len(evidence) > 1 else "a parser"
        return [
            f"{who} trained on other documents disagree; on average they give this head and label "
            f"{percent(float(mean[word]))}"
        ]

    share = 1 / max(len(evidence), 1)
    # Lists: single items of arrays are slow, and every word is asked.
    voices = [
        (e.proposed_heads.tolist(), e.proposed_labels.tolist(), (share * e.proposed).tolist())
        for e in evidence.values()
    ]

    def votes(word: int) -> list[Vote]:
        return [
            Vote("arc", head, label, weight)
            for heads, labels, weights in voices
            for head, label, weight in zip(heads[word], labels[word], weights[word], strict=True)
            if head >= 0
        ]

    return Measurement(columns["mean"], columns, reasons, votes)


def conditional(words: FlatWords, crossfitted: Crossfitted) -> Measurement:
    """A low probability given all other annotated arcs, and a better tree that differs in this arc."""
    probability = _mean([e.conditional for e in crossfitted.parsers.values()], len(words))
    best_tree = _mean([e.best_tree for e in crossfitted.parsers.values()], len(words))

    def reasons(word: int) -> list[str]:
        lines = []
        if probability[word] < 0.1:
            share = percent(float(probability[word]))
            lines = [f"given all other arcs of the sentence, the parser gives this head and label {share}"]
        if best_tree[word] < 0.1:
            odds = times(float(best_tree[word]))
            lines.append(f"the best tree without this arc is {odds} as probable as the best one with it")
        return lines

    score = -log_odds(probability)
    return Measurement(score, {"given": score, "gap": -log_odds(best_tree)}, reasons)


def tags(words: FlatWords, crossfitted: Crossfitted) -> Measurement:
    """A low probability of the annotated UPOS under a tagger trained on other documents."""
    predicted, probability = crossfitted.tags.predicted, crossfitted.tags.probability
    annotated = np.array(words.upos, object)
    same = np.asarray(predicted == annotated, np.bool_)
    # Where the tagger predicts another tag, it gives the annotated one at most what remains.
    upos = np.where(same, probability, 1 - probability)
    upos = np.where((annotated == "_") | (predicted == "_"), np.nan, upos)
    score = -log_odds(upos)

    def reasons(word: int) -> list[str]:
        if not upos[word] < 0.5:
            return []
        return [
            f"a tagger trained on other documents reads it as {predicted[word]} "
            f"({percent(float(probability[word]))})"
        ]

    def votes(word: int) -> list[Vote]:
        if not upos[word] < 0.2:
            return []
        return [Vote("upos", value=str(predicted[word]), weight=float(probability[word]))]

    return Measurement(score, {"upos": score}, reasons, votes)


def thresholds(words: FlatWords, crossfitted: Crossfitted) -> Measurement:
    """A lower probability of the label than the same label has elsewhere (confident learning).

    Northcutt, Jiang & Chuang (2021): the threshold of a label is the mean probability that it gets where it
    is annotated; a word is doubtful if another label exceeds its threshold and the annotated label does not.
    """
    labels = words.labels
    label_probability = _mean([e.label for e in crossfitted.parsers.values()], len(words))
    threshold = label_thresholds(labels, label_probability)
    margins = []
    for e in crossfitted.parsers.values():
        other = np.array([threshold.get(str(label), 1.0) for label in e.other_label])
        mine = np.array([threshold.get(label, 1.0) for label in labels])
        margins.append((e.other_label_probability - other) - (e.label - mine))
    margin = _mean(margins, len(words))
    columns = {"margin": margin}

    def reasons(word: int) -> list[str]:
        if not margin[word] > 0.5:
            return []
        names = [str(e.other_label[word]) for e in crossfitted.parsers.values()]
        label = labels[word]
        return [
            f"its label has {percent(float(label_probability[word]))}, other words with {label} have "
            f"{percent(threshold.get(label, 0.0))} on average; {names[0]} exceeds its own average"
        ]

    return Measurement(4 * margin, columns, reasons)


def label_thresholds(labels: Sequence[str], probability: Floats) -> dict[str, float]:
    """The mean probability of each label where it is annotated.

    >>> label_thresholds(["obj", "obl", "obj"], np.array([1.0, 0.2, 0.5]))
    {'obj': 0.75, 'obl': 0.2}
    """
    sums: dict[str, list[float]] = {}
    for label, p in zip(labels, probability.tolist(), strict=True):
        if p == p:  # not NaN
            sums.setdefault(label, []).append(p)
    return {label: sum(values) / len(values) for label, values in sums.items()}


def _mean(columns: Sequence[Floats], words: int) -> Floats:
    if not columns:
        return np.full(words, np.nan)
    with warnings.catch_warnings():
        # Words without any evidence stay NaN.
        warnings.simplefilter("ignore", RuntimeWarning)
        return np.asarray(np.nanmean(np.stack(columns), axis=0))


def _extreme(columns: Sequence[Floats], words: int) -> Floats:
    """The highest probability that any parser gives."""
    if not columns:
        return np.full(words, np.nan)
    return np.asarray(np.fmax.reduce(np.stack(columns), axis=0))
