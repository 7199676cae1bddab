"""Learning from a reviewer's answers: rerank the words after some have been judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence

import numpy as np

from arcwise.mining.evidence import Floats
from arcwise.mining.mine import MiningResult
from arcwise.mining.precedents import lexical_kinds
from arcwise.mining.words import Codes, codes_of

_VARIANCE = 1.0
"""Prior variance of the log-odds that one kind of word adds."""
_ENOUGH = (1, 3)
"""Answers about words of one kind that are enough: of one lemma and label; of one label and pair of tags."""
_LONGEST = 8
"""Longer arcs count as this long."""
_ITERATIONS = 20
_TOLERANCE = 1e-6
"""Improvement of the objective below which Newton's method stops."""


class Adaptation:
    """Logistic regression that updates the log-odds of a mining result from a reviewer's answers.

    Each kind of word (lemma with label, label with the tags of word and head, kind of change and others) gets
    a correction with a Gaussian prior, so that sweeps (a guideline applied to a class of words) become
    learnable. The posterior
    mode is found by Newton's method in the space of the answers: a refit costs O(A³ + words) for A answers.
    The strengths of signals are not refitted: a reviewer sees only the strongest, and words that were judged
    because they are extreme tell little about ordinary ones.
    """

    def __init__(self, result: MiningResult) -> None:
        words, kinds = result.words, result.features.kinds
        self._log_odds = result.log_odds
        heads = words.head_index.tolist()
        lexical = lexical_kinds(words.lemmas, words.labels)
        head_labels = [words.labels[head] if head >= 0 else "" for head in heads]
        head_lemmas = [words.lemmas[head] if head >= 0 else "" for head in heads]
        lengths = np.minimum(np.abs(words.offset), _LONGEST).tolist()
        columns: list[Iterable[Hashable]] = [
            lexical,
            kinds["pair"],
            kinds["change"],
            words.deprels,
            zip(words.upos, words.labels, head_labels, strict=True),
            zip(words.labels, head_lemmas, strict=True),
            zip(lexical, words.head_upos, strict=True),
            zip(kinds["pair"], lengths, strict=True),
        ]
        self._kinds = [codes_of(column) for column in columns]

    @classmethod
    def from_arrays(cls, log_odds: Floats, kinds: Sequence[Codes]) -> Adaptation:
        """The model of some words: their log-odds, and their ``kinds_of``."""
        made = cls.__new__(cls)
        made._log_odds, made._kinds = log_odds, list(kinds)
        return made

    def kinds_of(self, words: Codes) -> list[Codes]:
        """The kinds of some words, renumbered, for ``from_arrays``."""
        return [np.unique(codes[words], return_inverse=True)[1] for codes in self._kinds]

    def questions(
        self,
        log_odds: Floats,
        answers: Collection[int],
        count: int,
        skipped: Collection[int] = (),
        *,
        spread: bool = False,
    ) -> list[int]:
        """The next words to ask about: the most suspicious ones, with ``spread`` only few of each kind.

        One answer about a lemma and label, or three about a label and the tags of its arc, tell most about
        the other words of the kind. Spread questions are more informative, but find fewer errors on the
        way. If no other kinds are left, the most suspicious words follow.
        """
        seen = {*answers, *skipped}
        counts = [Counter(codes[sorted(answers)].tolist()) for codes in self._kinds[: len(_ENOUGH)]]
        chosen: list[int] = []
        later: list[int] = []
        for word in map(int, np.argsort(-log_odds, kind="stable")):
            if len(chosen) == count or not np.isfinite(log_odds[word]):
                break
            if word in seen:
                continue
            kinds = [int(codes[word]) for codes in self._kinds[: len(_ENOUGH)]]
            if spread and any(
                of[kind] >= most for of, kind, most in zip(counts, kinds, _ENOUGH, strict=True)
            ):
                later.append(word)
                continue
            chosen.append(word)
            for of, kind in zip(counts, kinds, strict=True):
                of[kind] += 1
        return (chosen + later)[:count]

    def log_odds(self, answers: Mapping[int, bool]) -> Floats:
        """The log-odds of all words, given for some words whether they are errors."""
        if not answers:
            return self._log_odds
        asked = np.array(sorted(answers), np.int64)
        wrong = np.array([answers[int(word)] for word in asked], np.float64)
        weights = self._fit(asked, wrong)
        correction = np.zeros(len(self._log_odds))
        for codes in self._kinds:
            correction += _VARIANCE * np.bincount(codes[asked], weights, int(codes.max()) + 1)[codes]
        return np.asarray(self._log_odds + correction)

    def _fit(self, asked: Codes, wrong: Floats) -> Floats:
        """Dual weights of the answers: the correction of a word is its kernel with them, times these."""
        kernel = np.zeros((len(asked), len(asked)))
        for codes in self._kinds:
            kernel += _VARIANCE * (codes[asked][:, None] == codes[asked][None])
        offset = np.clip(self._log_odds[asked], -10, 10)
        weights: Floats = np.zeros(len(asked))
        value = _objective(kernel, offset, wrong, weights)
        for _ in range(_ITERATIONS):
            f = kernel @ weights
            p = 1 / (1 + np.exp(-(offset + f)))
            # Newton in the dual (Rasmussen & Williams 2006, section 3.4): (W⁻¹ + K) α = f + W⁻¹ (y - p).
            curvature = np.maximum(p * (1 - p), 1e-6)
            system = np.diag(1 / curvature) + kernel
            step = np.asarray(np.linalg.solve(system, f + (wrong - p) / curvature), np.float64) - weights
            # Where probabilities are near 0 or 1, a whole step may overshoot.
            size = 1.0
            while (new := _objective(kernel, offset, wrong, weights + size * step)) < value and size > 1e-3:
                size /= 2
            if new <= value + _TOLERANCE:
                break
            weights, value = weights + size * step, new
        return weights


def _objective(kernel: Floats, offset: Floats, wrong: Floats, weights: Floats) -> float:
    """Log-likelihood of the answers plus log-prior of the corrections."""
    f = kernel @ weights
    margins = np.where(wrong > 0, 1, -1) * (offset + f)
    return float(-np.logaddexp(0, -margins).sum() - 0.5 * weights @ f)
