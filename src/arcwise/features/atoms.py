"""Atoms: hashed properties of a word (64 bits), the building blocks of features."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.errors import InputError
from arcwise.treebanks import Treebank

ABSENT = 0
"""The atom of an empty column (``_``)."""


def token_atoms(treebank: Treebank, names: Sequence[str]) -> npt.NDArray[np.uint64]:
    """The named atoms of every word, shape (words, len(names)); ``ABSENT`` where a column is empty.

    Names: form, lower, prefix1 … prefix9, suffix1 … suffix9, shape, lemma, upos, xpos, feats, feats.KEY,
    misc.KEY. Words with the same property have the same atom. Lower-casing, prefixes and suffixes work on
    code points, in any script.

    >>> rows = "1 Καλά _ ADV _ _ 0 root _ _", "2 καλά _ ADV _ _ 1 dep _ _", ""
    >>> treebank = Treebank.from_string("\\n".join(rows).replace(" ", "\\t") + "\\n")
    >>> form, lower, lemma = token_atoms(treebank, ["form", "lower", "lemma"]).T
    >>> bool(form[0] == form[1]), bool(lower[0] == lower[1]), int(lemma[0])
    (False, True, 0)
    """
    try:
        return native.token_atoms(*treebank.fields, list(names))
    except ValueError as error:
        raise InputError(f"features: {error}") from error


def atom_names(names: Sequence[str], treebank: Treebank) -> list[str]:
    """The ``names`` whose column is not empty in the treebank; computing the others would be wasted time."""
    atoms = token_atoms(treebank, names)
    return [name for name, values in zip(names, atoms.T, strict=True) if values.any()]


def feature_atom(column: str) -> str:
    """The atom of ``MISC:Key``, ``FEATS:Key`` or a plain column such as ``XPOS``.

    >>> feature_atom("MISC:Cluster"), feature_atom("xpos")
    ('misc.Cluster', 'xpos')
    """
    name, _, key = column.partition(":")
    atom = f"{name.lower()}.{key}" if key else name.lower()
    if name.lower() not in (("misc", "feats") if key else ("form", "lemma", "upos", "xpos", "feats")):
        raise InputError(
            f"feature_columns: found {column!r}, expected MISC:KEY, FEATS:KEY, FORM, LEMMA, UPOS, XPOS or "
            "FEATS"
        )
    return atom
