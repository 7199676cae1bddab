"""``Combiner``: a small calibrated model that turns the signals into the probability of an error."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
from arcwise.treebanks.files import PathLike

if TYPE_CHECKING:
    from typing import Self

SHIPPED = Path(__file__).parent / "combiner.arcwise"
_PRIOR = 30.0
"""Words of a kind at which its own rate of errors counts as much as the rate of all kinds."""


@dataclass(frozen=True)
class RevisionHistory:
    """The features of a treebank, and which of its words were errors."""

    features: ErrorFeatures
    compared: npt.NDArray[np.bool_]
    wrong: npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Combiner:
    """Boosted trees over the signals, and over how often each kind of word was wrong in other treebanks."""

    kind: ClassVar[str] = "error-combiner"
    version: ClassVar[int] = 1

    trees: BoostedTrees
    numbers: tuple[str, ...]
    """The features that the trees read, in this order, before the kinds."""
    rates: Mapping[str, Mapping[str, float]]
    """Feature → category → log ratio of its rate of errors to that of all words."""
    trained_on: tuple[str, ...] = ()

    @classmethod
    def train(
        cls, histories: Mapping[str, RevisionHistory], *, rounds: int = 120, depth: int = 4, seed: int = 1
    ) -> Combiner:
        """Train on treebanks whose errors are finite; each treebank has the same weight."""
        names = tuple(next(iter(histories.values())).features.numbers)
        rates = _rates(histories)
        wrong = np.concatenate([h.wrong[h.compared] for h in histories.values()])
        weights = np.concatenate([_weights(h) for h in histories.values()])
        rows = [_rates_held_out(histories, name) for name in histories]
        values = np.concatenate(
            [
                _matrix(h.features, names, held_out)[h.compared]
                for h, held_out in zip(histories.values(), rows, strict=True)
            ]
        )
        trees = BoostedTrees.fit(values, wrong, weights, rounds=rounds, depth=depth, seed=seed)
        return cls(trees, names, rates, tuple(histories))

    def log_odds(self, features: ErrorFeatures) -> Floats:
        """The log-odds of an error for every word."""
        return self.trees.predict(_matrix(features, self.numbers, self.rates))

    def pack(self) -> Packed:
        """The combiner as plain values."""
        lengths = [len(edges) for edges in self.trees.edges]
        header = {
            "numbers": list(self.numbers),
            "rates": self.rates,
            "bias": self.trees.bias,
            "edges": lengths,
            "trained_on": list(self.trained_on),
        }
        arrays = {
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
            trees = BoostedTrees(
                edges,
                np.asarray(arrays["features"]),
                np.asarray(arrays["bins"]),
                np.asarray(arrays["leaves"], np.float64),
                float(header["bias"]),
            )
            return cls(trees, tuple(header["numbers"]), header["rates"], tuple(header["trained_on"]))
        except (KeyError, TypeError, ValueError) as error:
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
    features: ErrorFeatures, names: Sequence[str], rates: Mapping[str, Mapping[str, float]]
) -> Floats:
    count = len(next(iter(features.kinds.values())))
    unknown = np.full(count, np.nan)
    columns = [features.numbers.get(name, unknown) for name in names]
    for name, table in rates.items():
        columns.append(np.array([table.get(kind, 0.0) for kind in features.kinds[name]]))
    return np.stack(columns, axis=1).astype(np.float64)


def _weights(history: RevisionHistory) -> Floats:
    count = int(history.compared.sum())
    return np.full(count, 10_000 / max(count, 1))


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
        wrong[kind] += bool(history.wrong[word])
    base = max(sum(wrong.values()), 1) / max(sum(total.values()), 1)
    return {
        kind: float(np.log((wrong[kind] + _PRIOR * base) / (n + _PRIOR) / base)) for kind, n in total.items()
    }


def _rates_held_out(histories: Mapping[str, RevisionHistory], name: str) -> dict[str, dict[str, float]]:
    """The rates of the other treebanks, as they will be finite of a treebank without a history."""
    others = {other: history for other, history in histories.items() if other != name}
    return _rates(others) if others else {kind: {} for kind in histories[name].features.kinds}
