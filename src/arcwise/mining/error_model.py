"""``ErrorModel``: the probability of an error from the features of a word, learned from treebanks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from arcwise.mining.boosting import BoostedTrees
from arcwise.mining.evidence import Floats
from arcwise.mining.features import ErrorFeatures
from arcwise.mining.history import RevisionHistory
from arcwise.mining.logistic import LogisticRegression
from arcwise.mining.ranks import log_ranks, log_ranks_within

if TYPE_CHECKING:
    from typing import Self

Header = Mapping[str, Any]
Arrays = Mapping[str, npt.NDArray[Any]]
_WITHIN = ("parsers.mean", "conditional.given", "labels.given", "frames.marker")
"""Numbers that are also ranked among the words of the same kind."""
_GROUPS = ("label", "pair")
_CONTEXT = ("arc.", "sentence.")
"""Prefixes of numbers that are no evidence by themselves, so that their weights may have any sign."""
_PRIOR = 30.0
"""Number of words at which a kind's error rate counts as much as the rate of all kinds."""
_RULES = ("tree_rule", "word_rule")
"""Kinds that name the validation rule a word breaks; an empty string for words that break none."""
_ADDED = "tree_rule"
"""The kind whose rate is added to the log-odds: words that break a rule are too few for a weight of it."""
_REPLACED = "rules."
"""Prefix of features that the model ignores: a rule's error rate is more informative than its severity."""
_UNSEEN_RULE = "*"
"""Category of rules that no treebank with a history breaks."""
_RULE_PRIOR = 2.0
"""Number of words at which a rule's error rate counts as much as the rate of all words."""
_RULE_WORDS = 5.0
"""Words of a rule at which a treebank counts half as much as one with many."""
_ALL_RULES = 0.5
"""Weight of the average over all rules, in treebanks."""


