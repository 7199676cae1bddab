"""Network inputs: for each feature of a word (form, suffix, tag …), a row of an embedding table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.features.atoms import ABSENT, token_atoms
from arcwise.learning.model_file import Packed
from arcwise.treebanks import Treebank

UNKNOWN, NOTHING, ROOT, FIRST = 0, 1, 2, 3
"""Reserved rows of every table (unknown value, ``_``, root); then the values, most frequent first."""
Codes = npt.NDArray[np.int32]
_WORDS = ("form", "lower", "lemma")
_AFFIXES = ("prefix", "suffix", "shape")


def is_word(atom: str) -> bool:
    """Whether a feature is a whole word."""
    return atom in _WORDS


def is_affix(atom: str) -> bool:
    """Whether a feature is derived from the spelling of a word."""
    return atom.startswith(_AFFIXES)


@dataclass(frozen=True)
class Inputs:
    """Features of a network and their vocabularies."""

    rows_on_cpu: ClassVar[bool] = False
    atoms: tuple[str, ...]
    vocabularies: tuple[native.Vocabulary, ...]

    @classmethod
    def learn(cls, treebank: Treebank, atoms: Sequence[str], *, rare: int) -> Inputs:
        """Collect the vocabularies, without words and affixes that occur at most ``rare`` times."""
        vocabularies = []
        for name, values in zip(atoms, token_atoms(treebank, atoms).T, strict=True):
            vocabulary = native.Vocabulary.of(np.ascontiguousarray(values))
            if is_word(name) or is_affix(name):
                frequent = vocabulary.counts > rare
                vocabulary = native.Vocabulary(vocabulary.hashes[frequent], vocabulary.counts[frequent])
            vocabularies.append(vocabulary)
        return cls(tuple(atoms), tuple(vocabularies))

    @property
    def table_rows(self) -> tuple[int, ...]:
        """Number of rows of each embedding table."""
        return tuple(FIRST + len(vocabulary.hashes) for vocabulary in self.vocabularies)

    def rows(self, treebank: Treebank) -> Codes:
        """Return the row of each word in each table, shape (words, features)."""
        atoms = token_atoms(treebank, self.atoms)
        rows = np.empty(atoms.shape, np.int32)
        for place, vocabulary in enumerate(self.vocabularies):
            values = np.ascontiguousarray(atoms[:, place])
            ranks = vocabulary.ranks(values)
            rows[:, place] = np.where(ranks >= 0, FIRST + ranks, np.where(values == ABSENT, NOTHING, UNKNOWN))
        return rows

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Vocabularies as arrays of a model file: their order is kept, their counts are not."""
        return {f"values.{place}": vocabulary.hashes for place, vocabulary in enumerate(self.vocabularies)}

    @classmethod
    def read(cls, packed: Packed, atoms: Sequence[str]) -> Inputs:
        """Read from a packed model.

        Raises ``ModelError`` for a missing array, ``ValueError`` for a bad feature.
        """
        for atom in atoms:
            native.check_atom(atom)
        by_atom = [np.array(packed.array(f"values.{place}"), np.uint64) for place in range(len(atoms))]
        # Counts only matter while learning and are not stored; the order gives the rows.
        vocabularies = (native.Vocabulary(hashes, np.ones(len(hashes), np.uint32)) for hashes in by_atom)
        return cls(tuple(atoms), tuple(vocabularies))
