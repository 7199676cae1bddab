"""Labels given the rest of the tree: a log-linear classifier, cross-fitted like the parsers.

Parsers score arcs one by one. This classifier sees the annotated tree around a word (its head, dependents and
siblings, with their labels), which tells more about a label than a parser can use.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arcwise.mining.crossfit import Crossfitted
from arcwise.mining.evidence import Floats
from arcwise.mining.signal import Measurement, Vote, log_odds, percent
from arcwise.mining.words import Codes, FlatWords, codes_of

_BITS = 18
_EPOCHS, _BATCH, _RATE = 3, 256, 0.3
_LENGTHS = (1, 2, 3, 5, 8, 13)

_TEMPLATES = (
    "upos head_upos side", "upos head_upos distance", "lemma", "lemma side", "lemma head_lemma",
    "form upos", "upos head_lemma side", "feats upos", "feats head_upos upos", "children upos",
    "children head_upos", "markers upos head_upos", "markers lemma", "markers head_lemma",
    "siblings upos head_upos", "siblings lemma", "siblings side upos", "head_label upos head_upos",
    "head_label lemma", "head_label side upos", "before upos head_upos", "after upos head_upos",
    "before after upos", "head_feats upos", "grand_upos upos", "ending upos",
)  # fmt: skip
"""Columns whose joint value is a feature."""

Ids = npt.NDArray[np.int64]
Matrix = npt.NDArray[np.float32]


def feature_ids(words: FlatWords) -> Ids:
    """The hashed features of every word, shape (W, templates); no feature reads the word's own label."""
    columns = _columns(words)
    ids = np.zeros((len(words), len(_TEMPLATES)), np.int64)
    for number, template in enumerate(_TEMPLATES):
        hashed = np.full(len(words), number + 1, np.uint64)
        for name in template.split():
            # Multiplicative hashing of 64 bits; unsigned integers wrap around.
            hashed = (hashed ^ columns[name].astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
            hashed ^= hashed >> np.uint64(29)
        ids[:, number] = (hashed >> np.uint64(64 - _BITS)).astype(np.int64)
    return ids


def _columns(words: FlatWords) -> dict[str, Codes]:
    head = words.head_index
    codes = {
        "form": codes_of(words.lower),
        "lemma": codes_of(words.lemmas),
        "upos": codes_of(words.upos),
        "feats": codes_of(words.feats),
        "ending": codes_of(form[-3:] for form in words.lower),
    }
    labels = words.labels
    children = words.children
    codes["label"] = codes_of(labels)
    codes["children"] = codes_of(tuple(sorted({labels[c] for c in of})) for of in children)
    codes["markers"] = codes_of(
        tuple(words.lemmas[c] for c in of if labels[c] in ("case", "mark", "cc")) for of in children
    )
    codes["siblings"] = codes_of(
        tuple(sorted({labels[c] for c in children[h] if c != word})) if h >= 0 else ()
        for word, h in enumerate(head.tolist())
    )
    codes["side"] = np.sign(words.offset) + 1
    codes["distance"] = np.searchsorted(_LENGTHS, np.abs(words.offset)) * 3 + codes["side"]
    for name in ("upos", "lemma", "feats", "label"):
        codes[f"head_{name}"] = _at(codes[name], head)
    codes["grand_upos"] = _at(codes["upos"], _at(head, head) - 1)
    neighbours = np.arange(len(words))
    codes["before"] = _at(codes["lemma"], np.where(words.position > 1, neighbours - 1, -1))
    last = words.position == words.treebank.sentence_lengths[words.sentence]
    codes["after"] = _at(codes["lemma"], np.where(last, -1, neighbours + 1))
    return codes


def _at(column: Codes, places: Codes) -> Codes:
    """The value at each place plus 1; 0 for place -1."""
    return np.where(places >= 0, column[np.maximum(places, 0)] + 1, 0)


@dataclass(frozen=True)
class Labeller:
    """A softmax over labels, linear in hashed features."""

    weights: Matrix

    @classmethod
    def train(cls, ids: Ids, labels: Codes, count: int, *, seed: int = 1) -> Labeller:
        """Minimise the log loss with AdaGrad over minibatches; ``count``: number of labels."""
        weights = np.zeros((1 << _BITS, count), np.float32)
        squares = np.full(1 << _BITS, 1e-3, np.float32)
        random = np.random.default_rng(seed)
        model = cls(weights)
        for epoch in range(_EPOCHS):
            order = random.permutation(len(ids))
            rate = np.float32(_RATE * (1 - epoch / _EPOCHS))
            for first in range(0, len(ids), _BATCH):
                batch = order[first : first + _BATCH]
                gradient = model.probabilities(ids[batch])
                gradient[np.arange(len(batch)), labels[batch]] -= 1
                rows, sums = _row_sums(ids[batch], gradient)
                squares[rows] += (sums**2).sum(axis=1)
                weights[rows] -= rate * sums / np.sqrt(squares[rows])[:, None]
        return model

    def probabilities(self, ids: Ids) -> Matrix:
        """P(label) of each row, shape (rows, labels)."""
        scores = self.weights[ids].sum(axis=1)
        scores -= scores.max(axis=1, keepdims=True)
        np.exp(scores, out=scores)
        return np.asarray(scores / scores.sum(axis=1, keepdims=True))


def _row_sums(ids: Ids, gradient: Matrix) -> tuple[Ids, Matrix]:
    """The distinct features of a batch, and the sum of the gradients of the words that have them."""
    flat = ids.ravel()
    order = np.argsort(flat, kind="stable")
    rows, starts = np.unique(flat[order], return_index=True)
    return rows, np.add.reduceat(gradient[order // ids.shape[1]], starts, axis=0)


def labels_given_tree(words: FlatWords, crossfitted: Crossfitted) -> Measurement:
    """A low probability of the label given the rest of the annotated tree."""
    names = list(dict.fromkeys(words.labels))
    numbers = codes_of(words.labels)
    here, best, best_probability = _crossfitted(words, crossfitted, numbers, len(names))
    score = -log_odds(here)

    def reasons(word: int) -> list[str]:
        if not here[word] < 0.2:
            return []
        return [
            f"given the rest of the tree, {words.labels[word]} has {percent(float(here[word]))} and "
            f"{names[int(best[word])]} {percent(float(best_probability[word]))}"
        ]

    def votes(word: int) -> list[Vote]:
        if not here[word] < 0.5:
            return []
        return [Vote("arc", int(words.heads[word]), names[int(best[word])], float(best_probability[word]))]

    return Measurement(score, {"given": score, "best": log_odds(best_probability)}, reasons, votes)


def _crossfitted(
    words: FlatWords, crossfitted: Crossfitted, numbers: Codes, count: int
) -> tuple[Floats, Codes, Floats]:
    """P(annotated label), the best other label and its probability, from classifiers of the other folds."""
    here, best_probability = np.full(len(words), np.nan), np.full(len(words), np.nan)
    best = np.zeros(len(words), np.int64)
    folds = crossfitted.folds[words.sentence]
    usable = (words.heads >= 0) & np.array([label != "_" for label in words.labels], np.bool_)
    if count < 2 or len(np.unique(folds)) < 2 or not usable.any():
        return here, best, best_probability
    ids = feature_ids(words)
    for fold in np.unique(folds).tolist():
        train, held_out = (np.flatnonzero(usable & flag) for flag in (folds != fold, folds == fold))
        if not len(train) or not len(held_out):
            continue
        model = Labeller.train(ids[train], numbers[train], count)
        for part in np.array_split(held_out, len(held_out) // 4096 + 1):
            p = model.probabilities(ids[part]).astype(np.float64)
            rows = np.arange(len(part))
            here[part] = p[rows, numbers[part]]
            p[rows, numbers[part]] = -1
            best[part] = p.argmax(axis=1)
            best_probability[part] = p[rows, best[part]]
    return here, best, best_probability
