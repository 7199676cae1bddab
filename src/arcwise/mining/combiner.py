"""``Combiner``: a small calibrated model that turns the signals into the probability of an error."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from arcwise.errors import ModelError
from arcwise.learning.model_file import Packed, read_model, write_model
from arcwise.mining.boosting import BoostedTrees
from arcwise.mining.evidence import Floats
from arcwise.mining.features import ErrorFeatures
from arcwise.mining.logistic import LogisticRegression
from arcwise.mining.precedents import Precedents, PrecedentsOfWords, lexical_kinds
from arcwise.mining.ranks import log_ranks, log_ranks_within
from arcwise.mining.revisions import Revisions
from arcwise.treebanks.files import PathLike

if TYPE_CHECKING:
    from typing import Self

SHIPPED = Path(__file__).parent / "combiner.arcwise"
SWEPT = 0.2
"""Weight of words that were revised in a sweep: a new guideline of one treebank says little about others."""
TREEBANK_WEIGHT = 10_000.0
"""Total weight of a treebank in training, whatever its size."""
_WITHIN = ("parsers.mean", "conditional.given", "labels.given", "frames.marker")
"""Numbers that are also ranked among the words of the same kind."""
_GROUPS = ("label", "pair")
_CONTEXT = ("arc.", "sentence.")
"""Prefixes of numbers that are no evidence by themselves, so that their weights may have any sign."""
_PRIOR = 30.0
"""Words of a kind at which its own rate of errors counts as much as the rate of all kinds."""


@dataclass(frozen=True)
class RevisionHistory:
    """The features of a treebank, and which of its words its maintainers corrected later."""

    features: ErrorFeatures
    compared: npt.NDArray[np.bool_]
    revised: npt.NDArray[np.bool_]
    swept: npt.NDArray[np.bool_]
    """Revised words that belong to a sweep."""
    relabelled: Sequence[str] = ()
    """The new label of each revised word that kept its head, else an empty string."""

    @classmethod
    def of(cls, features: ErrorFeatures, revisions: Revisions) -> RevisionHistory:
        """The history of a treebank whose features were measured on the older release."""
        swept = revisions.revised & ~revisions.scattered
        relabelled = np.where(revisions.revised & ~revisions.moved, revisions.labels, "").tolist()
        return cls(features, revisions.compared, revisions.revised, swept, relabelled)

    def precedents(self, treebank: str) -> Precedents | None:
        """What was revised here, as precedents for other treebanks of the language; None without lemmas."""
        if not self.features.lemmas or not self.relabelled:
            return None
        kinds = lexical_kinds(self.features.lemmas, self.features.kinds["label"])
        compared = np.flatnonzero(self.compared).tolist()
        fates = ((word, bool(self.revised[word]), self.relabelled[word]) for word in compared)
        return Precedents.of(treebank, kinds, self.features.lemmas, fates)

    @property
    def weights(self) -> Floats:
        """The weight of each compared word."""
        count = max(int(self.compared.sum()), 1)
        return np.where(self.swept[self.compared], SWEPT, 1.0) * TREEBANK_WEIGHT / count


@dataclass(frozen=True)
class Combiner:
    """The mean of a logistic regression and of boosted trees, plus precedents of the same language.

    Both read the signals as log-ranks within the treebank, and how often each kind of word was wrong in other
    treebanks. The regression carries over to treebanks of other languages, the trees see interactions.
    Precedents add what was revised in other treebanks of the language, by lemma and label.
    """

    kind: ClassVar[str] = "error-combiner"
    version: ClassVar[int] = 2

    regression: LogisticRegression
    trees: BoostedTrees
    numbers: tuple[str, ...]
    """The numbers that both models read, in this order, before the kinds."""
    rates: Mapping[str, Mapping[str, float]]
    """Feature → category → log ratio of its rate of errors to that of all words."""
    trained_on: tuple[str, ...] = ()
    precedents: tuple[Precedents, ...] = field(default=(), repr=False)

    @classmethod
    def train(
        cls, histories: Mapping[str, RevisionHistory], *, rounds: int = 100, depth: int = 3, seed: int = 1
    ) -> Combiner:
        """Train on treebanks whose errors are known; each treebank has the same weight."""
        numbers = tuple(next(iter(histories.values())).features.numbers)
        wrong = np.concatenate([h.revised[h.compared] for h in histories.values()])
        weights = np.concatenate([h.weights for h in histories.values()])
        values = np.concatenate(
            [
                _matrix(h.features, numbers, _rates_of_others(histories, name))[h.compared]
                for name, h in histories.items()
            ]
        )
        regression = LogisticRegression.fit(values, wrong, weights, positive=_is_evidence(numbers, values))
        trees = BoostedTrees.fit(values, wrong, weights, rounds=rounds, depth=depth, rate=0.08, seed=seed)
        precedents = (history.precedents(name) for name, history in histories.items())
        return cls(
            regression,
            trees,
            numbers,
            _rates(histories),
            tuple(histories),
            tuple(of_treebank for of_treebank in precedents if of_treebank is not None),
        )

    def log_odds(self, features: ErrorFeatures) -> Floats:
        """The log-odds of an error for every word."""
        values = _matrix(features, self.numbers, self.rates)
        log_odds = (self.regression.predict(values) + self.trees.predict(values)) / 2
        return self.precedents_of(features).add_to(np.asarray(log_odds))

    def precedents_of(self, features: ErrorFeatures) -> PrecedentsOfWords:
        """The precedents that apply to these words."""
        return PrecedentsOfWords.of(self.precedents, features.lemmas, features.kinds.get("label", []))

    def pack(self) -> Packed:
        """The combiner as plain values."""
        header = {
            "numbers": list(self.numbers),
            "rates": {name: dict(table) for name, table in self.rates.items()},
            "biases": [self.regression.bias, self.trees.bias],
            "edges": [len(edges) for edges in self.trees.edges],
            "trained_on": list(self.trained_on),
            "precedents": {of_treebank.treebank: of_treebank.pack() for of_treebank in self.precedents},
        }
        arrays = {
            "weights": self.regression.weights.astype(np.float32),
            "edges": np.concatenate([np.zeros(0), *self.trees.edges]).astype(np.float32),
            "features": self.trees.features,
            "bins": self.trees.bins,
            "leaves": self.trees.leaves.astype(np.float32),
        }
        return Packed(self.kind, self.version, header, arrays)

    @classmethod
    def unpack(cls, packed: Packed) -> Self:
        """Restore a combiner."""
        packed.expect(cls.kind, cls.version)
        header, arrays = packed.header, packed.arrays
        try:
            ends = np.cumsum(header["edges"])[:-1]
            edges = [part.astype(np.float64) for part in np.split(np.asarray(arrays["edges"]), ends)]
            regression = LogisticRegression(
                np.asarray(arrays["weights"], np.float64), float(header["biases"][0])
            )
            trees = BoostedTrees(
                edges,
                np.asarray(arrays["features"]),
                np.asarray(arrays["bins"]),
                np.asarray(arrays["leaves"], np.float64),
                float(header["biases"][1]),
            )
            numbers, rates = tuple(header["numbers"]), header["rates"]
            precedents = tuple(Precedents.unpack(name, of) for name, of in header["precedents"].items())
            return cls(regression, trees, numbers, rates, tuple(header["trained_on"]), precedents)
        except (AttributeError, KeyError, TypeError, ValueError, IndexError) as error:
            raise ModelError(f"the combiner of error signals is damaged ({error})") from error

    def save(self, path: PathLike) -> None:
        """Write the combiner to a file, atomically."""
        write_model(path, self.pack())

    @classmethod
    def load(cls, path: PathLike) -> Self:
        """Read a combiner from a file."""
        return cls.unpack(read_model(path))


@cache
def shipped_combiner() -> Combiner | None:
    """The combiner that comes with arcwise; None in an installation without it."""
    return Combiner.load(SHIPPED) if SHIPPED.exists() else None


def mean_log_odds(scores: Sequence[Floats]) -> Floats:
    """The combination without a trained combiner: the mean of the signals that have something to say."""
    values = np.stack(scores)
    finite = np.isfinite(values)
    total = np.where(finite, values, 0.0).sum(axis=0)
    # A word that no signal knows anything about is unlikely to be an error.
    return np.where(finite.any(axis=0), total / np.maximum(finite.sum(axis=0), 1), -10.0)


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
    for name, table in rates.items():
        columns.append(np.array([table.get(kind, 0.0) for kind in features.kinds[name]]))
    return np.stack(columns, axis=1)


def _groups(features: ErrorFeatures) -> list[str]:
    return [group for group in _GROUPS if group in features.kinds]


def _is_evidence(numbers: Sequence[str], values: Floats) -> npt.NDArray[np.bool_]:
    evidence = np.ones(values.shape[1], np.bool_)
    evidence[: len(numbers)] = [not name.startswith(_CONTEXT) for name in numbers]
    return evidence


def _rates(histories: Mapping[str, RevisionHistory]) -> dict[str, dict[str, float]]:
    """How much more often than others each kind is wrong: the mean over treebanks of log ratios."""
    tables: dict[str, dict[str, float]] = {}
    for name in next(iter(histories.values())).features.kinds:
        sums: dict[str, list[float]] = defaultdict(list)
        for history in histories.values():
            for kind, ratio in _ratios(history, name).items():
                sums[kind].append(ratio)
        # Divided by one more than the treebanks that have the kind: one alone may be a guideline of its own.
        tables[name] = {kind: sum(values) / (len(values) + 1) for kind, values in sorted(sums.items())}
    return tables


def _ratios(history: RevisionHistory, name: str) -> dict[str, float]:
    wrong: dict[str, int] = defaultdict(int)
    total: dict[str, int] = defaultdict(int)
    for word in np.flatnonzero(history.compared).tolist():
        kind = history.features.kinds[name][word]
        total[kind] += 1
        wrong[kind] += bool(history.revised[word])
    base = max(sum(wrong.values()), 1) / max(sum(total.values()), 1)
    return {
        kind: round(float(np.log((wrong[kind] + _PRIOR * base) / (count + _PRIOR) / base)), 4)
        for kind, count in total.items()
    }


def _rates_of_others(histories: Mapping[str, RevisionHistory], name: str) -> dict[str, dict[str, float]]:
    """The rates of the other treebanks, as they will be known of a treebank without a history."""
    others = {other: history for other, history in histories.items() if other != name}
    return _rates(others) if others else {kind: {} for kind in histories[name].features.kinds}