@dataclass(frozen=True)
class ErrorModel:
    """The mean of a logistic regression and of boosted trees.

    Both read the signals as log-ranks within the treebank, and the error rate of each kind of word in other
    treebanks. The regression transfers to other languages; the trees model interactions. For words that break
    a rule about trees, the log-odds rise by as much as in other treebanks.
    """

    regression: LogisticRegression
    trees: BoostedTrees
    numbers: tuple[str, ...]
    """The numbers that both models read, in this order, before the kinds."""
    rates: Mapping[str, Mapping[str, float]]
    """Feature → category → log ratio of its rate of errors to that of all words."""

    @classmethod
    def train(
        cls, histories: Mapping[str, RevisionHistory], *, rounds: int = 60, depth: int = 2, seed: int = 1
    ) -> ErrorModel:
        """Train on treebanks whose errors are known; each treebank has the same weight."""
        columns = next(iter(histories.values())).features.numbers
        numbers = tuple(name for name in columns if not name.startswith(_REPLACED))
        wrong = np.concatenate([h.revised[h.compared] for h in histories.values()])
        weights = np.concatenate([h.weights for h in histories.values()])
        values = np.concatenate(
            [
                _matrix(h.features, numbers, _rates_of_others(histories, name))[h.compared]
                for name, h in histories.items()
            ]
        )
        evidence = _is_evidence(numbers, values)
        regression = LogisticRegression.fit(values, wrong, weights, positive=evidence)
        trees = BoostedTrees.fit(
            values,
            wrong,
            weights,
            rising=evidence,
            rounds=rounds,
            depth=depth,
            rate=0.08,
            penalty=100,
            seed=seed,
        )
        return cls(regression, trees, numbers, _rates(histories))

    def log_odds(self, features: ErrorFeatures) -> Floats:
        """The log-odds of an error for every word."""
        values = _matrix(features, self.numbers, self.rates)
        log_odds = (self.regression.predict(values) + self.trees.predict(values)) / 2
        if _ADDED in self.rates:
            log_odds += _rate_column(features, _ADDED, self.rates[_ADDED])
        return np.asarray(log_odds)

    def pack(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """A header and arrays of plain values."""
        header = {
            "numbers": list(self.numbers),
            "rates": {name: dict(table) for name, table in self.rates.items()},
            "biases": [self.regression.bias, self.trees.bias],
            "edges": [len(edges) for edges in self.trees.edges],
        }
        arrays = {
            "weights": self.regression.weights.astype(np.float32),
            "edges": np.concatenate([np.zeros(0), *self.trees.edges]).astype(np.float32),
            "features": self.trees.features,
            "bins": self.trees.bins,
            "leaves": self.trees.leaves.astype(np.float32),
        }
        return header, arrays

    @classmethod
    def unpack(cls, header: Header, arrays: Arrays) -> Self:
        """Restore a model; raises ``KeyError``, ``TypeError`` and the like if the values are damaged."""
        ends = np.cumsum(header["edges"])[:-1]
        edges = [part.astype(np.float64) for part in np.split(np.asarray(arrays["edges"]), ends)]
        regression = LogisticRegression(np.asarray(arrays["weights"], np.float64), float(header["biases"][0]))
        trees = BoostedTrees(
            edges,
            np.asarray(arrays["features"]),
            np.asarray(arrays["bins"]),
            np.asarray(arrays["leaves"], np.float64),
            float(header["biases"][1]),
        )
        return cls(regression, trees, tuple(header["numbers"]), header["rates"])


def _matrix(
    features: ErrorFeatures, numbers: Sequence[str], rates: Mapping[str, Mapping[str, float]]
) -> Floats:
    """The columns that the models read: log-ranks, log-ranks among words of the same kind, rates of kinds."""
    count = features.count
    unknown = np.full(count, np.nan)
    # Punctuation is ranked among the other words: histories say nothing about it.
    reference = features.is_word if features.is_word.any() else np.ones(count, np.bool_)
    columns = [log_ranks(features.numbers.get(name, unknown), reference) for name in numbers]
    for name in _WITHIN:
        values = features.numbers.get(name, unknown)
        columns += [log_ranks_within(values, features.kinds[group]) for group in _groups(features)]
    columns += [_rate_column(features, name, table) for name, table in rates.items() if name != _ADDED]
    return np.stack(columns, axis=1)


def _rate_column(features: ErrorFeatures, name: str, table: Mapping[str, float]) -> Floats:
    """The rate of each word's category; 0 without a category."""
    unseen = table.get(_UNSEEN_RULE, 0.0)
    # A combiner of an earlier version may know kinds that signals no longer have.
    kinds = features.kinds.get(name, [""] * features.count)
    return np.array([table.get(kind, unseen) if kind else 0.0 for kind in kinds], np.float64)


def _groups(features: ErrorFeatures) -> list[str]:
    return [group for group in _GROUPS if group in features.kinds]


def _is_evidence(numbers: Sequence[str], values: Floats) -> npt.NDArray[np.bool_]:
    evidence = np.ones(values.shape[1], np.bool_)
    evidence[: len(numbers)] = [not name.startswith(_CONTEXT) for name in numbers]
    return evidence


def _rates(histories: Mapping[str, RevisionHistory]) -> dict[str, dict[str, float]]:
    """Log ratio of the error rate of each kind to that of all words, averaged over treebanks."""
    tables: dict[str, dict[str, float]] = {}
    for name in next(iter(histories.values())).features.kinds:
        if name in _RULES:
            tables[name] = _rule_rates(histories.values(), name)
            continue
        sums: dict[str, list[float]] = defaultdict(list)
        for history in histories.values():
            for kind, ratio in _ratios(history, name).items():
                sums[kind].append(ratio)
        # Divided by one more than the number of treebanks: a single one may follow a special guideline.
        tables[name] = {kind: sum(values) / (len(values) + 1) for kind, values in sorted(sums.items())}
    return tables


def _rule_rates(histories: Iterable[RevisionHistory], name: str) -> dict[str, float]:
    """The increase in the log-odds of an error if a word breaks a rule: a mean over treebanks, at least 0.

    Treebanks in which few words break the rule count less; rules of few treebanks are drawn to the average.
    """
    rises: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for history in histories:
        wrong, total = _counts(history, name)
        base = _clipped(sum(wrong.values()) / max(sum(total.values()), 1))
        for rule, count in total.items():
            if rule:
                rate = (wrong[rule] + _RULE_PRIOR * base) / (count + _RULE_PRIOR)
                rise = float(np.log(rate / (1 - rate)) - np.log(base / (1 - base)))
                rises[rule].append((rise, count / (count + _RULE_WORDS)))
    everything = [pair for pairs in rises.values() for pair in pairs]
    average = sum(r * w for r, w in everything) / max(sum(w for _, w in everything), 1e-9)
    means = {_UNSEEN_RULE: average}
    for rule, pairs in sorted(rises.items()):
        total_weight = _ALL_RULES + sum(w for _, w in pairs)
        means[rule] = (_ALL_RULES * average + sum(r * w for r, w in pairs)) / total_weight
    return {rule: round(max(mean, 0.0), 4) for rule, mean in means.items()}


def _clipped(rate: float) -> float:
    return min(max(rate, 1e-4), 1 - 1e-4)


def _counts(history: RevisionHistory, name: str) -> tuple[dict[str, int], dict[str, int]]:
    """The numbers of wrong words and of all compared words of each kind."""
    wrong: dict[str, int] = defaultdict(int)
    total: dict[str, int] = defaultdict(int)
    for word in np.flatnonzero(history.compared).tolist():
        kind = history.features.kinds[name][word]
        total[kind] += 1
        wrong[kind] += bool(history.revised[word])
    return wrong, total


def _ratios(history: RevisionHistory, name: str) -> dict[str, float]:
    wrong, total = _counts(history, name)
    base = max(sum(wrong.values()), 1) / max(sum(total.values()), 1)
    return {
        kind: round(float(np.log((wrong[kind] + _PRIOR * base) / (count + _PRIOR) / base)), 4)
        for kind, count in total.items()
    }


def _rates_of_others(histories: Mapping[str, RevisionHistory], name: str) -> dict[str, dict[str, float]]:
    """The rates of the other treebanks, as they will be known of a treebank without a history."""
    others = {other: history for other, history in histories.items() if other != name}
    return _rates(others) if others else {kind: {} for kind in histories[name].features.kinds}
