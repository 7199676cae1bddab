"""Plausible annotation errors, planted in a treebank."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import numpy.typing as npt

from arcwise.mining.evidence import universal
from arcwise.treebanks import Treebank

Flags = npt.NDArray[np.bool_]


def with_planted_errors(treebank: Treebank, share: float, seed: int = 1) -> tuple[Treebank, Flags]:
    """A treebank with wrong heads and wrong labels at this share of the words each, and where they are.

    Plausible ones: a word moves to its head's head or to a sibling; a label becomes another one of words with
    the same tag whose heads have the same tag, as often as these have it.
    """
    random = np.random.default_rng(seed)
    heads, labels, upos = np.array(treebank.heads), treebank.column("deprel"), treebank.column("upos")
    starts = treebank.sentence_words.astype(int)
    sentence = np.repeat(np.arange(len(treebank)), treebank.sentence_lengths)
    index = np.where(heads > 0, starts[sentence] + heads - 1, -1)
    usual: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    kinds = [(upos[w], upos[h] if h >= 0 else "") for w, h in enumerate(index)]
    for kind, label in zip(kinds, labels, strict=True):
        usual[kind][label] += 1
    planted = np.zeros(len(labels), np.bool_)
    words = [int(w) for w in random.permutation(len(labels)) if upos[int(w)] != "PUNCT" and index[w] >= 0]
    wanted = int(share * len(words))
    for word in words[: 3 * wanted]:
        if planted.sum() >= wanted:
            break
        siblings = np.flatnonzero((index == index[word]) & (np.arange(len(labels)) != word))
        above = index[index[word]]
        targets = [int(w) for w in (*siblings, above) if w >= 0 and upos[int(w)] != "PUNCT"]
        # Whole sentences without another planted word, so that moving one word never closes a cycle.
        if targets and not planted[starts[sentence[word]] : starts[sentence[word] + 1]].any():
            heads[word] = random.choice(targets) - starts[sentence[word]] + 1
            planted[word] = True
    changed = 0
    for word in words[3 * wanted :]:
        others = [
            (label, n)
            for label, n in usual[kinds[word]].items()
            if universal(label) != universal(labels[word])
        ]
        if others and changed < wanted and not planted[word]:
            counts = np.array([n for _, n in others], np.float64)
            labels[word] = others[int(random.choice(len(others), p=counts / counts.sum()))][0]
            planted[word], changed = True, changed + 1
    return treebank.annotate(heads=heads.astype(np.int32), deprel=labels), planted
