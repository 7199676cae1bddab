"""``RevisionHistory``: the features of a treebank, and the words that its maintainers corrected later."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arcwise.mining.evidence import Floats
from arcwise.mining.features import ErrorFeatures
from arcwise.mining.precedents import Precedents, lexical_kinds
from arcwise.mining.revisions import Revisions

SWEPT = 0.2
"""Weight of words that were revised in a sweep: a new guideline of one treebank says little about others."""
TREEBANK_WEIGHT = 10_000.0
"""Total weight of a treebank in training, whatever its size."""


@dataclass(frozen=True)
class RevisionHistory:
    """The features of a treebank, and the words that its maintainers corrected later."""

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
        """These revisions as precedents for other treebanks of the language; None without lemmas."""
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
