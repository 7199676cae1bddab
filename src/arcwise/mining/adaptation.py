"""Learning from answers: the ranking after a reviewer has judged some of the words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from arcwise.mining.evidence import Floats
from arcwise.mining.mine import MiningResult
from arcwise.mining.words import Codes, codes_of

_KIND_VARIANCE = 0.5
"""Prior variance of the log-odds that one kind of word adds."""
_NUMBER_VARIANCE = 0.05
"""Prior variance of the weight of one (standardised) number."""
_ITERATIONS = 12


class Adaptation:
    """A logistic model of the answers on top of the log-odds of a result.

    Each kind of word (label, tag, lemma with label, kind of change, …) and each number gets a correction with
    a Gaussian prior; the posterior mode is found by Newton's method in the space of the answers, so that a
    refit costs O(A³ + words) for A answers. Sweeps (a guideline applied to a class of words) become learnable
    in this way.
    """

    def __init__(self, result: MiningResult) -> None:
        self._log_odds = result.log_odds
        self._kinds = _kind_codes(result)
        self._numbers = _standardised(result.features.numbers)

    @classmethod
    def from_arrays(cls, log_odds: Floats, kinds: Sequence[Codes], numbers: Floats) -> Adaptation:
        """The model of some words: their log-odds, and their ``features_of``."""
        made = cls.__new__(cls)
        made._log_odds, made._kinds, made._numbers = log_odds, list(kinds), numbers
        return made

    def features_of(self, words: Codes) -> tuple[list[Codes], Floats]:
        """Kinds, numbered anew, and numbers of some words, for ``from_arrays``."""
        kinds = [np.unique(codes[words], return_inverse=True)[1] for codes in self._kinds]
        return kinds, self._numbers[words]

    def log_odds(self, answers: Mapping[int, bool]) -> Floats:
        """The log-odds of all words, given for some words whether they are errors."""
        if not answers:
            return self._log_odds
        asked = np.array(sorted(answers), np.int64)
        wrong = np.array([answers[int(word)] for word in asked], np.float64)
        weights = self._fit(asked, wrong)
        correction = np.full(len(self._log_odds), _KIND_VARIANCE * weights.sum())
        for codes in self._kinds:
            correction += _KIND_VARIANCE * np.bincount(codes[asked], weights, int(codes.max()) + 1)[codes]
        correction += _NUMBER_VARIANCE * (self._numbers @ (self._numbers[asked].T @ weights))
        return np.asarray(self._log_odds + correction)

    def _fit(self, asked: Codes, wrong: Floats) -> Floats:
        """Dual weights of the answers: the correction of a word is its kernel with them, times these."""
        kernel = np.full((len(asked), len(asked)), _KIND_VARIANCE)
        for codes in self._kinds:
            kernel += _KIND_VARIANCE * (codes[asked][:, None] == codes[asked][None])
        kernel += _NUMBER_VARIANCE * self._numbers[asked] @ self._numbers[asked].T
        offset = np.clip(np.nan_to_num(self._log_odds[asked], neginf=-10.0), -10, 10)
        weights = np.zeros(len(asked))
        for _ in range(_ITERATIONS):
            f = kernel @ weights
            p = 1 / (1 + np.exp(-(offset + f)))
            # Newton in the dual (Rasmussen & Williams 2006, section 3.4): (W⁻¹ + K) α = f + W⁻¹ (y - p).
            curvature = np.maximum(p * (1 - p), 1e-6)
            system = np.diag(1 / curvature) + kernel
            weights = 0.5 * weights + 0.5 * np.linalg.solve(system, f + (wrong - p) / curvature)
        return weights


def _kind_codes(result: MiningResult) -> list[Codes]:
    words = result.words
    kinds = [codes_of(values) for values in result.features.kinds.values()]
    kinds.append(codes_of(zip(words.lemmas, words.labels, strict=True)))
    head_lemmas = [words.lemmas[h] if h >= 0 else "" for h in words.head_index.tolist()]
    kinds.append(codes_of(zip(head_lemmas, words.labels, strict=True)))
    kinds.append(codes_of(words.deprels))
    return kinds


def _standardised(numbers: Mapping[str, Floats]) -> Floats:
    columns = []
    for column in numbers.values():
        finite = column[np.isfinite(column)]
        if len(finite) and finite.std() > 0:
            columns.append(np.clip(np.nan_to_num((column - finite.mean()) / finite.std()), -4, 4))
    count = len(next(iter(numbers.values())))
    return np.stack(columns, axis=1) if columns else np.zeros((count, 0))
