"""Statistics of arcs and valency frames: surprisal of labels, attachments and frames."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from arcwise.mining.crossfit import Crossfitted
from arcwise.mining.evidence import Floats
from arcwise.mining.signal import Measurement
from arcwise.mining.words import Codes, FlatWords, codes_of, paired

CORE = frozenset({"nsubj", "obj", "iobj", "csubj", "ccomp", "xcomp", "expl", "cop", "aux"})
"""Labels that are part of valency frames."""
_STRENGTH = 5.0
"""Observations that the probability in a wider context is worth."""
_LENGTHS = (1, 2, 3, 5, 8, 13)


def held_out_probability(outcomes: Codes, contexts: Sequence[Codes]) -> Floats:
    """P(outcome | narrowest context) of each word, estimated from all other words.

    contexts: from wide to narrow. With n other words in a context, c of which have the outcome, and p' the
    probability in the next wider context, p = (c + s p') / (n + s); in the widest, p' is uniform.

    >>> held_out_probability(np.array([0, 0, 1]), [np.zeros(3, np.int64)]).round(3).tolist()
    [0.5, 0.5, 0.357]
    """
    count = len(np.unique(outcomes))
    probability = np.full(len(outcomes), 1 / max(count, 1))
    for context in contexts:
        n = np.bincount(context)[context] - 1
        both = paired(context, outcomes)
        c = np.bincount(both)[both] - 1
        probability = (c + _STRENGTH * probability) / (n + _STRENGTH)
    return probability


def frame(words: FlatWords, head: int) -> tuple[str, ...]:
    """The valency frame of a word: the core labels of its dependents, sorted, repeated ones repeated."""
    return tuple(sorted(words.labels[child] for child in words.children[head] if words.labels[child] in CORE))


def frames(words: FlatWords, crossfitted: Crossfitted) -> Measurement:
    """An unusual label, attachment or valency frame for these words and tags in this treebank."""
    tables = _tables(words)
    annotated = words.heads >= 0
    columns = {
        name: np.where(annotated, -np.log(held_out_probability(*table)), np.nan)
        for name, table in tables.items()
    }
    columns["frame"] = np.where(
        np.array([label in CORE for label in words.labels], np.bool_), _frame_surprisal(words), np.nan
    )
    narrow = tables["marker"][1][-1]
    # Log-odds as if a probability of 1 % were even: most unusual arcs are right.
    score = columns["marker"] + np.log(0.01)

    def reasons(word: int) -> list[str]:
        if not columns["marker"][word] > 2.5:
            return []
        same = np.flatnonzero(narrow == narrow[word])
        counts = Counter(words.labels[int(i)] for i in same)
        label, count = counts.most_common(1)[0]
        if len(same) < 5 or label == words.labels[word]:
            return []
        label_here = words.labels[word]
        tags = f"{words.upos[word]} under {words.head_upos[word]}"
        marker = _marker(words, word)
        with_marker = f" with “{marker}”" if marker else ""
        return [
            f"of {len(same)} {tags}{with_marker} {count} have {label} and {counts[label_here]} {label_here}"
        ]

    return Measurement(score, columns, reasons)


def _tables(words: FlatWords) -> dict[str, tuple[Codes, list[Codes]]]:
    """Name → outcomes and contexts, from wide to narrow."""
    labels, upos, head_upos = (codes_of(column) for column in (words.labels, words.upos, words.head_upos))
    lemmas = codes_of(words.lemmas)
    side = (np.sign(words.offset) + 1).astype(np.int64)
    everything = np.zeros(len(words), np.int64)
    pair = paired(upos, head_upos)
    sided = paired(pair, side)
    markers = codes_of(_marker(words, word) for word in range(len(words)))
    distance = np.searchsorted(_LENGTHS, np.abs(words.offset)).astype(np.int64)
    place = paired(paired(head_upos, side), distance)
    labelled = paired(upos, labels)
    return {
        "label": (labels, [everything, upos, pair, sided, paired(sided, lemmas)]),
        "marker": (labels, [everything, upos, pair, paired(pair, markers)]),
        "attachment": (place, [everything, upos, labelled, paired(labelled, lemmas)]),
    }


def _marker(words: FlatWords, word: int) -> str:
    """The lemmas of the adpositions, conjunctions and complementisers that depend on a word."""
    return " ".join(words.lemmas[c] for c in words.children[word] if words.labels[c] in ("case", "mark"))


def _frame_surprisal(words: FlatWords) -> Floats:
    frames_of = [frame(words, word) for word in range(len(words))]
    upos = codes_of(words.upos)
    lemmas = paired(upos, codes_of(words.lemmas))
    everything = np.zeros(len(words), np.int64)
    surprisal = -np.log(held_out_probability(codes_of(frames_of), [everything, upos, lemmas]))
    return np.where(words.head_index >= 0, surprisal[words.head_index], np.nan)
