"""Damaged copies of treebanks: what a system might have made of them, with a seed."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from arcwise import Treebank

Heads = npt.NDArray[np.int32]


def damaged(treebank: Treebank, *, seed: int, share: float = 0.15) -> Treebank:
    """Heads, labels, tags, features and lemmas changed at random. A sentence with one root keeps a tree with
    one root."""
    random = np.random.default_rng(seed)
    columns = {
        name: _shuffled(treebank.column(name), random, share)
        for name in ("deprel", "upos", "xpos", "feats", "lemma")
    }
    return treebank.annotate(heads=_moved_heads(treebank, random, share), **columns)


def _shuffled(values: list[str], random: np.random.Generator, share: float) -> list[str]:
    """Some values replaced by others that occur."""
    chosen = random.random(len(values)) < share
    others = random.integers(0, len(values), len(values))
    return [values[o] if c else v for v, c, o in zip(values, chosen, others, strict=True)]


def _moved_heads(treebank: Treebank, random: np.random.Generator, share: float) -> Heads:
    """Some words hung elsewhere, never below themselves."""
    heads = np.array(treebank.heads)
    cuts = treebank.sentence_words.tolist()
    for first, last in pairwise(cuts):
        own = heads[first:last]
        for word in np.flatnonzero(random.random(last - first) < share) + 1:
            if own[word - 1] > 0:
                new = int(random.integers(1, last - first + 1))
                if word not in _chain(own, new):
                    own[word - 1] = new
    return heads


def _chain(heads: Heads, word: int) -> set[int]:
    """A word and all its forebears."""
    found: set[int] = set()
    while word > 0 and word not in found:
        found.add(word)
        word = int(heads[word - 1])
    return found
