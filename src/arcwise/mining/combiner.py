"""``Combiner``: a small calibrated model that turns the signals into the probability of an error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from arcwise.errors import ModelError
from arcwise.learning.model_file import Packed, read_model, write_model
from arcwise.mining.error_model import ErrorModel
from arcwise.mining.evidence import Floats
from arcwise.mining.features import ErrorFeatures
from arcwise.mining.history import RevisionHistory
from arcwise.mining.precedents import Precedents, PrecedentsOfWords
from arcwise.treebanks.files import PathLike

if TYPE_CHECKING:
    from typing import Self

SHIPPED = Path(__file__).parent / "combiner.arcwise"
_SHIFT_STEPS = 20
PLANTED_SHIFT = -1.0
"""Prior shift of the model of planted errors: log-odds for errors being rarer than in its training data."""


@dataclass(frozen=True)
class Combiner:
    """The probability of an error, combined from models of revisions and planted errors, and precedents.

    Two models read the same features. One was trained on revisions by maintainers of treebanks, the other on
    errors planted in treebanks; a noisy-or combines their probabilities. Precedents, the revisions of other
    treebanks of the language by lemma and label, adjust the first.
    """

    kind: ClassVar[str] = "error-combiner"
    version: ClassVar[int] = 4

    revisions: ErrorModel
    planted: ErrorModel | None = None
    """None: trained only on revisions."""
    trained_on: tuple[str, ...] = ()
    precedents: tuple[Precedents, ...] = field(default=(), repr=False)
    shift: float = 0.0
    """Added to all log-odds: the mean probability becomes the share of errors of a usual treebank."""

    @classmethod
    def train(
        cls,
        histories: Mapping[str, RevisionHistory],
        *,
        planted: Mapping[str, RevisionHistory] = MappingProxyType({}),
        rounds: int = 60,
        depth: int = 2,
        seed: int = 1,
    ) -> Combiner:
        """Train on treebanks whose errors are known; each treebank has the same weight.

        planted: treebanks with planted errors, as histories in which these were revised.
        """
        precedents = (history.precedents(name) for name, history in histories.items())
        combiner = cls(
            ErrorModel.train(histories, rounds=rounds, depth=depth, seed=seed),
            ErrorModel.train(planted, rounds=rounds, depth=depth, seed=seed) if planted else None,
            tuple(histories),
            tuple(of_treebank for of_treebank in precedents if of_treebank is not None),
        )
        # A treebank is no precedent for itself.
        words = [
            replace(combiner, precedents=()).log_odds(h.features)[h.compared] for h in histories.values()
        ]
        rates = [float(h.revised[h.compared].mean()) for h in histories.values()]
        return replace(combiner, shift=_shift_to_rate(words, float(np.median(rates))))

    def log_odds(self, features: ErrorFeatures) -> Floats:
        """The log-odds of an error for every word."""
        log_odds = self.precedents_of(features).add_to(self.revisions.log_odds(features))
        if self.planted is not None:
            log_odds = either(log_odds, self.planted.log_odds(features) + PLANTED_SHIFT)
        return log_odds + self.shift

    def precedents_of(self, features: ErrorFeatures) -> PrecedentsOfWords:
        """The precedents that apply to these words."""
        return PrecedentsOfWords.of(self.precedents, features.lemmas, features.kinds.get("label", []))

    def pack(self) -> Packed:
        """The combiner as plain values."""
        header, arrays = self.revisions.pack()
        header["trained_on"] = list(self.trained_on)
        header["shift"] = self.shift
        header["precedents"] = {of_treebank.treebank: of_treebank.pack() for of_treebank in self.precedents}
        if self.planted is not None:
            header["planted"], planted = self.planted.pack()
            arrays |= {f"planted.{name}": array for name, array in planted.items()}
        return Packed(self.kind, self.version, header, arrays)

    @classmethod
    def unpack(cls, packed: Packed) -> Self:
        """Restore a combiner; version 2 had no model of planted errors, version 3 no shift."""
        packed.expect(cls.kind, packed.version if packed.version in (2, 3) else cls.version)
        header, arrays = packed.header, packed.arrays
        try:
            planted = None
            if "planted" in header:
                prefix = "planted."
                of_planted = {n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)}
                planted = ErrorModel.unpack(header["planted"], of_planted)
            precedents = tuple(Precedents.unpack(name, of) for name, of in header["precedents"].items())
            trained_on = tuple(header["trained_on"])
            shift = float(header.get("shift", 0.0))
            return cls(ErrorModel.unpack(header, arrays), planted, trained_on, precedents, shift)
        except (AttributeError, KeyError, TypeError, ValueError, IndexError) as error:
            raise ModelError(f"the combiner of error signals is damaged ({error})") from error

    def save(self, path: PathLike) -> None:
        """Write the combiner to a file, atomically."""
        write_model(path, self.pack())

    @classmethod
    def load(cls, path: PathLike) -> Self:
        """Read a combiner from a file."""
        return cls.unpack(read_model(path))


def either(a: Floats, b: Floats) -> Floats:
    """The log-odds that at least one of two independent events happens: log(eᵃ + eᵇ + eᵃ⁺ᵇ).

    >>> either(np.zeros(1), np.zeros(1)).round(3).tolist()  # 1 - 1/2 · 1/2 = 3/4
    [1.099]
    """
    return np.asarray(np.logaddexp(np.logaddexp(a, b), a + b))


def _shift_to_rate(log_odds: Sequence[Floats], rate: float) -> float:
    """The shift of log-odds at which the median treebank has this mean probability."""
    if not 0 < rate < 1:
        return 0.0
    shift = 0.0
    for _ in range(_SHIFT_STEPS):
        means = [float((1 / (1 + np.exp(-(values + shift)))).mean()) for values in log_odds]
        middle = float(np.median(means))
        shift += float(np.log(rate / (1 - rate)) - np.log(middle / (1 - middle)))
    return shift


@cache
def shipped_combiner() -> Combiner | None:
    """The combiner that comes with arcwise; None in an installation without it."""
    return Combiner.load(SHIPPED) if SHIPPED.exists() else None


def mean_log_odds(scores: Sequence[Floats]) -> Floats:
    """Combine signals without a trained combiner: the mean of the log-odds that are not NaN."""
    values = np.stack(scores)
    finite = np.isfinite(values)
    total = np.where(finite, values, 0.0).sum(axis=0)
    # A word that no signal knows anything about is unlikely to be an error.
    return np.where(finite.any(axis=0), total / np.maximum(finite.sum(axis=0), 1), -10.0)
