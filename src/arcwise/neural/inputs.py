"""What a network sees of words: for each atom (form, suffix, tag …) the number of a row in a table of vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.features.atoms import ABSENT, token_atoms
from arcwise.learning.model_file import Packed
from arcwise.treebanks import Treebank

UNKNOWN, NOTHING, ROOT, FIRST = 0, 1, 2, 3
"""Rows of every table: a value that training did not have (often enough), a column with ``_``, the root; then the values, most frequent
first."""
Codes = npt.NDArray[np.int32]
_WORDS = ("form", "lower", "lemma")
_AFFIXES = ("prefix", "suffix", "shape")


def is_word(atom: str) -> bool:
    """Whether an atom is a whole word."""
    return atom in _WORDS


def is_affix(atom: str) -> bool:
    """Whether an atom is a part of the word as it is written."""
    return atom.startswith(_AFFIXES)


@dataclass(frozen=True)
class Inputs:
    """The atoms of a network, and the values of each that it knows."""

    atoms: tuple[str, ...]
    vocabularies: tuple[native.Vocabulary, ...]

    @classmethod
    def learn(cls, treebank: Treebank, atoms: Sequence[str], *, rare: int) -> Inputs:
        """The values of the treebank; words and affixes that it has at most ``rare`` times are left out."""
        known = []
        for name, values in zip(atoms, token_atoms(treebank, atoms).T, strict=True):
            found = native.Vocabulary.of(np.ascontiguousarray(values))
            if is_word(name) or is_affix(name):
                often = found.counts > rare
                found = native.Vocabulary(found.hashes[often], found.counts[often])
            known.append(found)
        return cls(tuple(atoms), tuple(known))

    @property
    def table_rows(self) -> tuple[int, ...]:
        """The number of rows of each table."""
        return tuple(FIRST + len(known.hashes) for known in self.vocabularies)

    def rows(self, treebank: Treebank) -> Codes:
        """Shape (words, atoms): the row of each word in each table."""
        atoms = token_atoms(treebank, self.atoms)
        rows = np.empty(atoms.shape, np.int32)
        for place, known in enumerate(self.vocabularies):
            values = np.ascontiguousarray(atoms[:, place])
            ranks = known.ranks(values)
            rows[:, place] = np.where(ranks >= 0, FIRST + ranks, np.where(values == ABSENT, NOTHING, UNKNOWN))
        return rows

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The vocabularies as arrays of a model file. How often values occur is not kept: their order is."""
        return {f"values.{place}": known.hashes for place, known in enumerate(self.vocabularies)}

    @classmethod
    def read(cls, packed: Packed, atoms: Sequence[str]) -> Inputs:
        """From a packed model; ``ModelError`` if an array is not there, ``ValueError`` if an atom is none."""
        for atom in atoms:
            native.check_atom(atom)
        hashes = [np.array(packed.array(f"values.{place}"), np.uint64) for place in range(len(atoms))]
        return cls(
            tuple(atoms), tuple(native.Vocabulary(own, np.ones(len(own), np.uint32)) for own in hashes)
        )
